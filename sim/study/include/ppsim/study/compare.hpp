#pragma once
// Compare: the candidates of a RunSpec, each simulated, ranked.

#include "ppsim/base/error.hpp"
#include "ppsim/study/candidates.hpp"
#include "ppsim/study/comparison.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// Called after each of some simulations, from any thread, with how many there will be (0: unknown).
using Watch = std::function<void(std::size_t of)>;

/// A comparison with what it was made of.
struct ComparedRuns {
  Comparison comparison;
  std::vector<Candidate> candidates;
  std::vector<std::string> notes; ///< for people: each once, with those it is about unless that is all
  /// That of the same name.
  [[nodiscard]] const Candidate& candidate_of(const Contender& contender) const;
};

/// Simulates all candidates on up to `threads` threads, and ranks them; the result does not depend on that number. A
/// candidate that refuses the spec, or deadlocks, is one that does not apply. Throws Error where none applies: with
/// what most schedules refuse alike, which is then wrong with the spec, else with the reason of each; and as
/// candidates() does; and where the figure by which to rank is known of none.
[[nodiscard]] ComparedRuns compare(const RunSpec& spec, std::size_t threads, const Watch& watch = {});

/// Throws Error where the figure by which to rank is one of samples, and nothing varies.
void check_figure(const RunSpec& spec);

/// What runs of the candidates said, each once, with those that said it unless all that ran did. `said` is by
/// candidate, nothing of one that did not run.
[[nodiscard]] std::vector<std::string> collect_notes(const std::vector<Candidate>& candidates,
                                                     std::span<const std::optional<std::vector<std::string>>> said);

/// All of it in one line: "`mb`: must be at least 8, got 4 (give at least 8)". A hint of several in a row stands once.
[[nodiscard]] std::string reason_of(const Error& error);

} // namespace ppsim
