#pragma once
// Why a step takes longer than its work: simulations remove the reasons one by one.

#include "ppsim/measured/explanation.hpp"

#include "run_means.hpp"

namespace ppsim {

/// The inputs for finding the reasons of a run.
struct Replicas {
  std::span<const MeasuredRun> runs;
  const TaskGraph& graph;
  TaskGroups groups;
  Duration mean_step{0};  ///< until the end of the slowest replica
  Duration mean_tasks{0}; ///< until the last task of all replicas
};

/// Sets parts, findings and simulated figures of a run and its replicas; findings still lack the places of late starts
/// and jitter.
void find_reasons(const Replicas& replicas, Explanation& explanation);

/// Only the suspects of Reason::slow_worker, without their single gains.
[[nodiscard]] std::vector<Suspect> find_slow_workers(const Replicas& replicas);

} // namespace ppsim
