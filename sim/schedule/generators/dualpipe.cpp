// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1; order as github.com/deepseek-ai/DualPipe): two copies of the
// model, laid over the stages in opposite directions. Microbatches 0..m/2-1 enter at stage 0 and run chunk s on stage
// s, the others enter at stage p-1 and run chunk p-1-s.
//
// DualPipeV (github.com/deepseek-ai/DualPipe, from Sea AI Lab's cut-in-half idea; order as there and as PyTorch's
// ScheduleDualPipeV): DualPipe's first half of stages with the way back through the same stages, so that one copy of
// the model is enough.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "generator_list.hpp"

namespace ppsim::generator {
namespace {

/// Microbatches that a stage runs with one of its two chunks.
struct Stream {
  std::size_t chunk = 0;
  std::size_t first_microbatch = 0;
};

/// Where a stage stands on the way to the turn, where its two streams meet.
struct TurnDistance {
  std::size_t rank = 0;  ///< 0 at the open end, ranks - 1 at the turn
  std::size_t ranks = 1; ///< stages from the open end to the turn
};

enum class Split : bool { no, yes };

/// The passes of one stage: counts the microbatches of each stream, and keeps split-off weight gradients, first in
/// first out.
class StagePasses {
public:
  StagePasses(ScheduleBuilder& builder, const std::array<Stream, 2>& streams) : builder_{builder}, streams_{streams} {}

  void forward(std::size_t stream) { builder_.add(next_forward(stream)); }
  void backward(std::size_t stream, Split split = Split::no) {
    const Task task = next_backward(stream, split == Split::yes ? Pass::input_grad : Pass::backward);
    builder_.add(task);
    if (split == Split::yes)
      weight_grads_.push_back(make_task(Pass::weight_grad, task.chunk_index, index(task.microbatch)));
  }
  void weight_grad() {
    builder_.add(weight_grads_.front());
    weight_grads_.pop_front();
  }
  /// A forward of one stream with a backward of the other.
  void overlapped(std::size_t forward_stream) {
    builder_.add_pair(next_forward(forward_stream), next_backward(1 - forward_stream, Pass::backward));
  }

private:
  Task next_forward(std::size_t stream) {
    return make_task(Pass::forward, streams_[stream].chunk, streams_[stream].first_microbatch + forwards_[stream]++);
  }
  Task next_backward(std::size_t stream, Pass pass) {
    return make_task(pass, streams_[stream].chunk, streams_[stream].first_microbatch + backwards_[stream]++);
  }
  ScheduleBuilder& builder_;
  const std::array<Stream, 2>& streams_;
  std::array<std::size_t, 2> forwards_{};
  std::array<std::size_t, 2> backwards_{};
  std::deque<Task> weight_grads_;
};

/// Both streams fill the stage; towards the open end, where the second stream arrives late, the first one runs ahead.
void fill(StagePasses& passes, std::size_t to_turn, std::size_t from_end) {
  for (std::size_t i = 0; i < 2 * to_turn; ++i) passes.forward(0);
  for (std::size_t i = 0; i < from_end; ++i) {
    passes.forward(0);
    passes.forward(1);
  }
}

/// The steady state: every forward of a stream is overlapped with a backward of the other. At the turn the first two
/// passes run one by one, because the other stages wait for the forward.
void overlap(StagePasses& passes, std::size_t rounds, bool at_turn) {
  for (std::size_t i = 0; i < rounds; ++i) {
    if (i == 0 && at_turn) {
      passes.forward(0);
      passes.backward(1);
    } else {
      passes.overlapped(0);
    }
    passes.overlapped(1);
  }
}

/// Backwards of both streams in turn, split from the middle on, so that weight gradients are left for later gaps.
void drain(StagePasses& passes, std::size_t rounds) {
  const std::size_t middle = rounds; // in half rounds
  for (std::size_t i = 0; i < 2 * rounds; ++i) passes.backward(1 - i % 2, i >= middle ? Split::yes : Split::no);
}

/// Adds all tasks of one stage, warm-up marked. Each stream has `microbatches`, at least 2 * ranks; streams[0] is the
/// one whose forward reaches the stage first.
void add_dual_pipe_stage(ScheduleBuilder& builder, const TurnDistance& turn, const std::array<Stream, 2>& streams,
                         std::size_t microbatches) {
  StagePasses passes{builder, streams};
  const std::size_t to_turn = turn.ranks - 1 - turn.rank;
  const std::size_t from_end = turn.rank + 1;
  fill(passes, to_turn, from_end);
  builder.end_warmup();
  for (std::size_t i = 0; i < to_turn; ++i) {
    passes.backward(1, Split::yes);
    passes.weight_grad();
    passes.forward(1);
  }
  overlap(passes, microbatches - 2 * turn.ranks + from_end, to_turn == 0);
  for (std::size_t i = 0; i < to_turn; ++i) {
    passes.backward(1);
    passes.overlapped(1);
  }
  drain(passes, from_end);
  for (std::size_t i = 0; i < to_turn; ++i) {
    passes.weight_grad();
    passes.backward(0, Split::yes);
  }
  for (std::size_t i = 0; i < from_end; ++i) passes.weight_grad();
}

/// The bubble that DeepSeek states, (ranks-1)(F&B + B - 3W), in the unit of `costs`. Nothing where it does not hold
/// exactly: it does for F = I = W, free transfers and pairs that last F + B.
std::optional<double> dual_pipe_bubble(std::size_t ranks, const UniformCosts& costs) {
  const bool equal = costs.forward == costs.input_grad && costs.forward == costs.weight_grad &&
                     costs.backward == costs.input_grad + costs.weight_grad;
  const bool pairs_add_up = costs.pair.kind == PairRule::Kind::sum || costs.pair.kind == PairRule::Kind::serial;
  if (!equal || !pairs_add_up || costs.comm != Duration{0}) return std::nullopt;
  const Duration pair = costs.forward + costs.backward;
  return static_cast<double>((pair + costs.backward - 3 * costs.weight_grad).count()) *
         (static_cast<double>(ranks) - 1);
}

} // namespace
} // namespace ppsim::generator

namespace ppsim::generator::dualpipe {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t mirrored = stages - 1 - stage;
  std::array<Stream, 2> streams{Stream{stage, 0}, Stream{mirrored, microbatches / 2}};
  if (stage > mirrored) std::swap(streams[0], streams[1]);
  add_dual_pipe_stage(builder, {std::min(stage, mirrored), stages / 2}, streams, microbatches / 2);
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const std::size_t p = request.shape.stages;
  const std::size_t m = request.shape.microbatches;
  if (p % 2 != 0)
    problems.add("`stages`", fmt::format("must be even here, as stages s and p-1-s hold the same chunks, got {}", p),
                 p == 1 ? "2 is the nearest" : fmt::format("{} and {} are the nearest to {}", p - 1, p + 1, p));
  if (m < 2 * p)
    problems.add("`mb`", fmt::format("must be at least 2p = {} here, got {}", 2 * p, m),
                 fmt::format("{} is the nearest", 2 * p));
  else if (m % 2 != 0)
    problems.add("`mb`", fmt::format("must be even here, as each direction takes half, got {}", m),
                 fmt::format("{} and {} are the nearest to {}", m - 1, m + 1, m));
}

std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::optional<double> bubble = dual_pipe_bubble(request.shape.stages / 2, costs);
  if (!bubble) return std::nullopt;
  const double work = static_cast<double>((costs.forward + costs.backward).count());
  return ClosedForm{*bubble / (static_cast<double>(request.shape.microbatches) * work),
                    "(p/2-1)(F&B+B-3W)/(m(F+B)) at F = I = W"};
}

} // namespace

const Generator definition{
    .name = "dualpipe",
    .placement = "bidirectional",
    .summary = "from both ends at once, forwards overlapped with backwards; two model copies",
    .promise = "bubble (p/2-1)(F&B + B - 3W) at F = I = W with F&B = F+B; p+1 live activations on every stage, "
               "two parameter copies",
    .constraints = "one chunk per stage; p even, m even, m >= 2p",
    .source = "DeepSeek-V3, arXiv 2412.19437; github.com/deepseek-ai/DualPipe",
    .refuse = refuse,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::dualpipe

namespace ppsim::generator::dualpipe_v {
namespace {

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  add_dual_pipe_stage(builder, {stage, stages}, {Stream{stage, 0}, Stream{2 * stages - 1 - stage, 0}}, microbatches);
}

void refuse(const ScheduleRequest& request, Problems& problems) {
  const std::size_t chunks = request.shape.chunks();
  if (request.shape.microbatches < chunks)
    problems.add("`mb`", fmt::format("must be at least 2p = {} here, got {}", chunks, request.shape.microbatches),
                 fmt::format("{} is the nearest", chunks));
}

/// Chunks take half of a stage's times, and there is a stage for each of them on the way to the turn.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const std::optional<double> bubble = dual_pipe_bubble(request.shape.stages, costs);
  if (!bubble) return std::nullopt;
  const double work = static_cast<double>((costs.forward + costs.backward).count());
  return ClosedForm{*bubble / (2.0 * static_cast<double>(request.shape.microbatches) * work),
                    "(p-1)(F&B+B-3W)/(2m(F+B)) at F = I = W"};
}

} // namespace

const Generator definition{
    .name = "dualpipe-v",
    .placement = "v",
    .summary = "down and up a V, forwards overlapped with backwards; one model copy",
    .promise = "bubble (p-1)(F&B + B - 3W)/2 at F = I = W with F&B = F+B; 2p+1 live chunk activations on every "
               "stage, one parameter copy",
    .constraints = "two chunks per stage; m >= 2p",
    .source = "github.com/deepseek-ai/DualPipe; PyTorch ScheduleDualPipeV",
    .vpp = {.standard = 2},
    .refuse = refuse,
    .place = wave_placement,
    .add_stage = add_stage,
    .closed_form = closed_form};

} // namespace ppsim::generator::dualpipe_v
