#pragma once
// Helpers shared by the readers of text formats, mainly of schedules.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/schedule.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ppsim::traces {

/// The highest ids that a file may hold. A microbatch takes at least two tasks, so Limits::tasks bounds its id.
inline constexpr std::uint64_t max_chunk = Limits::chunks - 1;
inline constexpr std::uint64_t max_microbatch = Limits::tasks / 2 - 1;

/// The header line of an InfiniTrain task list.
inline constexpr std::string_view task_list_header =
    "step,microbatch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,is_first_chunk,is_last_chunk";

/// Names of cells for a whole chunk, in the order of ChunkAction::Kind.
inline constexpr std::array<std::string_view, 3> chunk_action_words{"UNSHARD", "RESHARD", "REDUCE_GRAD"};

/// Tasks found in a file, not yet checked together.
struct FoundTasks {
  std::vector<Task> tasks;               ///< stage by stage
  std::vector<std::uint32_t> offsets{0}; ///< where each stage begins, and the end
  std::size_t chunks = 0;                ///< highest chunk + 1
  std::size_t microbatches = 0;          ///< highest microbatch + 1

  void add(const Task& task) {
    tasks.push_back(task);
    chunks = std::max(chunks, index(task.chunk()) + 1);
    microbatches = std::max(microbatches, index(task.microbatch) + 1);
  }
  [[nodiscard]] std::size_t stages() const { return offsets.size() - 1; }
};

/// Shape of `found`. Throws Error unless the chunks divide evenly over the stages and the file is large enough for its
/// highest ids; a table of chunks x microbatches is then at most a small multiple of the file.
[[nodiscard]] Shape shape_of(const FoundTasks& found, std::string_view name);

/// Makes the schedule. ScheduleIndex checks its tasks later. With `forward_only`, a file without backwards is valid;
/// backwards in other files remain and are checked with the rest.
[[nodiscard]] Schedule to_schedule(FoundTasks found, const Shape& shape, bool forward_only);

[[nodiscard]] ScheduleFile read_pytorch_csv(std::string_view text, std::string_view name, bool forward_only);
[[nodiscard]] ScheduleFile read_task_list(std::string_view text, std::string_view name, bool forward_only);

/// Adds the Problem returned by `make`. Beyond the limit, problems are only counted, so a file full of errors costs no
/// more than a valid one.
template <class Make>
void add_within_limit(Problems& problems, const Make& make) {
  if (problems.count() >= Problems::limit) return problems.add({}, {});
  Problem problem = make();
  problems.add(std::move(problem.where), std::move(problem.what), std::move(problem.hint));
}

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_space(char c) {
  return c == ' ' || c == '\t';
}

/// `text` without spaces and tabs around it.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The words of `text`, which are between spaces and tabs, in place of what `words` held.
inline void split(std::string_view text, std::vector<std::string_view>& words) {
  words.clear();
  while (text = trimmed(text), !text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// Removes the digits at the start of `text` and returns them; empty if there are none.
[[nodiscard]] constexpr std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

/// Value of `digits`; any number above 10^18 if it is larger.
[[nodiscard]] constexpr std::uint64_t value_of(std::string_view digits) {
  constexpr std::uint64_t enough = 1'000'000'000'000'000'000;
  std::uint64_t value = 0;
  for (const char digit : digits) {
    if (value > enough) break;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

/// Parses all of `text` as a whole number; empty if it is not a number or out of range. decimal_of() reads decimals.
template <std::integral Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Removes a byte order mark at the start of a file; columns do not count it.
[[nodiscard]] constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// `text` without blank lines at its end.
[[nodiscard]] std::string_view without_blank_end(std::string_view text);

/// Takes the first line off `text`, without its LF or CRLF.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// Number of cells in a line, separated by commas; an empty line has one.
[[nodiscard]] inline std::size_t cells_in(std::string_view line) {
  return 1 + static_cast<std::size_t>(std::ranges::count(line, ','));
}
/// Takes the first cell off `line`, without spaces around it.
[[nodiscard]] inline std::string_view take_cell(std::string_view& line) {
  const std::size_t end = std::min(line.find(','), line.size());
  const std::string_view cell = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return trimmed(cell);
}

} // namespace ppsim::traces
