#include "v_rounds.hpp"

#include <algorithm>
#include <utility>

namespace ppsim::generator {
namespace {

/// The two directions in which a microbatch passes a stage.
enum class Direction : std::uint8_t { down, up };

class VRounds {
public:
  VRounds(Dispatch& board, const GapRule& rule, const std::optional<std::vector<std::int64_t>>& spared)
      : board_{board}, input_{board.input()}, rule_{rule}, stages_{input_.shape.stages},
        microbatches_{input_.shape.microbatches}, grace_(stages_, 0), up_(stages_) {
    if (!spared) return;
    const std::int64_t worst = *std::ranges::max_element(*spared);
    for (std::size_t stage = 0; stage < stages_; ++stage) grace_[stage] = worst - (*spared)[stage];
  }

  bool run() {
    board_.clear();
    if (!first_microbatch() || !level_out()) return false;
    for (std::size_t round = 0; round < 2 * microbatches_; ++round)
      if (!gradients() || !forwards()) return false;
    for (std::size_t stage = 0; stage < stages_; ++stage) board_.place_waiting_weights(stage);
    return true;
  }

private:
  [[nodiscard]] std::size_t chunk(std::size_t stage, Direction direction) const {
    return input_.chunks[stage][direction == Direction::up ? 1 : 0];
  }
  /// Forwards go down in the lower chunk and up in the upper one; gradients go down in the upper one.
  [[nodiscard]] std::size_t forwards(std::size_t stage, Direction direction) const {
    return board_.forwards(chunk(stage, direction));
  }
  [[nodiscard]] std::size_t gradients(std::size_t stage, Direction direction) const {
    return board_.input_grads(chunk(stage, direction == Direction::down ? Direction::up : Direction::down));
  }

  bool place_forward(std::size_t stage, Direction direction) {
    return forwards(stage, direction) < microbatches_ && board_.place_if_ready(Pass::forward, chunk(stage, direction));
  }

  /// Microbatch 0 goes down and up again. Until its way up reaches a stage, the stages above run further forwards, as
  /// long as they overlap the wait and leave memory for the way up of each.
  bool first_microbatch() {
    for (std::size_t stage = 0; stage < stages_; ++stage)
      if (!place_forward(stage, Direction::down)) return false;
    for (std::size_t stage = stages_; stage-- > 0;) {
      while (stage + 1 < stages_ && one_more_hides(stage))
        for (std::size_t above = 0; above <= stage; ++above)
          if (!place_forward(above, Direction::down)) return false;
      if (!place_forward(stage, Direction::up)) return false;
    }
    return true;
  }

  [[nodiscard]] bool one_more_hides(std::size_t stage) const {
    const std::size_t down = chunk(stage, Direction::down);
    const std::int64_t room = input_.taken[down] * static_cast<std::int64_t>(2 * stage + 2);
    return room <= board_.free(stage) && forwards(stage, Direction::down) < microbatches_ &&
           board_.now(stage) + input_.forward[down] <= board_.forward_input(chunk(stage, Direction::up));
  }

  /// Each stage gets as many forwards as the one above it, so that gradients meet no stage that is behind.
  bool level_out() {
    Direction direction = Direction::down;
    for (std::size_t stage = 1; stage < stages_; ++stage)
      for (std::size_t tries = 0; lags(stage); ++tries) {
        if (tries > 4 * microbatches_) return false;
        for (std::size_t below = stages_; below-- > stage;)
          if (forwards(below, direction) < microbatches_ && !place_forward(below, direction)) return false;
        direction = direction == Direction::down ? Direction::up : Direction::down;
      }
    return true;
  }

  [[nodiscard]] bool lags(std::size_t stage) const {
    const std::size_t own_up = forwards(stage, Direction::up);
    const std::size_t next_up = forwards(stage - 1, Direction::up);
    return forwards(stage, Direction::down) + own_up < forwards(stage - 1, Direction::down) + next_up ||
           (own_up <= next_up && next_up < microbatches_);
  }

  bool gradients() {
    // the direction of each stage is decided before any of them continues
    for (std::size_t stage = 0; stage < stages_; ++stage) up_[stage] = goes_up(stage);
    moves_.clear();
    for (std::size_t stage = stages_; stage-- > 0;)
      if (up_[stage]) moves_.emplace_back(stage, Direction::up);
    for (std::size_t stage = 0; stage < stages_; ++stage)
      if (!up_[stage]) moves_.emplace_back(stage, Direction::down);
    return std::ranges::all_of(moves_, [&](const auto& go) { return place_gradient(go.first, go.second); });
  }

  bool place_gradient(std::size_t stage, Direction direction) {
    const std::size_t placed = chunk(stage, direction == Direction::down ? Direction::up : Direction::down);
    const std::int64_t arrival = board_.gradient_input(placed);
    if (board_.input_grads(placed) == microbatches_ || arrival == Dispatch::never) return false;
    fill_gap(stage, arrival, direction == Direction::up || rule_.before_gradients);
    board_.place_input_grad(placed);
    return true;
  }

  [[nodiscard]] bool goes_up(std::size_t stage) const {
    if (gradients(stage, Direction::up) >= gradients(stage, Direction::down)) return false;
    return stage + 1 == stages_ || gradients(stage, Direction::up) < gradients(stage + 1, Direction::up) ||
           gradients(stage, Direction::down) >= microbatches_;
  }
  bool forwards() {
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      const std::optional<Direction> direction = next_forward(stage);
      if (!direction) continue;
      const std::size_t placed = chunk(stage, *direction);
      if (forwards(stage, *direction) == microbatches_ || board_.forward_input(placed) == Dispatch::never) return false;
      while (!board_.fits(placed)) {
        const std::size_t weight = board_.waiting_weight(stage);
        if (weight == Dispatch::none) return false;
        board_.place_weight_grad(weight);
      }
      fill_gap(stage, board_.forward_input(placed), rule_.before_forwards);
      board_.place_forward(placed);
    }
    return true;
  }

  [[nodiscard]] std::optional<Direction> next_forward(std::size_t stage) const {
    const std::size_t up = forwards(stage, Direction::up);
    const std::size_t down = forwards(stage, Direction::down);
    if (up >= microbatches_) return std::nullopt;
    if (up >= down) return Direction::down;
    if (stage + 1 == stages_ || up < forwards(stage + 1, Direction::up)) return Direction::up;
    if (down < microbatches_ && (stage == 0 || down < forwards(stage - 1, Direction::down))) return Direction::down;
    return std::nullopt;
  }

  /// The same rule as in zb_auto.cpp.
  void fill_gap(std::size_t stage, std::int64_t arrival, bool overruns) {
    std::size_t weight = board_.waiting_weight(stage);
    for (; weight != Dispatch::none && board_.now(stage) + input_.weight_grad[weight] <= arrival;
         weight = board_.waiting_weight(stage))
      board_.place_weight_grad(weight);
    if (weight == Dispatch::none || !overruns) return;
    const std::int64_t allowed = std::max(board_.most_idle(), grace_[stage]) - board_.idle(stage);
    if (arrival - board_.now(stage) > allowed) board_.place_weight_grad(weight);
  }

  Dispatch& board_;
  const DispatchInput& input_;
  const GapRule& rule_;
  std::size_t stages_;
  std::size_t microbatches_;
  std::vector<std::int64_t> grace_; // allowed wait per stage, independent of the others
  std::vector<bool> up_;            // in this round
  std::vector<std::pair<std::size_t, Direction>> moves_;
};

} // namespace

bool dispatch_v_rounds(Dispatch& board, const GapRule& rule, const std::optional<std::vector<std::int64_t>>& spared) {
  return VRounds{board, rule, spared}.run();
}

} // namespace ppsim::generator
