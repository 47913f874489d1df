#pragma once
// The model of docs/model.md once more, as directly as it can be written: no graph, nothing fast. What the properties
// hold the simulation to.

#include "support/runs.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace ppsim::test {

/// Whether the activation that `task` makes or uses is recomputed: of every w+1 forwards of its stage, w being those
/// before the first pair, the first few are not.
bool naive_recomputed(const Schedule& schedule, const Scenario& scenario, const Task& task);

/// What one task waited for besides its stage: its sender's end and the arrival.
struct DataWait {
  SimTime sent{};
  SimTime arrived{};
  bool from_upstream = false;
  bool transferred = false;
};

/// A run under `latency` or `link`, by task.
struct NaiveRun {
  std::vector<Span> spans;
  std::vector<Span> transfers;                ///< of its output to another stage
  std::vector<std::optional<DataWait>> waits; ///< the input from another chunk
};

/// `latency` by a cursor per stage and a table of what is done.
NaiveRun naive_latency(const Schedule& schedule, const Scenario& scenario);

/// `link` works the same way: tasks end one by one, the earliest first, and each then takes its link as soon as that is
/// free.
NaiveRun naive_link(const Schedule& schedule, const Scenario& scenario);

/// `blocking` without pairs: the end of each task; nothing where the order deadlocks.
std::optional<std::vector<SimTime>> naive_blocking(const Schedule& schedule, const Scenario& scenario);

/// How one stage's time divides under `latency` when nothing is paired, found from the naive model.
std::array<Duration, label_count> naive_labels(const Schedule& schedule, const Scenario& scenario,
                                               const NaiveRun& naive, std::size_t stage, Duration makespan);

/// The most activations that live at the start of some forward of `stage`.
std::size_t naive_peak(const Schedule& schedule, const Timeline& timeline, std::size_t stage);

/// The passes of one activation, as they ran.
struct ActivationLifetime {
  Task forward;
  Span made, backward, weight;
  SimTime sent = SimTime::max(); ///< when its output had reached another stage
  bool split = false;
};

/// The activations that `stage` makes.
std::vector<ActivationLifetime> lifetimes_on(const Outcome& outcome, std::size_t stage);

/// What one activation takes at one moment, by the definition in docs/model.md.
Bytes naive_bytes(const Outcome& outcome, const ActivationLifetime& life, SimTime at);

} // namespace ppsim::test
