#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend_list.hpp"

namespace ppsim::runtime {

namespace {

constexpr std::array known_backends{
    BackendEntry{"threads", "a pinned thread per stage, in one process", "", false},
    BackendEntry{"mpi", "a process per stage, on processors, under mpirun or srun", "ppsim_mpi", true},
    BackendEntry{"cuda", "one GPU, split among the stages", "ppsim_gpu", false},
    BackendEntry{"nccl", "a process and a GPU per stage, under mpirun or srun", "ppsim_gpu", true},
};

constexpr std::array makers{&make_threads_backend, &make_mpi_backend, &make_cuda_backend, &make_nccl_backend};
static_assert(makers.size() == known_backends.size());

} // namespace

std::span<const BackendEntry> backends() {
  return known_backends;
}

const BackendEntry& find_backend(std::string_view name) {
  const auto* const entry = std::find_if(known_backends.begin(), known_backends.end(),
                                         [&](const BackendEntry& it) { return it.name == name; });
  if (entry != known_backends.end()) return *entry;
  std::vector<std::string_view> names;
  names.reserve(known_backends.size());
  for (const BackendEntry& known : known_backends) names.push_back(known.name);
  throw Error(ExitCode::bad_input, {"--backend", fmt::format("there is no backend {}", in_quotes(name)),
                                    did_you_mean(name, names, "see: ppsim list backends")});
}

Backend& load_backend(std::string_view name) {
  static std::array<std::unique_ptr<Backend>, known_backends.size()> loaded;
  const auto position = static_cast<std::size_t>(&find_backend(name) - known_backends.data());
  if (!loaded[position]) loaded[position] = makers[position]();
  return *loaded[position];
}

Usability usability_of(const BackendEntry& entry) {
  try {
    return load_backend(entry.name).usability();
  } catch (const Error& error) {
    const Problem& problem = error.problems().front();
    return {false, fmt::format("{}: {}", problem.where, problem.what), problem.hint};
  } catch (const std::exception& error) { // from a plugin, which cannot throw Error
    return {false, error.what(), {}};
  }
}

} // namespace ppsim::runtime
