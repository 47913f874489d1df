#pragma once
// TaskGraph: the tasks of a schedule and what each waits for; a DAG by construction.

#include "ppsim/schedule/schedule.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ppsim {

/// Why an edge exists, or what released a task.
enum class Cause : std::uint8_t {
  none,            ///< nothing: the task could start at time zero
  order,           ///< the task before it on its stage
  pair,            ///< the other half of its overlapped pair
  activation,      ///< the forward of the chunk before
  gradient,        ///< the backward of the chunk after
  own_forward,     ///< the forward of the same chunk and microbatch
  own_input_grad,  ///< the input-gradient half of the same backward
  send_activation, ///< `blocking`, `streams`: its stage's own send of an activation had to end first
  send_gradient    ///< `blocking`, `streams`: its stage's own send of a gradient had to end first
};
[[nodiscard]] std::string_view to_string(Cause cause);

/// One dependency. It is a transfer if the two tasks are on different stages and the cause is activation or gradient.
struct Edge {
  TaskId from{};
  TaskId to{};
  Cause cause = Cause::none;
  bool operator==(const Edge&) const = default;
};

struct Dag; // holds the Boost graph; sim/graph/include/ppsim/graph/detail/dag.hpp

/// Tasks and typed edges. Edges that the order of a stage implies are left out: the forward of the same chunk and
/// microbatch precedes its backward on the same stage.
class TaskGraph {
public:
  TaskGraph(std::shared_ptr<const Schedule> schedule, Scenario scenario, std::unique_ptr<Dag> dag, std::string place);
  TaskGraph(TaskGraph&& other) noexcept;
  TaskGraph& operator=(TaskGraph&& other) noexcept;
  TaskGraph(const TaskGraph& other) = delete;
  TaskGraph& operator=(const TaskGraph& other) = delete;
  ~TaskGraph();

  [[nodiscard]] const Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Dag& dag() const { return *dag_; }
  /// The origin that errors about the order name: a file, or "schedule 'gpipe'".
  [[nodiscard]] const std::string& place() const { return place_; }
  /// The headline of a chart or report: the schedule's name, or the name of its file without the folder.
  [[nodiscard]] std::string headline() const;
  [[nodiscard]] std::size_t size() const { return schedule_->size(); }
  [[nodiscard]] std::size_t edge_count() const;
  [[nodiscard]] std::size_t transfer_count() const;
  [[nodiscard]] Bytes transfer_volume() const;
  /// Compute time of a task. Both halves of an overlapped pair that runs in one piece have the pair's duration.
  [[nodiscard]] Duration duration(TaskId id) const;
  /// The duration of a task if it runs alone, outside a pair.
  [[nodiscard]] Duration time_alone(TaskId id) const;
  /// The same order with the costs of a scenario that passed validate(). Equal to lower_validated(), but faster.
  [[nodiscard]] TaskGraph with_costs(Scenario scenario) const;
  /// Replaces the task times that follow from the scenario's costs, by task. Transfers and updates stay unchanged.
  void set_times(const std::vector<Duration>& alone);
  /// Whether the activation that this task makes or uses is dropped after its forward and recomputed.
  [[nodiscard]] bool is_recomputed(TaskId id) const;
  /// A backward's recomputation time, the first part of its duration(); zero for F and W.
  [[nodiscard]] Duration recompute_time(TaskId id) const;
  /// Whether this task's forward frees its output after sending it to another stage (Memory::release_outputs).
  [[nodiscard]] bool releases_output(TaskId id) const;
  /// Edges that leave a task; too slow for loops over millions of tasks.
  [[nodiscard]] std::vector<Edge> successors(TaskId id) const;
  /// The task on another stage that receives this one's output, if there is one.
  [[nodiscard]] std::optional<TaskId> receiver(TaskId sender) const;
  /// Time of this task's transfer on an idle link; zero if it sends nothing.
  [[nodiscard]] Duration transfer_time(TaskId sender) const;
  /// Size of this task's transfer; zero if it sends nothing.
  [[nodiscard]] Bytes transfer_bytes(TaskId sender) const;

private:
  std::shared_ptr<const Schedule> schedule_; ///< graphs with other costs share it
  Scenario scenario_;
  std::unique_ptr<Dag> dag_;
  std::string place_;
};

/// Builds the graph from a schedule and its costs. Throws Error: `bad_input` for a malformed schedule (see
/// ScheduleIndex), `no` for a cycle, named task by task. `where` is the place that errors name.
[[nodiscard]] TaskGraph lower(Schedule schedule, Scenario scenario, std::string_view where = "schedule");
/// The same for a scenario that passed validate().
[[nodiscard]] TaskGraph lower_validated(Schedule schedule, Scenario scenario, std::string_view where);

} // namespace ppsim
