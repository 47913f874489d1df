#pragma once
// Schedule: for every stage, the order of its tasks. It has no times: the simulator computes them.

#include "ppsim/base/call.hpp"
#include "ppsim/base/units.hpp"
#include "ppsim/scenario/scenario.hpp"
#include "ppsim/schedule/comm_order.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ppsim {

/// The kind of task: F forward, B full backward, I its input-gradient half, W its weight-gradient half.
enum class Pass : std::uint8_t { forward, backward, input_grad, weight_grad };

[[nodiscard]] constexpr char letter(Pass pass) {
  return "FBIW"[static_cast<std::size_t>(pass)];
}
/// B and I send a gradient to the chunk before.
[[nodiscard]] constexpr bool gives_gradient(Pass pass) {
  return pass == Pass::backward || pass == Pass::input_grad;
}
/// B and W free an activation (F does if no backward runs).
[[nodiscard]] constexpr bool frees_activation(Pass pass) {
  return pass == Pass::backward || pass == Pass::weight_grad;
}

/// Whether a task runs alone or as one half of an overlapped pair. The first half is directly before the second.
enum class Pairing : std::uint8_t { alone, first, second };

/// One pass of one chunk on one microbatch.
struct Task {
  MicrobatchId microbatch{};
  std::uint16_t chunk_index = 0; ///< a ChunkId, in 16 bits because schedules contain millions of tasks
  Pass pass = Pass::forward;
  Pairing pairing = Pairing::alone;
  [[nodiscard]] constexpr ChunkId chunk() const { return make_id<ChunkId>(chunk_index); }
  bool operator==(const Task&) const = default;
};
static_assert(sizeof(Task) == 8);

[[nodiscard]] constexpr Task make_task(Pass pass, std::size_t chunk, std::size_t microbatch) {
  return {make_id<MicrobatchId>(microbatch), static_cast<std::uint16_t>(chunk), pass, Pairing::alone};
}
/// PyTorch's notation: "3B12".
[[nodiscard]] std::string to_string(const Task& task);

/// The parameters of a generator.
struct ScheduleRequest {
  Shape shape;
  std::optional<std::size_t> group_size = std::nullopt;   ///< interleaved: microbatches per group of one chunk
  std::optional<bool> descending_backward = std::nullopt; ///< gpipe: last microbatch first, as in the paper's figure
  std::optional<std::size_t> activation_limit =
      std::nullopt;                 ///< searching schedules: the most chunk activations (chunk, microbatch) per stage
  bool tries_smaller_limits = true; ///< searching schedules: so that more memory makes none slower, in several times
                                    ///< the time
  bool overlap_expert_exchange =
      false; ///< interleaved: forwards and backwards of the steady state are overlapped pairs
  std::vector<std::size_t> replicas =
      {}; ///< pipedream: number of stages that share each position of the pipeline; empty: one each. Shape::shared is
          ///< then the number of stages minus the number of positions
  bool operator==(const ScheduleRequest&) const = default;
};

struct Generator;

/// The generator of a schedule, and its parameters.
struct Origin {
  const Generator* generator = nullptr;
  ScheduleRequest request;
};

/// For every stage, the order of its tasks.
class Schedule {
public:
  Schedule() = default;
  /// `tasks` contains the stages one after another; stage s is [offsets[s], offsets[s+1]). `warmup`: number of forwards
  /// in each stage's warm-up; empty if unknown.
  Schedule(std::string name, Shape shape, std::vector<Task> tasks, std::vector<std::uint32_t> offsets,
           std::vector<std::uint32_t> warmup = {}, bool asynchronous = false);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] std::span<const Task> tasks() const { return tasks_; }
  [[nodiscard]] const Task& task(TaskId id) const { return tasks_[index(id)]; }
  [[nodiscard]] std::span<const Task> stage(StageId stage) const;
  /// Id of the first task of `stage`; with stage == p, the number of tasks.
  [[nodiscard]] TaskId first_task(StageId stage) const { return make_id<TaskId>(offsets_[index(stage)]); }
  /// One past the id of the last task of `stage`.
  [[nodiscard]] TaskId end_task(StageId stage) const { return make_id<TaskId>(offsets_[index(stage) + 1]); }
  [[nodiscard]] IdRange<TaskId> task_ids(StageId stage) const {
    return {offsets_[index(stage)], offsets_[index(stage) + 1]};
  }
  [[nodiscard]] IdRange<StageId> stage_ids() const { return shape_.stage_ids(); }
  /// As passed to the constructor.
  [[nodiscard]] const std::vector<std::uint32_t>& offsets() const { return offsets_; }
  [[nodiscard]] StageId stage_of(TaskId id) const;
  /// The number of warm-up forwards of `stage`, from its generator; none for an order from elsewhere.
  [[nodiscard]] std::optional<std::size_t> warmup_forwards(StageId stage) const;
  /// Where it launches its sends and receives, if specified (in a PyTorch CSV with such cells); otherwise null.
  [[nodiscard]] const CommOrder* communications() const {
    return communications_ != nullptr && communications_->size() > 0 ? communications_.get() : nullptr;
  }
  /// Its actions on whole chunks, if specified.
  [[nodiscard]] const ChunkActions& chunk_actions() const;
  /// This schedule with these communications.
  [[nodiscard]] Schedule with_communications(CommOrder order) const;
  /// Null for an order from elsewhere. After forwards(), the origin of the whole schedule.
  [[nodiscard]] const Origin* origin() const { return origin_.get(); }
  /// This schedule with this origin; null: from elsewhere.
  [[nodiscard]] Schedule with_origin(std::shared_ptr<const Origin> origin) &&;
  /// True if weights change after every microbatch, without a flush (PipeDream). A stage then keeps the weights that
  /// each active microbatch began with.
  [[nodiscard]] bool asynchronous() const { return asynchronous_; }
  /// True if it intentionally contains only forwards (inference, a profile of the forward).
  [[nodiscard]] bool forward_only() const { return forward_only_; }
  /// The forwards of this schedule in their order, unpaired, with their communications. The result is forward_only().
  [[nodiscard]] Schedule forwards() const;
  /// This schedule with the halves of overlapped pairs as two consecutive tasks, each waiting only for its own input.
  [[nodiscard]] Schedule taken_apart() const;
  /// Whether shape and order of tasks are equal; names, origins, warm-ups and communications may differ.
  [[nodiscard]] bool operator==(const Schedule& other) const;

private:
  std::string name_;
  Shape shape_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> offsets_{0};
  std::vector<std::uint32_t> warmup_;
  std::shared_ptr<const CommOrder>
      communications_; ///< shared, because schedules are copied and this never changes; may contain only actions
  std::shared_ptr<const Origin> origin_; ///< as above
  bool asynchronous_ = false;
  bool forward_only_ = false;
};

/// The first task of the overlapped pair that contains `id`, or `id`.
[[nodiscard]] inline TaskId pair_begin(const Schedule& schedule, TaskId id) {
  return schedule.task(id).pairing == Pairing::second ? make_id<TaskId>(index(id) - 1) : id;
}
/// The task after the overlapped pair that contains `id`, or after `id`.
[[nodiscard]] inline TaskId pair_end(const Schedule& schedule, TaskId id) {
  return make_id<TaskId>(index(id) + (schedule.task(id).pairing == Pairing::first ? 2 : 1));
}

/// Builds a Schedule stage by stage.
class ScheduleBuilder {
public:
  ScheduleBuilder(std::string name, const Shape& shape) : name_{std::move(name)}, shape_{shape} {}
  void add(Pass pass, std::size_t chunk, std::size_t microbatch) {
    tasks_.push_back(make_task(pass, chunk, microbatch));
  }
  void add(const Task& task) { tasks_.push_back(task); }
  /// One forward and one backward as an overlapped pair.
  void add_pair(Task first, Task second) {
    first.pairing = Pairing::first;
    second.pairing = Pairing::second;
    tasks_.push_back(first);
    tasks_.push_back(second);
  }
  /// Ends the warm-up of the current stage. Call it for every stage or for none.
  void end_warmup() { warmup_.push_back(static_cast<std::uint32_t>(tasks_.size()) - offsets_.back()); }
  /// Ends the current stage; the next add() belongs to the next one.
  void end_stage() {
    check_stop();
    if (offsets_.size() == 1) tasks_.reserve(tasks_.size() * shape_.stages); // other stages have about as many
    offsets_.push_back(static_cast<std::uint32_t>(tasks_.size()));
  }
  /// See Schedule::asynchronous.
  void set_asynchronous() { asynchronous_ = true; }
  [[nodiscard]] Schedule build();

private:
  std::string name_;
  Shape shape_;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> offsets_{0};
  std::vector<std::uint32_t> warmup_;
  bool asynchronous_ = false;
};

/// The id of each task of a schedule: the inverse of the order.
class ScheduleIndex {
public:
  /// Also checks the schedule. Throws Error (bad_input) unless every (chunk, microbatch) has one F and either one B or
  /// one I and one W (only an F in a schedule that is forward_only), all on one stage, and every pair is one F and one
  /// B (or I). Reports every fault, the first 20 in full, each with `where` and the cell.
  explicit ScheduleIndex(const Schedule& schedule, std::string_view where = "schedule");
  [[nodiscard]] TaskId forward(std::size_t chunk, std::size_t microbatch) const {
    return forward_[at(chunk, microbatch)];
  }
  /// The B or the I; no_task in a schedule that is forward_only.
  [[nodiscard]] TaskId backward(std::size_t chunk, std::size_t microbatch) const {
    return backward_[at(chunk, microbatch)];
  }
  /// The W; no_task if the backward is whole.
  [[nodiscard]] TaskId weight_grad(std::size_t chunk, std::size_t microbatch) const {
    return weight_.empty() ? no_task : weight_[at(chunk, microbatch)];
  }

private:
  [[nodiscard]] TaskId& cell_of(const Task& task);
  [[nodiscard]] std::size_t at(std::size_t chunk, std::size_t microbatch) const {
    return chunk * microbatches_ + microbatch;
  }
  std::size_t microbatches_ = 0;
  std::vector<TaskId> forward_, backward_, weight_;
};

/// Chunk c on stage c mod p.
[[nodiscard]] std::vector<StageId> loop_placement(const Shape& shape);
/// Chunks 0..p-1 down the stages, p..2p-1 up again, and so on; with v = 2 the V of SPEC section 1.
[[nodiscard]] std::vector<StageId> wave_placement(const Shape& shape);
/// The stage that runs the forward of each chunk's microbatch 0.
[[nodiscard]] std::vector<StageId> placement_of(const Schedule& schedule);

/// Whether I and W are separate tasks.
[[nodiscard]] bool splits_backward(const Schedule& schedule);

/// The chunks that `stage` runs, by rising global id.
[[nodiscard]] std::vector<std::uint16_t> chunks_of(const Schedule& schedule, StageId stage);

/// Whether the stages that hold the first chunk also hold the last one.
[[nodiscard]] bool ends_share_stage(const Schedule& schedule);

/// The chunks of every stage. With a bidirectional placement a chunk is on two stages.
class HeldChunks {
public:
  explicit HeldChunks(const Schedule& schedule);
  /// By rising global id.
  [[nodiscard]] std::span<const std::uint16_t> of(StageId stage) const;
  /// Position of `chunk` among the chunks of `stage` (InfiniTrain's local_chunk_idx).
  [[nodiscard]] std::size_t local_index(StageId stage, ChunkId chunk) const;
  /// The largest number of chunks that a stage runs.
  [[nodiscard]] std::size_t most() const;

private:
  std::vector<std::uint16_t> chunks_;
  std::vector<std::size_t> offsets_{0};
};

} // namespace ppsim
