#include "ppsim/schedule/schedule.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/detail/phases.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim {

std::string to_string(const Task& task) {
  return fmt::format("{}{}{}", task.chunk_index, letter(task.pass), index(task.microbatch));
}

Schedule::Schedule(std::string name, Shape shape, std::vector<Task> tasks, std::vector<std::uint32_t> offsets,
                   std::vector<std::uint32_t> warmup, bool asynchronous)
    : name_{std::move(name)}, shape_{shape}, tasks_{std::move(tasks)}, offsets_{std::move(offsets)},
      warmup_{std::move(warmup)}, asynchronous_{asynchronous} {
  PPSIM_ASSERT(offsets_.size() == shape_.stages + 1 && offsets_.front() == 0 && offsets_.back() == tasks_.size());
  PPSIM_ASSERT(warmup_.empty() || warmup_.size() == shape_.stages);
}

std::span<const Task> Schedule::stage(StageId stage) const {
  const std::size_t begin = offsets_[index(stage)];
  return tasks().subspan(begin, offsets_[index(stage) + 1] - begin);
}

StageId Schedule::stage_of(TaskId id) const {
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), static_cast<std::uint32_t>(index(id)));
  return make_id<StageId>(static_cast<std::size_t>(after - offsets_.begin()) - 1);
}

std::optional<std::size_t> Schedule::warmup_forwards(StageId stage) const {
  if (warmup_.empty()) return std::nullopt;
  return warmup_[index(stage)];
}

const ChunkActions& Schedule::chunk_actions() const {
  static const ChunkActions none;
  return communications_ == nullptr ? none : communications_->actions();
}

Schedule Schedule::with_communications(CommOrder order) const {
  Schedule result = *this;
  result.communications_ = std::make_shared<const CommOrder>(std::move(order));
  return result;
}

Schedule Schedule::with_origin(std::shared_ptr<const Origin> origin) && {
  origin_ = std::move(origin);
  return std::move(*this);
}

namespace {

/// The operations of `order` that belong to forwards, without actions on chunks, which are of a whole step.
/// `forward[id]`: number of forwards before task `id`, over all stages.
CommOrder forwards_of(const Schedule& schedule, const CommOrder& order, const std::vector<std::uint32_t>& forward) {
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (const StageId stage : order.stage_ids()) {
    const std::size_t first = index(schedule.first_task(stage));
    bool group_begun = false; ///< an operation of the current group was kept
    for (CommOp op : order.stage(stage)) {
      group_begun = group_begun && op.joins;
      if (schedule.task(op.sender).pass != Pass::forward) continue;
      op.sender = make_id<TaskId>(forward[index(op.sender)]);
      const std::size_t held = std::min<std::size_t>(first + op.before + op.holds_after, forward.size() - 1);
      op.holds_after = forward[held] - forward[first + op.before];
      op.before = forward[first + op.before] - forward[first];
      op.joins = group_begun;
      group_begun = true;
      ops.push_back(op);
    }
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(ops), std::move(offsets)};
}

} // namespace

Schedule Schedule::forwards() const {
  Schedule result;
  result.name_ = name_;
  result.shape_ = shape_;
  result.forward_only_ = true;
  result.origin_ = origin_;
  std::vector<std::uint32_t> forward;
  forward.reserve(size() + 1);
  for (const StageId stage : stage_ids()) {
    for (Task task : this->stage(stage)) {
      forward.push_back(static_cast<std::uint32_t>(result.tasks_.size()));
      if (task.pass != Pass::forward) continue;
      task.pairing = Pairing::alone;
      result.tasks_.push_back(task);
    }
    result.offsets_.push_back(static_cast<std::uint32_t>(result.tasks_.size()));
  }
  forward.push_back(static_cast<std::uint32_t>(result.tasks_.size()));
  if (communications() == nullptr) return result;
  return result.with_communications(forwards_of(*this, *communications_, forward));
}

Schedule Schedule::taken_apart() const {
  Schedule result = *this;
  for (Task& task : result.tasks_) task.pairing = Pairing::alone;
  return result;
}

Phases count_phases(const Schedule& schedule, StageId stage) {
  std::size_t forwards = 0;
  std::size_t backwards = 0;
  std::size_t leading_forwards = 0;
  for (const Task& task : schedule.stage(stage)) {
    if (gives_gradient(task.pass) && backwards++ == 0) leading_forwards = forwards;
    if (task.pass == Pass::forward) ++forwards;
  }
  const bool alternates = backwards > 0 && forwards > leading_forwards;
  const std::size_t counted = alternates ? leading_forwards - std::min<std::size_t>(leading_forwards, 1) : forwards;
  Phases phases;
  phases.warmup_forwards = schedule.warmup_forwards(stage).value_or(counted);
  phases.steady_pairs = forwards - phases.warmup_forwards;
  phases.cooldown_backwards = backwards - std::min(backwards, phases.steady_pairs);
  return phases;
}

bool Schedule::operator==(const Schedule& other) const {
  return shape_ == other.shape_ && offsets_ == other.offsets_ && tasks_ == other.tasks_;
}

Schedule ScheduleBuilder::build() {
  return {std::move(name_), shape_, std::move(tasks_), std::move(offsets_), std::move(warmup_), asynchronous_};
}

std::vector<StageId> loop_placement(const Shape& shape) {
  std::vector<StageId> stages(shape.chunks());
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) stages[chunk] = make_id<StageId>(chunk % shape.stages);
  return stages;
}

std::vector<StageId> wave_placement(const Shape& shape) {
  std::vector<StageId> stages(shape.chunks());
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    const std::size_t step = chunk % shape.stages;
    const bool down = chunk / shape.stages % 2 == 0;
    stages[chunk] = make_id<StageId>(down ? step : shape.stages - 1 - step);
  }
  return stages;
}

std::vector<StageId> placement_of(const Schedule& schedule) {
  std::vector<StageId> stages(schedule.shape().chunks());
  for (const StageId stage : schedule.stage_ids())
    for (const Task& task : schedule.stage(stage))
      if (task.pass == Pass::forward && index(task.microbatch) == 0) stages[task.chunk_index] = stage;
  return stages;
}

bool splits_backward(const Schedule& schedule) {
  return std::ranges::any_of(schedule.tasks(), [](const Task& task) { return task.pass == Pass::weight_grad; });
}

std::vector<std::uint16_t> chunks_of(const Schedule& schedule, StageId stage) {
  std::vector<bool> seen(schedule.shape().chunks());
  std::vector<std::uint16_t> chunks;
  for (const Task& task : schedule.stage(stage)) {
    if (!seen[task.chunk_index]) chunks.push_back(task.chunk_index);
    seen[task.chunk_index] = true;
  }
  std::ranges::sort(chunks);
  return chunks;
}

HeldChunks::HeldChunks(const Schedule& schedule) {
  for (const StageId stage : schedule.stage_ids()) {
    const std::vector<std::uint16_t> held = chunks_of(schedule, stage);
    chunks_.insert(chunks_.end(), held.begin(), held.end());
    offsets_.push_back(chunks_.size());
  }
}

std::span<const std::uint16_t> HeldChunks::of(StageId stage) const {
  const std::size_t begin = offsets_[index(stage)];
  return std::span{chunks_}.subspan(begin, offsets_[index(stage) + 1] - begin);
}

std::size_t HeldChunks::local_index(StageId stage, ChunkId chunk) const {
  const auto held = of(stage);
  return static_cast<std::size_t>(std::ranges::lower_bound(held, index(chunk)) - held.begin());
}

std::size_t HeldChunks::most() const {
  std::size_t most = 0;
  for (std::size_t stage = 0; stage + 1 < offsets_.size(); ++stage)
    most = std::max(most, offsets_[stage + 1] - offsets_[stage]);
  return most;
}

bool ends_share_stage(const Schedule& schedule) {
  const std::vector<StageId> stage = placement_of(schedule);
  return HeldChunks{schedule}.of(stage.front()).back() + 1U == stage.size();
}

} // namespace ppsim
