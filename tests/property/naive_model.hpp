#pragma once
// The model of docs/model.md again, written as directly as possible: without a graph and without optimisation. Property
// tests compare the simulation with it.

#include "support/runs.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace ppsim::test {

/// Whether the activation of `task` is recomputed: of every w+1 forwards of its stage (w: those before the first pair),
/// the first few are not.
bool naive_recomputed(const Schedule& schedule, const Scenario& scenario, const Task& task);

/// A task's wait for its input: its sender's end and the arrival.
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

/// `latency` with a cursor per stage and a table of results.
NaiveRun naive_latency(const Schedule& schedule, const Scenario& scenario);

/// `link` in the same way: tasks end one by one, the earliest first, and each then uses its link as soon as that is
/// free.
NaiveRun naive_link(const Schedule& schedule, const Scenario& scenario);

/// `blocking` without pairs: the end of each task; none if the order deadlocks.
std::optional<std::vector<SimTime>> naive_blocking(const Schedule& schedule, const Scenario& scenario);

/// The labels of one stage's time under `latency` without pairs, from the naive model.
std::array<Duration, label_count> naive_labels(const Schedule& schedule, const Scenario& scenario,
                                               const NaiveRun& naive, std::size_t stage, Duration makespan);

/// The most live activations at the start of any forward of `stage`.
std::size_t naive_peak(const Schedule& schedule, const Timeline& timeline, std::size_t stage);

/// The times of one activation's passes.
struct ActivationLifetime {
  Task forward;
  Span made, backward, weight;
  SimTime sent = SimTime::max(); ///< when its output has reached another stage
  bool split = false;
};

/// The activations that `stage` makes.
std::vector<ActivationLifetime> lifetimes_on(const Outcome& outcome, std::size_t stage);

/// The memory of one activation at one moment, by the definition in docs/model.md.
Bytes naive_bytes(const Outcome& outcome, const ActivationLifetime& life, SimTime at);

} // namespace ppsim::test
