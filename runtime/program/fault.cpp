#include "ppsim/runtime/fault.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace ppsim::runtime {
namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 5> kinds{{{"fail", FaultKind::fail},
                                                                       {"stall", FaultKind::stall},
                                                                       {"no-memory", FaultKind::no_memory},
                                                                       {"lose", FaultKind::lose},
                                                                       {"resize", FaultKind::resize}}};

/// Parses a number at the start of `text` and removes it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "1F3", as to_string(Task) writes it.
std::optional<Task> parse_cell(std::string_view text) {
  const auto chunk = take_number<std::uint16_t>(text);
  if (!chunk || text.empty()) return std::nullopt;
  const std::size_t pass = std::string_view{"FBIW"}.find(text.front());
  if (pass == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  const auto microbatch = take_number<std::uint32_t>(text);
  if (!microbatch || !text.empty()) return std::nullopt;
  return make_task(static_cast<Pass>(pass), *chunk, *microbatch);
}

/// Whether a task of this pass can have this fault: only F allocates, and W sends nothing.
bool can_have(Pass pass, FaultKind kind) {
  switch (kind) {
  case FaultKind::no_memory:
    return pass == Pass::forward;
  case FaultKind::lose:
  case FaultKind::resize:
    return pass != Pass::weight_grad;
  case FaultKind::fail:
  case FaultKind::stall:
    break;
  }
  return true;
}

} // namespace

std::optional<Fault> parse_fault(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<Task> task = parse_cell(text.substr(at + 1));
  if (!task) return std::nullopt;
  for (const auto& [name, kind] : kinds)
    if (name == text.substr(0, at) && can_have(task->pass, kind)) return Fault{kind, *task};
  return std::nullopt;
}

} // namespace ppsim::runtime
