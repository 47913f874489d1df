#include "host_loops.hpp"

#include "ppsim/runtime/seeded.hpp"

// Compiled with -O3 and -fopenmp-simd in every build: otherwise tests of a debug build would take minutes.

namespace ppsim::runtime {

namespace {

#define PPSIM_HOST_LOOPS(name)                                                                                         \
  HostLoops {                                                                                                          \
    name, multiply, normalise, normalise_back, gelu, gelu_back, causal_softmax, softmax_back, draw_input,              \
        draw_parameters, loss_row, add, sgd, adam                                                                      \
  }

namespace portable {
#include "host_loops_body.hpp"
constexpr HostLoops loops = PPSIM_HOST_LOOPS("portable");
} // namespace portable

#if defined(__x86_64__)
#  if defined(__clang__)
#    pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#  else
#    pragma GCC push_options
#    pragma GCC target("avx2,fma")
#  endif
namespace avx2 {
#  include "host_loops_body.hpp" // NOLINT(readability-duplicate-include): for another processor
constexpr HostLoops loops = PPSIM_HOST_LOOPS("AVX2");
} // namespace avx2
#  if defined(__clang__)
#    pragma clang attribute pop
#  else
#    pragma GCC pop_options
#  endif
#endif

} // namespace

const HostLoops& portable_loops() {
  return portable::loops;
}

const HostLoops& host_loops() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) return avx2::loops;
#endif
  return portable::loops;
}

} // namespace ppsim::runtime
