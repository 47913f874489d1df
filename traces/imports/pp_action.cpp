#include "pp_action.hpp"

#include <array>
#include <charconv>

namespace ppsim::traces {
namespace {

struct ActionWord {
  std::string_view text;
  PpAction::Kind kind;
  Pass pass;
  bool has_microbatch;
};

using Kind = PpAction::Kind;
constexpr std::array action_words{
    ActionWord{"F", Kind::task, Pass::forward, true},
    ActionWord{"B", Kind::task, Pass::backward, true},
    ActionWord{"I", Kind::task, Pass::input_grad, true},
    ActionWord{"W", Kind::task, Pass::weight_grad, true},
    ActionWord{"SEND_F", Kind::send, Pass::forward, true},
    ActionWord{"RECV_F", Kind::receive, Pass::forward, true},
    ActionWord{"SEND_B", Kind::send, Pass::backward, true},
    ActionWord{"RECV_B", Kind::receive, Pass::backward, true},
    ActionWord{"REDUCE_GRAD", Kind::reduction, Pass::backward, false},
    ActionWord{"UNSHARD", Kind::shard, Pass::forward, false},
    ActionWord{"RESHARD", Kind::shard, Pass::forward, false},
};

/// Parses a number below `limit` and removes it from the front.
std::optional<std::uint32_t> take_number(std::string_view& text, std::uint32_t limit) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number >= limit) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "0F7", "1SEND_B2"
std::optional<PpAction> parse_single(std::string_view name) {
  const std::optional<std::uint32_t> chunk = take_number(name, most_named_chunks);
  if (!chunk) return std::nullopt;
  const std::string_view text = name.substr(0, name.find_first_of("0123456789"));
  for (const ActionWord& word : action_words) {
    if (word.text != text) continue;
    name.remove_prefix(text.size());
    if (!word.has_microbatch) {
      if (!name.empty()) return std::nullopt;
      return PpAction{word.kind, make_task(word.pass, *chunk, 0)};
    }
    const std::optional<std::uint32_t> microbatch = take_number(name, most_named_microbatches);
    if (!microbatch || !name.empty()) return std::nullopt;
    return PpAction{word.kind, make_task(word.pass, *chunk, *microbatch)};
  }
  return std::nullopt;
}

/// "0F7;7B3": one F and one B or I.
std::optional<PpAction> parse_pair(std::string_view halves) {
  const std::size_t middle = halves.find(';');
  if (middle == std::string_view::npos) return std::nullopt;
  std::optional<PpAction> first = parse_single(halves.substr(0, middle));
  const std::optional<PpAction> second = parse_single(halves.substr(middle + 1));
  if (!first || !second || first->kind != Kind::task || second->kind != Kind::task) return std::nullopt;
  const auto [one, other] = std::pair{first->task.pass, second->task.pass};
  const bool fit = one == Pass::forward ? gives_gradient(other) : gives_gradient(one) && other == Pass::forward;
  if (!fit) return std::nullopt;
  first->task.pairing = Pairing::first;
  first->second = second->task;
  first->second.pairing = Pairing::second;
  return first;
}

} // namespace

std::optional<PpAction> parse_pp_action(std::string_view name) {
  constexpr std::string_view overlap = ")OVERLAP_F_B";
  if (name.starts_with('(') && name.ends_with(overlap))
    return parse_pair(name.substr(1, name.size() - 1 - overlap.size()));
  return parse_single(name);
}

std::uint64_t key_of(const PpAction& action) {
  constexpr unsigned microbatch_bits = 20;
  constexpr unsigned pass_bits = 2;
  constexpr unsigned chunk_bits = 16;
  auto key = static_cast<std::uint64_t>(action.kind);
  key = (key << chunk_bits) | action.task.chunk_index;
  key = (key << pass_bits) | static_cast<std::uint64_t>(action.task.pass);
  return (key << microbatch_bits) | index(action.task.microbatch);
}

} // namespace ppsim::traces
