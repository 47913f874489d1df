#pragma once
// Why a step takes longer than its work: each reason taken out by a simulation.

#include "ppsim/measured/explanation.hpp"

#include "run_means.hpp"

namespace ppsim {

/// Of a run, what its reasons are found from.
struct Replicas {
  std::span<const MeasuredRun> runs;
  const TaskGraph& graph;
  TaskGroups groups;
  Duration mean_step{0};  ///< to the end of the slowest replica
  Duration mean_tasks{0}; ///< to the last task of all replicas
};

/// Sets parts, findings and what the simulations say of a run and its replicas; the findings without where late starts
/// and jitter are.
void find_reasons(const Replicas& replicas, Explanation& explanation);

/// The suspects of Reason::slow_worker alone, without what each gives where it alone is like its peers.
[[nodiscard]] std::vector<Suspect> find_slow_workers(const Replicas& replicas);

} // namespace ppsim
