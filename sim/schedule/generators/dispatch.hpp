#pragma once
// Shared by the searching schedules: a board on which the tasks of all stages are placed one by one, each as early as
// its stage and its input allow, with real costs, transfers and memory. A policy selects the next task; the board
// computes when it would run, whether it fits, and the quality of the result.

#include "ppsim/schedule/generators.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace ppsim::generator {

/// A request and a scenario as plain numbers: nanoseconds, and memory in the unit of the limit.
struct DispatchInput {
  Shape shape;
  std::vector<std::uint32_t> stage;               ///< of each chunk
  std::vector<std::vector<std::uint32_t>> chunks; ///< of each stage, rising
  std::vector<std::int64_t> forward;              ///< per chunk, with the overhead of a task
  std::vector<std::int64_t> input_grad;           ///< per chunk, with the overhead of a task
  std::vector<std::int64_t> weight_grad;          ///< per chunk, with the overhead of a task
  std::vector<std::int64_t> transfer;             ///< from chunk c to c+1 and back, on an idle link; 0 within a stage
  std::vector<std::int64_t> taken;         ///< memory of an activation of a chunk and microbatch, from the start of F
  std::vector<std::int64_t> restored;      ///< what recomputation adds to it at the start of I
  std::vector<std::int64_t> kept;          ///< the part of both from the end of I to the end of W
  std::vector<std::int64_t> limit;         ///< for all activations on a stage
  std::vector<std::int64_t> forward_limit; ///< for those that wait for their I, so that one can always be recomputed
  bool operator==(const DispatchInput&) const = default;
};

/// Memory is counted in activations of equal size, `activations` per stage.
[[nodiscard]] DispatchInput dispatch_input(const Scenario& scenario, const std::vector<StageId>& placement,
                                           std::size_t activations);
/// Memory is counted in bytes, up to scenario.memory.limit (which must be given) minus static bytes. Released outputs
/// count as kept.
[[nodiscard]] DispatchInput dispatch_input_in_bytes(const Scenario& scenario, const std::vector<StageId>& placement);

/// The limit of a searching schedule: the request's activation limit; otherwise the bytes of the scenario's memory
/// limit, if activations have a size; otherwise `otherwise` activations. Throws Error with the least limit that works
/// if a stage cannot hold one activation of each of its chunks, one recomputed, at the same time: below that, it may
/// never finish.
[[nodiscard]] DispatchInput limited_input(const ScheduleRequest& request, const Scenario& scenario,
                                          const std::vector<StageId>& placement, std::size_t otherwise);
/// Refuses an activation limit below one activation of each chunk of a stage.
void refuse_small_limit(const ScheduleRequest& request, Problems& problems);

/// The quality of a plan; less is better.
struct PlanScore {
  std::int64_t span = 0;     ///< longest first start to last end of a stage (the Zero Bubble papers' cost)
  std::int64_t makespan = 0; ///< end of the last task
  auto operator<=>(const PlanScore&) const = default;
};

/// The order of every stage. Microbatches are implicit: each pass of each chunk takes them in rising order.
struct Plan {
  struct Step {
    Pass pass = Pass::forward;
    std::uint16_t chunk = 0;
    bool operator==(const Step&) const = default;
  };
  std::vector<std::vector<Step>> steps; ///< per stage
  PlanScore score;
};
/// No plan has a better score: a stage does its work, and holds each activation until its gradient can return, at most
/// as many as fit, from when the first activation can arrive.
[[nodiscard]] PlanScore lower_bound(const DispatchInput& input);
[[nodiscard]] Schedule to_schedule(std::string_view name, const Shape& shape, const Plan& plan);

/// The board (see above). Tasks of one pass and chunk are placed in microbatch order.
class Dispatch {
public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

  explicit Dispatch(const DispatchInput& input);
  /// Removes all tasks.
  void clear();

  [[nodiscard]] const DispatchInput& input() const { return input_; }
  [[nodiscard]] std::int64_t now(std::size_t stage) const { return stages_[stage].now; }
  /// Time that `stage` has waited since its first task.
  [[nodiscard]] std::int64_t idle(std::size_t stage) const { return stages_[stage].idle; }
  /// The most that any stage has waited.
  [[nodiscard]] std::int64_t most_idle() const { return most_idle_; }
  /// What forwards can still take on `stage`, so that each I can run, after all W that wait if need be.
  [[nodiscard]] std::int64_t free(std::size_t stage) const {
    const std::int64_t held = stages_[stage].held;
    return std::min(input_.limit[stage] - held, input_.forward_limit[stage] - (held - stages_[stage].waiting));
  }

  [[nodiscard]] std::size_t forwards(std::size_t chunk) const { return chunks_[chunk].forwards; }
  [[nodiscard]] std::size_t input_grads(std::size_t chunk) const { return chunks_[chunk].input_grads; }
  [[nodiscard]] std::size_t weight_grads(std::size_t chunk) const { return chunks_[chunk].weight_grads; }
  /// When the input of the next F of `chunk` arrives; `never` if its sender is not placed.
  [[nodiscard]] std::int64_t forward_input(std::size_t chunk) const;
  /// The same for the next I.
  [[nodiscard]] std::int64_t gradient_input(std::size_t chunk) const;
  /// True if `stage` can hold one more activation of `chunk`, leaving `spare` free.
  [[nodiscard]] bool fits(std::size_t chunk, std::int64_t spare = 0) const {
    return input_.taken[chunk] + spare <= free(input_.stage[chunk]);
  }
  /// The chunk whose W has waited longest on `stage`, or `none`.
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t waiting_weight(std::size_t stage) const;

  void place_forward(std::size_t chunk);
  /// After waiting W that leave too little memory for what it recomputes.
  void place_input_grad(std::size_t chunk);
  void place_weight_grad(std::size_t chunk);
  /// Places the next pass of a chunk if its input has arrived and it fits; otherwise returns false.
  bool place_if_ready(Pass pass, std::size_t chunk);
  /// The same in a given order, which needs no room for what comes later: fits if it does with what is held now.
  [[nodiscard]] bool can_follow(Plan::Step step) const;
  /// Places an order; false if it does not fit in memory. Its microbatches must rise in each pass of each chunk.
  bool follow(const Schedule& order);
  /// Places all waiting W of `stage`.
  void place_waiting_weights(std::size_t stage);

  /// True if all tasks are placed.
  [[nodiscard]] bool complete() const;
  /// The score of the placed tasks.
  [[nodiscard]] PlanScore score() const;
  /// The stage with the longest span; the first among equals.
  [[nodiscard]] std::size_t longest_stage() const;
  [[nodiscard]] const std::vector<std::vector<Plan::Step>>& steps() const { return steps_; }

private:
  struct Stage {
    std::int64_t now = 0;
    std::int64_t first_start = 0;
    std::int64_t idle = 0;
    std::int64_t held = 0;
    std::int64_t waiting = 0; ///< part of it: for W
  };
  struct Chunk {
    std::size_t forwards = 0;
    std::size_t input_grads = 0;
    std::size_t weight_grads = 0;
  };
  std::int64_t place(Plan::Step step, std::int64_t input, std::int64_t duration);
  void place_next(Plan::Step step);
  [[nodiscard]] bool has_input(Plan::Step step) const;

  const DispatchInput& input_;
  std::size_t microbatches_;
  std::vector<Stage> stages_;
  std::vector<Chunk> chunks_;
  std::vector<std::int64_t> forward_end_;    // by chunk, then microbatch
  std::vector<std::int64_t> input_grad_end_; // as above
  std::vector<std::vector<Plan::Step>> steps_;
  std::int64_t most_idle_ = 0;
};

/// Keeps the best of the offered plans; the first among equals.
class BestPlan {
public:
  void offer(const Dispatch& dispatch);
  [[nodiscard]] bool found() const { return !plan_.steps.empty(); }
  [[nodiscard]] const Plan& plan() const { return plan_; }

private:
  Plan plan_;
};

} // namespace ppsim::generator
