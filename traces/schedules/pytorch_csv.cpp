// PyTorch's pipelining CSV, read in one pass: plain cells ("3B12") by a short loop, all else by read_cell().
//
// Places in errors are name:line:column, counted from 1; the column is the byte at which the cell (or the half of a
// pair) begins.

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "formats.hpp"
#include "transfer_check.hpp"

namespace ppsim::traces {
namespace {

/// Effect of a cell on the schedule.
enum class Act : std::uint8_t { compute, send, receive, whole_chunk };

/// One word of the notation.
struct Word {
  std::string_view text;
  Act act;
  Pass pass; ///< for send and receive: the direction
};

constexpr std::array<Word, 11> words{{{"F", Act::compute, Pass::forward},
                                      {"B", Act::compute, Pass::backward},
                                      {"I", Act::compute, Pass::input_grad},
                                      {"W", Act::compute, Pass::weight_grad},
                                      {"SEND_F", Act::send, Pass::forward},
                                      {"RECV_F", Act::receive, Pass::forward},
                                      {"SEND_B", Act::send, Pass::backward},
                                      {"RECV_B", Act::receive, Pass::backward},
                                      {chunk_action_words[0], Act::whole_chunk, Pass::forward},
                                      {chunk_action_words[1], Act::whole_chunk, Pass::forward},
                                      {chunk_action_words[2], Act::whole_chunk, Pass::forward}}};
constexpr std::string_view cell_hint = "a cell is a chunk, F, B, I or W, and a microbatch, such as 3B12";
constexpr std::string_view pair_hint = "a pair is one F with one B or I, such as (0F7;7B3)OVERLAP_F_B";

/// A cell without brackets, or one part of a cell with them.
struct Action {
  std::size_t word = 0; ///< position in `words`
  Task task;
  std::string_view text;
};

/// A cell for a whole chunk and its row.
struct ChunkCell {
  std::string_view text;
  std::size_t stage = 0;
  ChunkAction action;
};

const Word* find_word(std::string_view text) {
  const auto* found = std::ranges::find(words, text, &Word::text);
  return found == words.end() ? nullptr : found;
}

std::string word_hint(std::string_view word) {
  if (word.size() < 4) return std::string{cell_hint}; // any letter is as near as the next
  std::vector<std::string_view> known;
  known.reserve(words.size());
  for (const Word& candidate : words) known.push_back(candidate.text);
  return did_you_mean(word, known, cell_hint);
}

std::string_view take_word(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && (text[length] == '_' || (text[length] >= 'A' && text[length] <= 'Z') ||
                                  (text[length] >= 'a' && text[length] <= 'z')))
    ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

class CsvReader {
public:
  CsvReader(std::string_view text, std::string_view name, bool forward_only)
      : text_{without_byte_order_mark(text)}, name_{name}, forward_only_{forward_only},
        has_transfers_{text.find("SEND_") != std::string_view::npos || text.find("RECV_") != std::string_view::npos} {}

  ScheduleFile read();

private:
  void read_rows();
  void read_row();
  bool read_plain_cell(std::size_t& at);
  void read_cell(std::string_view cell);
  void read_group(std::string_view cell);
  void read_pair(std::string_view cell, const std::vector<Action>& parts);
  void apply(const Action& action, bool joins = false);
  void add(const Task& task, std::string_view text);
  [[nodiscard]] std::optional<Action> parse(std::string_view text);
  [[nodiscard]] std::optional<Task> parse_ids(const Action& action, std::string_view chunk,
                                              std::string_view microbatch);
  void read_old_dialect(const Shape& shape);
  [[nodiscard]] CommOrder take_transfers(const Schedule& schedule, const ScheduleIndex& schedule_index);
  [[nodiscard]] ChunkActions take_chunk_cells(const Schedule& schedule);
  [[nodiscard]] std::string place(std::string_view part) const;
  template <class... Arguments>
  void fault(std::string_view part, std::string_view hint, fmt::format_string<Arguments...> what,
             Arguments&&... arguments);

  std::string_view text_;
  std::string_view name_;
  bool forward_only_;
  bool has_transfers_;
  std::string_view line_; ///< the row being read
  FoundTasks found_;
  std::vector<std::string_view> task_cells_; ///< by task; kept only where send and receive cells have to be checked
  std::vector<TransferCell> transfers_;
  std::size_t transfers_before_row_ = 0; ///< in the rows before the one being read
  std::vector<ChunkCell> chunk_cells_;
  std::vector<std::string> notes_;
  Problems problems_;
};

template <class... Arguments>
void CsvReader::fault(std::string_view part, std::string_view hint, fmt::format_string<Arguments...> what,
                      Arguments&&... arguments) {
  add_within_limit(problems_, [&] {
    return Problem{place(part), fmt::format(what, std::forward<Arguments>(arguments)...), std::string{hint}};
  });
}

/// `part` is a part of text_.
std::string CsvReader::place(std::string_view part) const {
  const auto offset = static_cast<std::size_t>(part.data() - text_.data());
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1; // npos + 1 is 0
  return fmt::format("{}:{}:{}", name_, std::ranges::count(before, '\n') + 1, offset - line_begin + 1);
}

ScheduleFile CsvReader::read() {
  read_rows();
  const Shape shape = shape_of(found_, name_);
  read_old_dialect(shape);
  Schedule schedule = to_schedule(std::move(found_), shape, forward_only_);
  const ScheduleIndex schedule_index{schedule, name_};
  CommOrder order{{}, std::vector<std::uint32_t>(shape.stages + 1)};
  if (has_transfers_) order = take_transfers(schedule, schedule_index);
  if (!chunk_cells_.empty()) order = order.with_actions(take_chunk_cells(schedule));
  schedule = schedule.with_communications(std::move(order));
  return {std::move(schedule), std::move(notes_)};
}

void CsvReader::read_rows() {
  std::string_view rest = without_blank_end(text_);
  if (rest.empty())
    throw Error{ExitCode::bad_input, {std::string{name_}, "the file is empty", "write one row of cells per stage"}};
  while (!rest.empty()) {
    line_ = take_line(rest);
    const std::size_t before = found_.tasks.size();
    const std::size_t faults = problems_.count();
    transfers_before_row_ = transfers_.size();
    if (found_.stages() == Limits::stages) {
      fault(line_, "is this a schedule, with one row per stage?", "more than {} rows", Limits::stages);
      break;
    }
    read_row();
    if (found_.tasks.size() == before && problems_.count() == faults)
      fault(line_, "every stage runs something; a schedule has one row per stage and no empty rows",
            "the row of stage {} has no task", found_.stages());
    if (found_.tasks.size() > 2 * Limits::tasks) {
      fault(line_, "use fewer tasks", "{} tasks up to this row", found_.tasks.size());
      break;
    }
    found_.offsets.push_back(static_cast<std::uint32_t>(found_.tasks.size()));
  }
  problems_.throw_if_any();
}

void CsvReader::read_row() {
  for (std::size_t at = 0;; ++at) {
    if (!read_plain_cell(at)) {
      const std::size_t end = std::min(line_.find(',', at), line_.size());
      read_cell(trimmed(line_.substr(at, end - at)));
      at = end;
    }
    if (at >= line_.size()) return;
  }
}

/// Reads a compute cell without spaces and with ids of a usual length; leaves everything else to read_cell().
bool CsvReader::read_plain_cell(std::size_t& at) {
  const char* const begin = line_.data() + at;
  const char* const end = line_.data() + line_.size();
  const char* next = begin;
  std::uint32_t chunk = 0;
  while (next != end && is_digit(*next) && next - begin < 5)
    chunk = chunk * 10 + static_cast<std::uint32_t>(*next++ - '0');
  if (next == begin || next == end || chunk > max_chunk) return false;
  const std::size_t pass = std::string_view{"FBIW"}.find(*next++); // in the order of Pass
  if (pass == std::string_view::npos) return false;
  const char* const digits = next;
  std::uint32_t microbatch = 0;
  while (next != end && is_digit(*next) && next - digits < 7)
    microbatch = microbatch * 10 + static_cast<std::uint32_t>(*next++ - '0');
  if (next == digits || (next != end && *next != ',')) return false;
  add(make_task(static_cast<Pass>(pass), chunk, microbatch), {begin, static_cast<std::size_t>(next - begin)});
  at = static_cast<std::size_t>(next - line_.data());
  return true;
}

void CsvReader::add(const Task& task, std::string_view text) {
  found_.add(task);
  if (has_transfers_) task_cells_.push_back(text);
}

void CsvReader::read_cell(std::string_view cell) {
  if (cell.empty()) return; // idle
  if (cell.front() == '(') return read_group(cell);
  if (const std::optional<Action> action = parse(cell)) apply(*action);
}

/// `joins`: in one group with the cell before.
void CsvReader::apply(const Action& action, bool joins) {
  const Word& word = words[action.word];
  switch (word.act) {
  case Act::compute:
    add(action.task, action.text);
    break;
  case Act::whole_chunk:
    chunk_cells_.push_back(
        {action.text, found_.stages(),
         ChunkAction{.kind = static_cast<ChunkAction::Kind>(action.word + chunk_action_words.size() - words.size()),
                     .chunk_index = action.task.chunk_index,
                     .before = static_cast<std::uint32_t>(found_.tasks.size() - found_.offsets.back()),
                     .behind = static_cast<std::uint32_t>(transfers_.size() - transfers_before_row_)}});
    break;
  case Act::send:
  case Act::receive:
    transfers_.push_back({.text = action.text,
                          .tasks_before = static_cast<std::uint32_t>(found_.tasks.size()),
                          .stage = static_cast<std::uint32_t>(found_.stages()),
                          .task = action.task,
                          .is_send = word.act == Act::send,
                          .joins = joins});
  }
}

/// Reads "(0F7;7B3)OVERLAP_F_B" or "(0SEND_F0;2RECV_F0)BATCH_P2P".
void CsvReader::read_group(std::string_view cell) {
  const std::size_t close = cell.find(')');
  if (close == std::string_view::npos) return fault(cell, pair_hint, "{} has no closing parenthesis", in_quotes(cell));
  const std::string_view kind = trimmed(cell.substr(close + 1));
  if (kind != "OVERLAP_F_B" && kind != "BATCH_P2P")
    return fault(cell, "a group ends in OVERLAP_F_B or BATCH_P2P", "unknown group {} in {}", in_quotes(kind),
                 in_quotes(cell));
  std::vector<Action> parts;
  const std::size_t faults = problems_.count();
  std::string_view inside = cell.substr(1, close - 1);
  for (bool more = true; more;) {
    const std::size_t end = inside.find(';');
    if (const auto action = parse(trimmed(inside.substr(0, end)))) parts.push_back(*action);
    more = end != std::string_view::npos;
    if (more) inside.remove_prefix(end + 1);
  }
  if (problems_.count() != faults) return;
  if (kind == "OVERLAP_F_B") return read_pair(cell, parts);
  for (const Action& part : parts) {
    const Act act = words[part.word].act;
    if (act != Act::send && act != Act::receive)
      return fault(part.text, "BATCH_P2P holds send and receive cells only", "{} is not a transfer",
                   in_quotes(part.text));
  }
  for (const Action& part : parts) apply(part, &part != parts.data());
}

void CsvReader::read_pair(std::string_view cell, const std::vector<Action>& parts) {
  const auto is = [&](const Action& part, auto condition) {
    return words[part.word].act == Act::compute && condition(words[part.word].pass);
  };
  const auto forward = [](Pass pass) { return pass == Pass::forward; };
  if (parts.size() != 2 || !((is(parts[0], forward) && is(parts[1], gives_gradient)) ||
                             (is(parts[0], gives_gradient) && is(parts[1], forward))))
    return fault(cell, pair_hint, "{} is not a pair of a forward and a backward", in_quotes(cell));
  for (std::size_t half = 0; half < 2; ++half) {
    Task task = parts[half].task;
    task.pairing = half == 0 ? Pairing::first : Pairing::second;
    add(task, parts[half].text);
  }
}

std::optional<Action> CsvReader::parse(std::string_view text) {
  std::string_view rest = text;
  const std::string_view chunk = take_digits(rest);
  const std::string_view letters = take_word(rest);
  const std::string_view microbatch = take_digits(rest);
  const Word* const word = find_word(letters);
  if (chunk.empty())
    fault(text, cell_hint, "{} does not start with a chunk number", in_quotes(text));
  else if (letters.empty())
    fault(text, cell_hint, "{} has no pass after its chunk", in_quotes(text));
  else if (word == nullptr)
    fault(text, word_hint(letters), "unknown pass {} in {}", in_quotes(letters), in_quotes(text));
  else if (microbatch.empty() && (word->act != Act::whole_chunk || !rest.empty()))
    fault(text, cell_hint, "{} has no microbatch after {}", in_quotes(text), in_quotes(letters));
  else if (!microbatch.empty() && word->act == Act::whole_chunk)
    fault(text, "leave the number out", "{} names a microbatch, but {} is for a whole chunk", in_quotes(text), letters);
  else if (!rest.empty())
    fault(text, "separate cells by commas", "{} continues with {} after its microbatch", in_quotes(text),
          in_quotes(rest));
  else {
    Action action{.word = static_cast<std::size_t>(word - words.data()), .task = {}, .text = text};
    const std::optional<Task> task = parse_ids(action, chunk, microbatch);
    if (!task) return std::nullopt;
    action.task = *task;
    return action;
  }
  return std::nullopt;
}

std::optional<Task> CsvReader::parse_ids(const Action& action, std::string_view chunk, std::string_view microbatch) {
  const std::uint64_t chunk_id = value_of(chunk);
  const std::uint64_t microbatch_id = value_of(microbatch); // none: 0
  if (chunk_id > max_chunk)
    fault(action.text, fmt::format("chunks are numbered from 0 to {} at most", max_chunk), "chunk {} of {} is too high",
          in_quotes(chunk), in_quotes(action.text));
  if (microbatch_id > max_microbatch)
    fault(action.text, fmt::format("microbatches are numbered from 0 to {} at most", max_microbatch),
          "microbatch {} of {} is too high", in_quotes(microbatch), in_quotes(action.text));
  if (chunk_id > max_chunk || microbatch_id > max_microbatch) return std::nullopt;
  return make_task(words[action.word].pass, chunk_id, microbatch_id);
}

/// Before PyTorch had I, B meant the input gradient of a backward with a separate W. Such a file has no I, and each B
/// has a W. Files that follow this only in part stay unchanged; ScheduleIndex then reports the inconsistent tasks.
void CsvReader::read_old_dialect(const Shape& shape) {
  std::array<std::size_t, 4> count{};
  for (const Task& task : found_.tasks) ++count[static_cast<std::size_t>(task.pass)];
  const std::size_t whole = count[static_cast<std::size_t>(Pass::backward)];
  const std::size_t weight = count[static_cast<std::size_t>(Pass::weight_grad)];
  if (count[static_cast<std::size_t>(Pass::input_grad)] != 0 || weight == 0 || weight != whole) return;
  std::vector<bool> has_weight(shape.chunks() * shape.microbatches);
  const auto at = [&](const Task& task) { return task.chunk_index * shape.microbatches + index(task.microbatch); };
  for (const Task& task : found_.tasks)
    if (task.pass == Pass::weight_grad) has_weight[at(task)] = true;
  for (const Task& task : found_.tasks)
    if (task.pass == Pass::backward && !has_weight[at(task)]) return;
  for (Task& task : found_.tasks)
    if (task.pass == Pass::backward) task.pass = Pass::input_grad;
  notes_.push_back(fmt::format("{} B cells read as I: each has its W, as in files from before PyTorch had I", whole));
}

CommOrder CsvReader::take_transfers(const Schedule& schedule, const ScheduleIndex& schedule_index) {
  const CellPlaces places{.of_cell = [this](std::string_view cell) { return place(cell); },
                          .of_task = [this](TaskId task) { return place(task_cells_[index(task)]); }};
  CommOrder order = check_transfers(schedule, schedule_index, transfers_, places, problems_);
  problems_.throw_if_any();
  return order;
}

/// By stage and chunk: position in the stage of the last task that completes a microbatch.
std::map<std::pair<std::size_t, std::uint16_t>, std::size_t> last_backwards(const Schedule& schedule) {
  std::map<std::pair<std::size_t, std::uint16_t>, std::size_t> last;
  for (std::size_t stage = 0; stage < schedule.shape().stages; ++stage) {
    const auto tasks = schedule.stage(make_id<StageId>(stage));
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (frees_activation(tasks[i].pass)) last[{stage, tasks[i].chunk_index}] = i;
  }
  return last;
}

/// Rejects files that PyTorch's runtime accepts but trains with wrong gradients: a chunk reduced (and divided by the
/// number of microbatches) twice, or before its last backward.
ChunkActions CsvReader::take_chunk_cells(const Schedule& schedule) {
  const HeldChunks held{schedule};
  const auto last = last_backwards(schedule);
  std::set<std::pair<std::size_t, std::uint16_t>> reduced;
  ChunkActions actions(schedule.shape().stages);
  for (const ChunkCell& cell : chunk_cells_) {
    actions[cell.stage].push_back(cell.action);
    const std::pair key{cell.stage, cell.action.chunk_index};
    const auto stage = make_id<StageId>(cell.stage);
    if (!std::ranges::binary_search(held.of(stage), key.second))
      fault(cell.text, "move it to the row that runs the chunk", "{} is in the row of stage {}, which runs no chunk {}",
            in_quotes(cell.text), cell.stage, key.second);
    if (cell.action.kind != ChunkAction::Kind::reduce_grad) continue;
    if (const auto found = last.find(key); found != last.end() && found->second >= cell.action.before)
      fault(cell.text, "move it after the last backward of its chunk", "{} is before {}", in_quotes(cell.text),
            to_string(schedule.stage(stage)[found->second]));
    if (!reduced.insert(key).second) fault(cell.text, "leave one out", "{} appears twice", in_quotes(cell.text));
  }
  problems_.throw_if_any();
  return actions;
}

/// Reports one error for a file of a different kind, instead of one per cell.
void refuse_other_kinds(std::string_view text, std::string_view name) {
  text = without_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n,");
  if (first == std::string_view::npos || is_digit(text[first]) || text[first] == '(') return;
  const std::string_view line = text.substr(first, text.find_first_of("\r\n", first) - first);
  throw Error{ExitCode::bad_input,
              Problem{fmt::format("{}:{}", name, 1 + std::ranges::count(text.substr(0, first), '\n')),
                      fmt::format("not a schedule: it starts with {}", in_quotes(line, 40)),
                      "a PyTorch CSV has a row per stage with cells such as 0F0,1B3; an InfiniTrain list is named "
                      "*.tasks.csv; read a scenario (TOML) with --scenario"}};
}

} // namespace

ScheduleFile read_pytorch_csv(std::string_view text, std::string_view name, bool forward_only) {
  refuse_other_kinds(text, name);
  return CsvReader{text, name, forward_only}.read();
}

} // namespace ppsim::traces
