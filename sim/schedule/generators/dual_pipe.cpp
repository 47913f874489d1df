#include "dual_pipe.hpp"

#include <deque>

namespace ppsim::generator {
namespace {

enum class Split : bool { no, yes };

/// The passes of one stage: counts the microbatches of each stream, and queues split-off weight gradients, first in
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

/// Both streams fill the stage; near the open end, where the second stream arrives late, the first one runs ahead.
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

/// Backwards of both streams alternate; from the middle on they are split, so that weight gradients fill later gaps.
void drain(StagePasses& passes, std::size_t rounds) {
  const std::size_t middle = rounds; // in half rounds
  for (std::size_t i = 0; i < 2 * rounds; ++i) passes.backward(1 - i % 2, i >= middle ? Split::yes : Split::no);
}

} // namespace

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

std::optional<double> dual_pipe_bubble(std::size_t ranks, const UniformCosts& costs) {
  const bool equal = costs.forward == costs.input_grad && costs.forward == costs.weight_grad &&
                     costs.backward == costs.input_grad + costs.weight_grad;
  const bool pairs_add_up = costs.pair.kind == PairRule::Kind::sum || costs.pair.kind == PairRule::Kind::serial;
  if (!equal || !pairs_add_up || costs.comm != Duration{0}) return std::nullopt;
  const Duration pair = costs.forward + costs.backward;
  return static_cast<double>((pair + costs.backward - 3 * costs.weight_grad).count()) *
         (static_cast<double>(ranks) - 1);
}

} // namespace ppsim::generator
