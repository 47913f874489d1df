// InfiniTrain's task list: a header line, then one line per task, e.g.
//
//   step,microbatch_id,global_chunk_id,local_chunk_idx,is_forward,stage_id,is_first_chunk,is_last_chunk
//   0,0,0,0,1,0,1,0
//
// A stage runs its tasks in the order of their steps; tasks of one step in the order of the file (InfiniTrain itself
// puts the last chunk's forward and backward into one step).

#include <fmt/format.h>

#include <array>
#include <utility>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

/// The columns, in the order in which InfiniTrain's record has them.
enum class Field : std::uint8_t { step, microbatch, chunk, local_chunk, is_forward, stage, is_first, is_last };

/// One column: its name in the header and the highest value that it may hold.
struct Column {
  std::string_view name;
  std::uint64_t max;
};
constexpr std::array<Column, 8> columns{{{"step", 0xFFFFFFFF},
                                         {"microbatch_id", max_microbatch},
                                         {"global_chunk_id", max_chunk},
                                         {"local_chunk_idx", max_chunk},
                                         {"is_forward", 1},
                                         {"stage_id", Limits::stages - 1},
                                         {"is_first_chunk", 1},
                                         {"is_last_chunk", 1}}};

constexpr const Column& column(Field field) {
  return columns[static_cast<std::size_t>(field)];
}

/// One line of the list.
struct Record {
  std::array<std::uint32_t, columns.size()> values{};
  std::uint32_t line = 0; ///< counted from 1
  [[nodiscard]] std::uint32_t operator[](Field field) const { return values[static_cast<std::size_t>(field)]; }
};

class TaskListReader {
public:
  TaskListReader(std::string_view text, std::string_view name, bool forward_only)
      : text_{without_byte_order_mark(text)}, name_{name}, forward_only_{forward_only} {}
  ScheduleFile read();

private:
  void read_header();
  void read_line();
  [[nodiscard]] bool read_value(std::string_view cell, Field field, Record& record);
  [[nodiscard]] FoundTasks in_order();
  void check_redundant(const Shape& shape);
  void check_value(const Record& record, Field field, std::size_t expected, std::string_view reason);
  [[nodiscard]] std::string place(std::size_t line, std::string_view part) const;
  [[nodiscard]] std::string place(const Record& record, Field field) const;

  std::string_view text_;
  std::string_view name_;
  bool forward_only_;
  std::string_view line_;       ///< the line being read
  std::size_t line_number_ = 1; ///< counted from 1
  std::vector<Field> fields_;   ///< by column of the file
  std::vector<Record> records_;
  std::vector<std::string> notes_;
  Problems problems_;
};

/// `part` is a part of line_.
std::string TaskListReader::place(std::size_t line, std::string_view part) const {
  return fmt::format("{}:{}:{}", name_, line, part.data() - line_.data() + 1);
}

/// Finds the cell again; for errors only.
std::string TaskListReader::place(const Record& record, Field field) const {
  std::string_view rest = text_;
  for (std::size_t line = 1; line < record.line; ++line) (void)take_line(rest);
  const std::string_view whole = take_line(rest);
  std::string_view cells = whole;
  std::string_view cell;
  for (const Field known : fields_) {
    cell = take_cell(cells);
    if (known == field) break;
  }
  return fmt::format("{}:{}:{}", name_, record.line, cell.data() - whole.data() + 1);
}

ScheduleFile TaskListReader::read() {
  std::string_view rest = without_blank_end(text_);
  if (rest.empty())
    throw Error{ExitCode::bad_input,
                {std::string{name_}, "the file is empty", fmt::format("begin with '{}'", task_list_header)}};
  for (; !rest.empty(); ++line_number_) {
    line_ = take_line(rest);
    if (line_number_ > 1) {
      read_line();
      continue;
    }
    read_header();
    problems_.throw_if_any(); // without a header no line can be read
  }
  problems_.throw_if_any();
  if (records_.empty())
    throw Error{ExitCode::bad_input, {std::string{name_}, "there is no task after the header", "add a line per task"}};
  FoundTasks found = in_order();
  const Shape shape = shape_of(found, name_);
  check_redundant(shape);
  Schedule schedule = to_schedule(std::move(found), shape, forward_only_);
  (void)ScheduleIndex{schedule, name_};
  return {std::move(schedule), std::move(notes_)};
}

void TaskListReader::read_header() {
  std::vector<std::string_view> names;
  names.reserve(columns.size());
  for (const Column& known : columns) names.push_back(known.name);
  std::string_view cells = line_;
  for (std::size_t count = cells_in(line_); count > 0; --count) {
    const std::string_view cell = take_cell(cells);
    const auto found = std::ranges::find(names, cell);
    if (problems_.count() >= Problems::limit) return;
    if (found == names.end()) {
      problems_.add(place(line_number_, cell), fmt::format("unknown column {}", in_quotes(cell)),
                    did_you_mean(cell, names, fmt::format("the columns are {}", task_list_header)));
      continue;
    }
    const auto field = static_cast<Field>(found - names.begin());
    if (std::ranges::find(fields_, field) != fields_.end())
      problems_.add(place(line_number_, cell), fmt::format("column {} appears twice", in_quotes(cell)),
                    "leave one out");
    fields_.push_back(field);
  }
  for (std::size_t field = 0; field < columns.size(); ++field)
    if (std::ranges::find(fields_, static_cast<Field>(field)) == fields_.end())
      problems_.add(place(line_number_, line_), fmt::format("column '{}' is missing", columns[field].name),
                    fmt::format("the columns are {}", task_list_header));
}

void TaskListReader::read_line() {
  Record record{.values = {}, .line = static_cast<std::uint32_t>(line_number_)};
  const std::size_t count = cells_in(line_);
  const bool blank = trimmed(line_).empty();
  bool good = true;
  std::string_view cells = line_;
  for (std::size_t i = 0; i < std::min(count, fields_.size()) && !blank; ++i)
    good = read_value(take_cell(cells), fields_[i], record) && good;
  if (blank || count != fields_.size()) {
    add_within_limit(problems_, [&] {
      return Problem{place(line_number_, line_),
                     blank ? "the line is empty"
                           : fmt::format("{} cells in a list of {} columns", count, fields_.size()),
                     blank ? "leave it out" : "give every column a value"};
    });
  } else if (good) {
    records_.push_back(record);
  }
}

bool TaskListReader::read_value(std::string_view cell, Field field, Record& record) {
  std::string_view rest = cell;
  const std::string_view digits = take_digits(rest);
  const std::uint64_t value = value_of(digits);
  const bool good = !digits.empty() && rest.empty() && value <= column(field).max;
  if (!good)
    add_within_limit(problems_, [&] {
      return Problem{place(line_number_, cell), fmt::format("{} is {}", column(field).name, in_quotes(cell)),
                     fmt::format("it must be a whole number from 0 to {}", column(field).max)};
    });
  record.values[static_cast<std::size_t>(field)] = static_cast<std::uint32_t>(value);
  return good;
}

/// The tasks stage by stage.
FoundTasks TaskListReader::in_order() {
  const auto step = [](const Record& record) { return record[Field::step]; };
  if (!std::ranges::is_sorted(records_, {}, step)) std::ranges::stable_sort(records_, {}, step);
  std::size_t stages = 0;
  for (const Record& record : records_) stages = std::max(stages, std::size_t{record[Field::stage]} + 1);
  std::vector<std::vector<Task>> rows(stages);
  for (const Record& record : records_)
    rows[record[Field::stage]].push_back(make_task(record[Field::is_forward] != 0 ? Pass::forward : Pass::backward,
                                                   record[Field::chunk], record[Field::microbatch]));
  FoundTasks found;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (rows[stage].empty())
      problems_.add(std::string{name_}, fmt::format("stage {} has no task, though stage {} has", stage, stages - 1),
                    "number the stages from 0 without a gap");
    for (const Task& task : rows[stage]) found.add(task);
    found.offsets.push_back(static_cast<std::uint32_t>(found.tasks.size()));
    rows[stage] = {};
  }
  problems_.throw_if_any();
  return found;
}

void TaskListReader::check_value(const Record& record, Field field, std::size_t expected, std::string_view reason) {
  if (record[field] == expected) return;
  add_within_limit(problems_, [&] {
    return Problem{place(record, field),
                   fmt::format("{} is {}, but global_chunk_id {} makes it {}", column(field).name, record[field],
                               record[Field::chunk], expected),
                   std::string{reason}};
  });
}

/// The last three columns follow from the others. This holds for local_chunk_idx only with looped placement; other
/// placements number the chunks of a stage in any order.
void TaskListReader::check_redundant(const Shape& shape) {
  const auto out_of_loop = std::ranges::find_if(
      records_, [&](const Record& record) { return record[Field::chunk] % shape.stages != record[Field::stage]; });
  const bool loop = out_of_loop == records_.end();
  if (!loop)
    notes_.push_back(
        fmt::format("local_chunk_idx is not checked: chunk {} is on stage {}, so chunks are not placed in a loop",
                    (*out_of_loop)[Field::chunk], (*out_of_loop)[Field::stage]));
  const std::size_t last = shape.chunks() - 1;
  const std::string local_reason =
      fmt::format("with {} stages it is global_chunk_id div {}", shape.stages, shape.stages);
  const std::string last_reason =
      fmt::format("it is 1 for global_chunk_id {}, the highest, and 0 for all others", last);
  for (const Record& record : records_) {
    const std::size_t chunk = record[Field::chunk];
    if (loop) check_value(record, Field::local_chunk, chunk / shape.stages, local_reason);
    check_value(record, Field::is_first, chunk == 0 ? 1 : 0, "it is 1 for global_chunk_id 0 and 0 for all others");
    check_value(record, Field::is_last, chunk == last ? 1 : 0, last_reason);
  }
  problems_.throw_if_any();
}

} // namespace

ScheduleFile read_task_list(std::string_view text, std::string_view name, bool forward_only) {
  return TaskListReader{text, name, forward_only}.read();
}

} // namespace ppsim::traces
