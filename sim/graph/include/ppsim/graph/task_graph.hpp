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
  send_activation, ///< `blocking`, `streams`: its stage's own send of an activation had to finish first
  send_gradient    ///< `blocking`, `streams`: its stage's own send of a gradient had to finish first
};
[[nodiscard]] std::string_view to_string(Cause cause);

/// One dependency. It is a transfer when the two tasks are on different stages and the cause is activation or gradient.
struct Edge {
  TaskId from{};
  TaskId to{};
  Cause cause = Cause::none;
  bool operator==(const Edge&) const = default;
};

struct Dag; // holds the Boost graph; sim/graph/include/ppsim/graph/detail/dag.hpp

/// Tasks and typed edges. An edge that the order of its stage implies anyway is left out: the forward of the same chunk
/// and microbatch precedes its backward on the same stage, so the order edge stands for it.
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
  /// What errors about the order name: a file, or "schedule 'gpipe'".
  [[nodiscard]] const std::string& place() const { return place_; }
  /// What a chart or report is headed with: the schedule's name, or that of the file (without its folder) it came from.
  [[nodiscard]] std::string headline() const;
  [[nodiscard]] std::size_t size() const { return schedule_->size(); }
  [[nodiscard]] std::size_t edge_count() const;
  [[nodiscard]] std::size_t transfer_count() const;
  [[nodiscard]] Bytes transfer_volume() const;
  /// Compute time of a task; both halves of an overlapped pair that runs in one piece last as long as the pair.
  [[nodiscard]] Duration duration(TaskId id) const;
  /// What a task takes when it runs alone, and not as half of a pair.
  [[nodiscard]] Duration time_alone(TaskId id) const;
  /// The same order with the costs of a scenario that validate() has passed, as lower_validated() would make it, but
  /// sooner.
  [[nodiscard]] TaskGraph with_costs(Scenario scenario) const;
  /// Puts times, by task, in the place of those that follow from the scenario's costs; what transfers and updates take
  /// stays.
  void set_times(const std::vector<Duration>& alone);
  /// Whether the activation that this task makes or uses is dropped after its forward and computed again.
  [[nodiscard]] bool is_recomputed(TaskId id) const;
  /// What a backward spends on that, as the first part of its duration(); zero for F and W.
  [[nodiscard]] Duration recompute_time(TaskId id) const;
  /// Whether the output of this task's forward is given up once it is sent to another stage (Memory::release_outputs).
  [[nodiscard]] bool releases_output(TaskId id) const;
  /// Edges that leave a task; for reports and tests, not for loops over millions of tasks.
  [[nodiscard]] std::vector<Edge> successors(TaskId id) const;
  /// The task on another stage that receives this one's output, if there is one.
  [[nodiscard]] std::optional<TaskId> receiver(TaskId sender) const;
  /// Time of this task's transfer on an idle link; zero when it sends nothing.
  [[nodiscard]] Duration transfer_time(TaskId sender) const;
  /// Size of this task's transfer; zero when it sends nothing.
  [[nodiscard]] Bytes transfer_bytes(TaskId sender) const;

private:
  std::shared_ptr<const Schedule> schedule_; ///< graphs with other costs share it
  Scenario scenario_;
  std::unique_ptr<Dag> dag_;
  std::string place_;
};

/// Turns a schedule and its costs into the graph. Throws Error: bad_input for a malformed schedule (see ScheduleIndex),
/// `no` for a cycle, named task by task. `where` is the place that errors name.
[[nodiscard]] TaskGraph lower(Schedule schedule, Scenario scenario, std::string_view where = "schedule");
/// The same of a scenario that validate() has passed.
[[nodiscard]] TaskGraph lower_validated(Schedule schedule, Scenario scenario, std::string_view where);

} // namespace ppsim
