#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "formats.hpp"

namespace ppsim::traces {
namespace {

/// Number of missing tasks allowed before the ids of a file count as a typing error. Small broken files then still
/// reach the check that lists each missing task.
constexpr std::size_t missing_tasks_named = 4096;

/// Fewer chunks than stages, with one chunk per stage: some stages are replicas and share the microbatches of a chunk
/// in turn.
bool has_replicas(const FoundTasks& found) {
  if (found.chunks >= found.stages()) return false;
  for (std::size_t stage = 0; stage < found.stages(); ++stage) {
    const std::size_t begin = found.offsets[stage];
    const auto tasks = std::span{found.tasks}.subspan(begin, found.offsets[stage + 1] - begin);
    const auto other = [&](const Task& task) { return task.chunk_index != tasks.front().chunk_index; };
    if (tasks.empty() || std::ranges::any_of(tasks, other)) return false;
  }
  return true;
}

void check_chunks(const FoundTasks& found, std::string_view name, Problems& problems) {
  if (found.chunks % found.stages() != 0 && !has_replicas(found))
    problems.add(
        std::string{name},
        fmt::format("{} chunks (0 to {}) do not divide over {} stages", found.chunks, found.chunks - 1, found.stages()),
        "every stage must hold the same number of chunks: give each stage one row and number the chunks from 0");
  std::vector<bool> present(found.chunks);
  for (const Task& task : found.tasks) present[task.chunk_index] = true;
  const auto missing = std::ranges::count(present, false);
  if (missing > 0)
    problems.add(std::string{name},
                 fmt::format("{} of the chunks 0 to {} have no task, the first is chunk {}", missing, found.chunks - 1,
                             std::ranges::find(present, false) - present.begin()),
                 "number the chunks from 0 without a gap; is an id too high?");
}

/// A microbatch without tasks is more likely an error in the highest number than many missing tasks.
void check_microbatches(const FoundTasks& found, std::string_view name, Problems& problems) {
  std::vector<bool> present(found.microbatches);
  for (const Task& task : found.tasks) present[index(task.microbatch)] = true;
  const auto missing = std::ranges::count(present, false);
  if (missing == 0) return;
  const auto highest =
      std::ranges::find(found.tasks, found.microbatches - 1, [](const Task& task) { return index(task.microbatch); });
  problems.add(std::string{name},
               fmt::format("{} of the microbatches 0 to {} have no task, the first is {}; the highest number is in {}",
                           missing, found.microbatches - 1, std::ranges::find(present, false) - present.begin(),
                           to_string(*highest)),
               "number the microbatches from 0 without a gap; is that number too high?");
}

void check_size(const FoundTasks& found, std::string_view name, Problems& problems) {
  const std::size_t needed = 2 * found.chunks * found.microbatches; // at most 2 * 65535 * 2^26: no overflow
  if (needed > Limits::tasks)
    problems.add(std::string{name},
                 fmt::format("{} chunks and {} microbatches make {} tasks", found.chunks, found.microbatches, needed),
                 fmt::format("ppsim takes up to {} tasks; is an id too high?", Limits::tasks));
  else if (needed / 2 > found.tasks.size() + missing_tasks_named)
    problems.add(std::string{name},
                 fmt::format("{} chunks and {} microbatches make {} tasks, but the file has {}", found.chunks,
                             found.microbatches, needed, found.tasks.size()),
                 "number chunks and microbatches from 0 without a gap; is an id too high?");
}

} // namespace

Shape shape_of(const FoundTasks& found, std::string_view name) {
  PPSIM_ASSERT(!found.tasks.empty());
  Problems problems;
  check_chunks(found, name, problems);
  check_size(found, name, problems);
  problems.throw_if_any();
  check_microbatches(found, name, problems);
  problems.throw_if_any();
  Shape shape{.stages = found.stages(), .microbatches = found.microbatches, .vpp = found.chunks / found.stages()};
  if (has_replicas(found)) {
    shape.vpp = 1;
    shape.shared = found.stages() - found.chunks;
  }
  return shape;
}

Schedule to_schedule(FoundTasks found, const Shape& shape, bool forward_only) {
  const bool backwards = std::ranges::any_of(found.tasks, [](const Task& task) { return task.pass != Pass::forward; });
  Schedule schedule{"file", shape, std::move(found.tasks), std::move(found.offsets)};
  if (forward_only && !backwards) return schedule.forwards();
  return schedule;
}

std::string_view without_blank_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const char last = text[end - 1];
    if (last != '\n' && last != '\r' && !is_space(last)) break;
    --end;
  }
  return text.substr(0, end);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

namespace {

bool names_task_list(std::string_view name) {
  return name.ends_with(".tasks.csv");
}

} // namespace

ScheduleFile read_schedule(std::string_view text, std::string_view name, bool forward_only) {
  // On stdin there is no name to go by; only a task list begins with a line of column names.
  const bool has_header = text.substr(0, text.find('\n')).find("microbatch_id") != std::string_view::npos;
  ScheduleFile file = has_header || names_task_list(name) ? read_task_list(text, name, forward_only)
                                                          : read_pytorch_csv(text, name, forward_only);
  if (forward_only && !file.schedule.forward_only()) file.schedule = file.schedule.forwards();
  return file;
}

std::string write_schedule(const TaskGraph& graph, std::string_view name) {
  return names_task_list(name) ? write_task_list(graph) : write_schedule_csv(graph.schedule());
}

} // namespace ppsim::traces
