#pragma once
// Compare: the candidates of some inputs, each simulated, ranked.

#include "ppsim/base/error.hpp"
#include "ppsim/study/comparison.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "candidates.hpp"

namespace ppsim::cli {

/// A comparison with what belongs to it beside the figures.
struct Compared {
  Comparison comparison;
  std::string recommendation; ///< in words
  std::vector<Candidate> candidates;
  std::vector<std::string> notes; ///< for people, on stderr: each once, with those it is about unless that is all
  /// That of the same name.
  [[nodiscard]] const Candidate& candidate_of(const Contender& contender) const;
};

/// Simulates all candidates on up to `threads` threads, with Progress, and ranks them; the result does not depend on
/// that number. A candidate that refuses the inputs, or deadlocks, is one that does not apply. Throws Error where none
/// applies: with what most schedules refuse alike, which is then wrong with the inputs, else with the reason of each;
/// and as candidates() does.
[[nodiscard]] Compared compare(const Inputs& inputs, std::size_t threads);

/// What runs of the candidates said, each once, with those that said it unless all that ran did. `said` is by
/// candidate, nothing of one that did not run.
[[nodiscard]] std::vector<std::string> collect_notes(const std::vector<Candidate>& candidates,
                                                     std::span<const std::optional<std::vector<std::string>>> said);

/// All of it in one line: "--mb: must be at least 8, got 4 (give at least 8)". A hint of several in a row stands once.
[[nodiscard]] std::string reason_of(const Error& error);

} // namespace ppsim::cli
