#pragma once
// Vary: the candidates of a comparison, simulated while one option runs over a range.

#include "ppsim/base/error.hpp"
#include "ppsim/study/variation.hpp"

#include <string>
#include <vector>

#include "inputs.hpp"

namespace ppsim::cli {

/// A variation with what people are told beside it.
struct Varied {
  Variation variation;
  std::vector<std::string> notes; ///< for people, on stderr: the candidates that never apply, and why
};

/// Varies inputs.vary, which has to be there, on up to `threads` threads, with Progress; the result does not depend on
/// that number. At each value the candidates are those of the inputs with that value; orders that follow costs are
/// made anew. Throws Error where nothing applies anywhere: the reason is that at the first value.
[[nodiscard]] Varied vary_inputs(const Inputs& given, std::size_t threads);

/// The command 'compare' with --vary: runs it and writes what is asked for. Exit status 3 where nothing fits anywhere.
[[nodiscard]] ExitCode run_variation(const Inputs& inputs);

} // namespace ppsim::cli
