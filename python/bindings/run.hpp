#pragma once
// Run: the result of simulate(). Graph and timeline exist at once; other results are computed on request.

#include "ppsim/study/evaluate.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "runs/inputs.hpp"

namespace ppsim::python {

/// A row of Run.tasks, as in NumPy.
struct TaskRow {
  std::uint16_t stage = 0, chunk = 0;
  std::uint32_t microbatch = 0;
  char32_t pass = U'F';
  std::uint32_t pairing = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};
static_assert(sizeof(TaskRow) == 32);

/// Slow members are called without the interpreter's lock; they use the object's own lock.
class Run {
public:
  /// Simulates. Called with the interpreter's lock, which it releases meanwhile. Throws Error as evaluate_fully().
  Run(cli::Inputs inputs, std::shared_ptr<cli::MemoryFiles> files);

  /// Valid as long as the run exists.
  [[nodiscard]] const TaskGraph& graph() const { return simulated_->run.graph; }
  [[nodiscard]] const Timeline& timeline() const { return simulated_->run.timeline; }
  [[nodiscard]] const cli::Inputs& inputs() const { return inputs_; }
  /// Whether all results take a few milliseconds at most.
  [[nodiscard]] bool is_small() const;

  [[nodiscard]] const StepTime& step_time();
  /// The results of this run alone.
  [[nodiscard]] const RunReport& report();
  /// With the results of other runs.
  [[nodiscard]] const Evaluation& evaluation();
  [[nodiscard]] const std::vector<TaskRow>& task_rows();
  [[nodiscard]] const std::vector<MemoryPoint>& memory(std::size_t stage);
  [[nodiscard]] std::vector<std::string> notes();
  /// The program's exit status for this run.
  [[nodiscard]] ExitCode exit_code();

private:
  cli::Inputs inputs_;
  std::shared_ptr<cli::MemoryFiles> files_;
  std::mutex mutex_;
  std::optional<SimulatedRun> simulated_;
  std::optional<StepTime> step_time_;
  bool has_report_ = false, is_complete_ = false;
  std::vector<TaskRow> task_rows_;
  std::map<std::size_t, std::vector<MemoryPoint>> memory_; ///< by stage
};

} // namespace ppsim::python
