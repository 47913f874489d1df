#pragma once
// Compare: simulates and ranks the candidates of a RunSpec.

#include "ppsim/base/error.hpp"
#include "ppsim/study/candidates.hpp"
#include "ppsim/study/comparison.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// Called after each simulation, from any thread, with their total number (0: unknown).
using Watch = std::function<void(std::size_t of)>;

/// A comparison with its candidates.
struct ComparedRuns {
  Comparison comparison;
  std::vector<Candidate> candidates;
  std::vector<std::string> notes; ///< for users: each once, with the candidates it applies to unless it applies to all
  bool order_refused = false;     ///< the given order, the first candidate, is not applicable
  /// The candidate with the same name.
  [[nodiscard]] const Candidate& candidate_of(const Contender& contender) const;
};

/// Simulates all candidates on up to `threads` threads and ranks them; the result does not depend on the number of
/// threads. A candidate that refuses the spec, or deadlocks, is not applicable. Throws Error as candidates(); if none
/// applies, with the refusal that most schedules share or else the reason of each; and if the ranking figure is unknown
/// for all.
[[nodiscard]] ComparedRuns compare(const RunSpec& spec, std::size_t threads, const Watch& watch = {});

/// Throws Error if the ranking figure needs samples and nothing varies.
void check_figure(const RunSpec& spec);

/// The notes of the candidates' runs, each once, with the names of its candidates unless all that ran have it. `said`
/// is by candidate, none for one that did not run.
[[nodiscard]] std::vector<std::string> collect_notes(const std::vector<Candidate>& candidates,
                                                     std::span<const std::optional<std::vector<std::string>>> said);

/// The whole error in one line: "`mb`: must be at least 8, got 4 (give at least 8)". Equal consecutive hints appear
/// once, and `known_place` not at all.
[[nodiscard]] std::string reason_of(const Error& error, std::string_view known_place = {});

} // namespace ppsim
