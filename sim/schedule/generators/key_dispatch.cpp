#include "key_dispatch.hpp"

#include "ppsim/base/call.hpp"

#include <algorithm>
#include <bit>

namespace ppsim::generator {
namespace {

/// One time per stage, and the earliest of them (the lowest stage among equals), in a tree of minima.
class EarliestTimes {
public:
  explicit EarliestTimes(std::size_t stages) : leaves_{std::bit_ceil(stages)}, times_(2 * leaves_, Dispatch::never) {}

  void set(std::size_t stage, std::int64_t time) {
    std::size_t at = leaves_ + stage;
    times_[at] = time;
    for (at /= 2; at > 0; at /= 2) {
      const std::int64_t earlier = std::min(times_[2 * at], times_[2 * at + 1]);
      if (times_[at] == earlier) return;
      times_[at] = earlier;
    }
  }
  void bring_forward(std::size_t stage, std::int64_t time) {
    if (time < times_[leaves_ + stage]) set(stage, time);
  }
  [[nodiscard]] std::int64_t earliest() const { return times_[1]; }
  [[nodiscard]] std::size_t whose() const {
    std::size_t at = 1;
    while (at < leaves_) at = 2 * at + (times_[2 * at] == times_[1] ? 0 : 1);
    return at - leaves_;
  }

private:
  std::size_t leaves_;
  std::vector<std::int64_t> times_;
};

class KeyDispatch {
public:
  KeyDispatch(Dispatch& board, const TaskKeys& keys, const KeyPolicy& policy)
      : board_{board}, input_{board.input()}, keys_{keys}, policy_{policy}, microbatches_{input_.shape.microbatches},
        alarms_{input_.shape.stages} {}

  bool run() {
    board_.clear();
    for (std::size_t stage = 0; stage < input_.shape.stages; ++stage) alarms_.set(stage, 0);
    for (std::int64_t time = alarms_.earliest(); time < Dispatch::never; time = alarms_.earliest()) {
      check_stop();
      decide(alarms_.whose(), time);
    }
    return board_.complete();
  }

private:
  struct Choice {
    Pass pass = Pass::forward;
    std::size_t chunk = Dispatch::none;
    std::int64_t key = Dispatch::never;
  };

  void decide(std::size_t stage, std::int64_t time) {
    best_ = {};
    next_input_ = Dispatch::never;
    latest_key_ = least_key(stage) + policy_.window;
    for (const std::uint32_t chunk : input_.chunks[stage]) {
      consider_gradient(chunk, time);
      consider_forward(chunk, time);
    }
    if (best_.chunk == Dispatch::none || policy_.keyed_weights) consider_weight(stage);
    if (best_.chunk != Dispatch::none)
      place(stage);
    else
      alarms_.set(stage, next_input_); // tasks blocked by memory or the window wait for the stage itself
  }

  [[nodiscard]] std::int64_t least_key(std::size_t stage) const {
    std::int64_t least = Dispatch::never;
    for (const std::uint32_t chunk : input_.chunks[stage]) {
      if (board_.forwards(chunk) < microbatches_)
        least = std::min(least, key(keys_.forward, chunk, board_.forwards(chunk)));
      if (board_.input_grads(chunk) < microbatches_)
        least = std::min(least, key(keys_.input_grad, chunk, board_.input_grads(chunk)));
    }
    return least;
  }

  void consider(Pass pass, std::size_t chunk, std::int64_t key, std::int64_t arrival, std::int64_t time) {
    if (key > latest_key_) return;
    if (arrival > time)
      next_input_ = std::min(next_input_, arrival);
    else if (key < best_.key)
      best_ = {pass, chunk, key};
  }

  void consider_gradient(std::size_t chunk, std::int64_t time) {
    const std::int64_t arrival = board_.gradient_input(chunk);
    if (arrival == Dispatch::never) return;
    consider(Pass::input_grad, chunk, key(keys_.input_grad, chunk, board_.input_grads(chunk)), arrival, time);
  }

  void consider_forward(std::size_t chunk, std::int64_t time) {
    if (board_.forwards(chunk) == microbatches_) return;
    const std::int64_t arrival = board_.forward_input(chunk);
    if (arrival == Dispatch::never) return;
    const std::int64_t own_key = key(keys_.forward, chunk, board_.forwards(chunk));
    if (board_.fits(chunk, room_for_later_chunks(chunk, own_key)) && can_finish(chunk))
      consider(Pass::forward, chunk, own_key, arrival, time);
  }

  /// A W runs by its key, or fills the wait for the next input.
  void consider_weight(std::size_t stage) {
    const std::size_t chunk = board_.waiting_weight(stage);
    if (chunk == Dispatch::none) return;
    const std::int64_t own_key = key(keys_.weight_grad, chunk, board_.weight_grads(chunk));
    const bool another = best_.chunk != Dispatch::none;
    if (another ? own_key < best_.key : fills_gap(stage, chunk)) best_ = {Pass::weight_grad, chunk, own_key};
  }

  [[nodiscard]] bool fills_gap(std::size_t stage, std::size_t chunk) const {
    return policy_.overruns || board_.now(stage) + input_.weight_grad[chunk] <= next_input_;
  }

  /// Whether the stage could still finish one microbatch after another after this forward: the needs of the oldest must
  /// fit in addition to the memory of the younger ones. Otherwise all might wait for each other.
  [[nodiscard]] bool can_finish(std::size_t chunk) const {
    const std::size_t stage = input_.stage[chunk];
    const std::size_t oldest = board_.forwards(input_.chunks[stage].back());
    std::int64_t needed = 0;
    for (const std::uint32_t held : input_.chunks[stage]) {
      const std::size_t forwards = board_.forwards(held) + (held == chunk ? 1 : 0);
      needed += static_cast<std::int64_t>(std::max(forwards, oldest + 1) - oldest) * input_.taken[held];
    }
    return needed <= input_.forward_limit[stage];
  }

  [[nodiscard]] std::int64_t room_for_later_chunks(std::size_t chunk, std::int64_t own_key) const {
    std::int64_t room = 0;
    if (policy_.reserves == Reserve::nothing) return room;
    for (const std::uint32_t later : input_.chunks[input_.stage[chunk]]) {
      const std::size_t placed = board_.forwards(later);
      if (later <= chunk || placed == microbatches_) continue;
      std::size_t end = placed + 1;
      while (policy_.reserves == Reserve::all_before && end < board_.forwards(chunk) &&
             key(keys_.forward, later, end) < own_key)
        ++end;
      room += static_cast<std::int64_t>(end - placed) * input_.taken[later];
    }
    return room;
  }

  void place(std::size_t stage) {
    const std::size_t chunk = best_.chunk;
    if (best_.pass == Pass::forward) {
      board_.place_forward(chunk);
      if (chunk + 1 < input_.stage.size()) send(stage, chunk + 1, chunk);
    } else if (best_.pass == Pass::input_grad) {
      board_.place_input_grad(chunk);
      if (chunk > 0) send(stage, chunk - 1, chunk - 1);
    } else {
      board_.place_weight_grad(chunk);
    }
    alarms_.set(stage, board_.now(stage));
  }

  void send(std::size_t stage, std::size_t to_chunk, std::size_t boundary) {
    const std::size_t receiver = input_.stage[to_chunk];
    if (receiver == stage) return;
    const std::int64_t arrival = board_.now(stage) + input_.transfer[boundary];
    alarms_.bring_forward(receiver, std::max(arrival, board_.now(receiver)));
  }

  [[nodiscard]] std::int64_t key(const std::vector<std::int64_t>& keys, std::size_t chunk,
                                 std::size_t microbatch) const {
    return keys[chunk * microbatches_ + microbatch];
  }

  Dispatch& board_;
  const DispatchInput& input_;
  const TaskKeys& keys_;
  const KeyPolicy& policy_;
  std::size_t microbatches_;
  Choice best_;
  std::int64_t latest_key_ = 0;
  std::int64_t next_input_ = Dispatch::never; // of tasks that only lack their input
  EarliestTimes alarms_;                      // when each stage looks for the next task
};

} // namespace

bool dispatch_by_keys(Dispatch& board, const TaskKeys& keys, const KeyPolicy& policy) {
  return KeyDispatch{board, keys, policy}.run();
}

} // namespace ppsim::generator
