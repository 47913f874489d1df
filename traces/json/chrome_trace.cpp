// Chrome trace events. A process per stage, with these threads and counters:
//
//   compute            a slice per task, one for an overlapped pair, with one inside it for what it recomputes;
//                      arrows go from sender to receiver
//
//   activations in,    a slice per transfer, at the stage that receives; more such threads where transfers of one kind
//   gradients in       overlap, since the slices of one thread may not
//
//   reductions,        a slice per gradient reduction, if there are any
//   embedding reduction
//
//   live activations   a counter
//
//   memory             a counter, in bytes, if the scenario has memory figures
//
// An event sample: {"ph":"X","cat":"F","name":"1F0","pid":1,"tid":0,"ts":1000.000,"dur":500.000,"args":{...}}; ts and
// dur are microseconds, written from whole nanoseconds.

#include "ppsim/traces/chrome_trace.hpp"

#include "ppsim/study/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

constexpr std::size_t compute_thread = 0;
constexpr std::size_t reduction_thread = 1'000'000; // beyond any lane of transfers; the next one is the embedding's
constexpr std::array<std::string_view, 2> direction_names{"activations in", "gradients in"};
constexpr std::array<std::string_view, 2> arrow_names{"activation", "gradient"};

/// Any text as a JSON string; invalid UTF-8 is replaced.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Thread of one lane of transfers: the lanes of both directions alternate.
constexpr std::size_t thread_of(std::size_t lane, std::size_t direction) {
  return 1 + 2 * lane + direction;
}

class TraceWriter {
public:
  TraceWriter(const TaskGraph& graph, const Timeline& timeline, const RunReport& report)
      : graph_{graph}, schedule_{graph.schedule()}, timeline_{timeline}, report_{report} {}
  [[nodiscard]] std::string write();

private:
  void header();
  void stage(std::size_t stage);
  void name_thread(std::size_t stage, std::size_t thread, std::string_view name, std::size_t sort_index);
  void compute(std::size_t stage);
  std::size_t task(std::size_t stage, TaskId id);
  void arrows(std::size_t stage, TaskId id);
  void transfers(std::size_t stage, std::size_t direction);
  void transfer(std::size_t stage, std::size_t direction, std::size_t lane, TaskId sender);
  void update(std::size_t stage);
  void counters(std::size_t stage);
  void sort_transfers();

  /// Begins an event: the comma and the line.
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_.append(first_ ? std::string_view{"\n"} : std::string_view{",\n"});
    first_ = false;
    put(format, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
  }
  /// A time as microseconds, exactly.
  void put_time(std::string_view key, std::int64_t nanoseconds) {
    put(R"(,"{}":{}.{:03})", key, nanoseconds / 1000, nanoseconds % 1000);
  }
  void put_start(SimTime time) { put_time("ts", time.time_since_epoch().count()); }
  void put_span(const Span& span) {
    put_start(span.start);
    put_time("dur", span.length().count());
  }
  /// A task as argument: "1F0", or null.
  void put_task(std::string_view key, TaskId id) {
    if (id == no_task)
      put(R"(,"{}":null)", key);
    else
      put(R"(,"{}":"{}")", key, to_string(schedule_.task(id)));
  }

  const TaskGraph& graph_;
  const Schedule& schedule_;
  const Timeline& timeline_;
  const RunReport& report_;
  bool first_ = true;
  std::string out_;
  std::vector<std::array<std::vector<TaskId>, 2>> arriving_; ///< by receiving stage and direction: senders, by start
  std::vector<TaskId> sender_of_;                            ///< by receiver
};

std::string TraceWriter::write() {
  // The usual size of a task with its transfer and counters. A growing buffer would be copied each time.
  constexpr std::size_t usual_bytes = 640;
  out_.reserve(schedule_.size() * usual_bytes);
  sort_transfers();
  header();
  for (std::size_t number = 0; number < schedule_.shape().stages; ++number) stage(number);
  put("\n]}}\n");
  return std::move(out_);
}

void TraceWriter::header() {
  put(R"({{"displayTimeUnit":"ms","otherData":{{"producer":"ppsim","schedule":{},"transfer_model":"{}")",
      json_string(schedule_.name()), to_string(graph_.scenario().network.model));
  if (!graph_.scenario().title.empty()) put(R"(,"title":{})", json_string(graph_.scenario().title));
  if (!graph_.scenario().source.empty()) put(R"(,"source":{})", json_string(graph_.scenario().source));
  if (!report_.measured.empty()) put(R"(,"measured":{})", json_string(report_.measured));
  put(R"(,"makespan_ns":{},"step_time_ns":{}}},)", report_.makespan.count(), report_.step_time.count());
  put("\n\"traceEvents\":["); // NOLINT(modernize-raw-string-literal): a line end
}

void TraceWriter::sort_transfers() {
  arriving_.resize(schedule_.shape().stages);
  sender_of_.assign(schedule_.size(), no_task);
  for (std::size_t id = 0; id < schedule_.size(); ++id) {
    const auto sender = make_id<TaskId>(id);
    const std::optional<TaskId> receiver = graph_.receiver(sender);
    if (!receiver) continue;
    sender_of_[index(*receiver)] = sender;
    const std::size_t direction = schedule_.task(sender).pass == Pass::forward ? 0 : 1;
    if (timeline_.transfers[id].length() > Duration{0}) // one of zero length is only an arrow
      arriving_[index(schedule_.stage_of(*receiver))][direction].push_back(sender);
  }
  const auto start = [&](TaskId sender) { return std::pair{timeline_.transfers[index(sender)].start, sender}; };
  for (auto& directions : arriving_)
    for (std::vector<TaskId>& senders : directions) std::ranges::sort(senders, {}, start);
}

void TraceWriter::stage(std::size_t stage) {
  event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"stage {}"}}}})", stage, stage);
  event(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", stage, stage);
  name_thread(stage, compute_thread, "compute", 0);
  compute(stage);
  transfers(stage, 0);
  transfers(stage, 1);
  update(stage);
  counters(stage);
}

void TraceWriter::name_thread(std::size_t stage, std::size_t thread, std::string_view name, std::size_t sort_index) {
  event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", stage, thread, name);
  event(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", stage, thread,
        sort_index);
}

void TraceWriter::compute(std::size_t stage) {
  const std::size_t end = index(schedule_.end_task(make_id<StageId>(stage)));
  for (std::size_t id = index(schedule_.first_task(make_id<StageId>(stage))); id < end;)
    id += task(stage, make_id<TaskId>(id));
}

/// Writes one slice and its arrows; returns the number of tasks in it.
std::size_t TraceWriter::task(std::size_t stage, TaskId id) {
  const Task& task = schedule_.task(id);
  const Span& span = timeline_.tasks[index(id)];
  const auto other = make_id<TaskId>(index(id) + 1);
  const bool one_piece = task.pairing == Pairing::first && timeline_.tasks[index(other)] == span;
  if (one_piece)
    event(R"x({{"ph":"X","cat":"overlap","name":"({};{})","pid":{},"tid":{})x", to_string(task),
          to_string(schedule_.task(other)), stage, compute_thread);
  else
    event(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{})", letter(task.pass), to_string(task), stage,
          compute_thread);
  put_span(span);
  put(R"(,"args":{{"stage":{},"chunk":{},"microbatch":{},"pass":"{}")", stage, task.chunk_index, index(task.microbatch),
      letter(task.pass));
  if (one_piece) put_task("overlaps", other);
  put(R"(,"cause":"{}")", to_string(timeline_.cause[index(id)]));
  put_task("released_by", timeline_.released_by[index(id)]);
  put("}}}}");
  if (const Span again = recompute_span(graph_, timeline_, id); again.length() > Duration{0}) {
    event(R"({{"ph":"X","cat":"recompute","name":"recompute","pid":{},"tid":{})", stage, compute_thread);
    put_span(again);
    put("}}");
  }
  arrows(stage, id);
  if (one_piece) arrows(stage, other);
  return one_piece ? 2 : 1;
}

/// The arrows to and from a task. An arrow attaches to the slice that is open at its time: it ends at the start of the
/// receiver and begins 1 ns before the end of the sender, because at the end the next slice may have begun.
void TraceWriter::arrows(std::size_t stage, TaskId id) {
  const Span& span = timeline_.tasks[index(id)];
  const std::size_t direction = schedule_.task(id).pass == Pass::forward ? 0 : 1;
  if (const TaskId sender = sender_of_[index(id)]; sender != no_task) {
    event(R"({{"ph":"f","bp":"e","cat":"transfer","name":"{}","id":{},"pid":{},"tid":{})", arrow_names[direction],
          index(sender), stage, compute_thread);
    put_start(span.start);
    put("}}");
  }
  if (graph_.receiver(id)) {
    event(R"({{"ph":"s","cat":"transfer","name":"{}","id":{},"pid":{},"tid":{})", arrow_names[direction], index(id),
          stage, compute_thread);
    put_start(std::max(span.start, span.end - Duration{1}));
    put("}}");
  }
}

/// Distributes the transfers over as few threads as possible without overlaps.
void TraceWriter::transfers(std::size_t stage, std::size_t direction) {
  using Lane = std::pair<SimTime, std::size_t>; // when it is free again, and its number
  std::priority_queue<Lane, std::vector<Lane>, std::greater<>> lanes;
  for (const TaskId sender : arriving_[stage][direction]) {
    const Span& span = timeline_.transfers[index(sender)];
    std::size_t lane = lanes.size();
    if (!lanes.empty() && lanes.top().first <= span.start) {
      lane = lanes.top().second;
      lanes.pop();
    } else {
      const std::string number = lane == 0 ? "" : fmt::format(" {}", lane + 1);
      name_thread(stage, thread_of(lane, direction), fmt::format("{}{}", direction_names[direction], number),
                  thread_of(lane, direction));
    }
    lanes.emplace(span.end, lane);
    transfer(stage, direction, lane, sender);
  }
}

void TraceWriter::transfer(std::size_t stage, std::size_t direction, std::size_t lane, TaskId sender) {
  const Task& task = schedule_.task(sender);
  event(R"({{"ph":"X","cat":"transfer","name":"{}","pid":{},"tid":{})", to_string(task), stage,
        thread_of(lane, direction));
  put_span(timeline_.transfers[index(sender)]);
  put(R"(,"args":{{"from_stage":{},"to_stage":{},"chunk":{},"microbatch":{},"bytes":{})",
      index(schedule_.stage_of(sender)), stage, task.chunk_index, index(task.microbatch),
      graph_.transfer_bytes(sender).count());
  if (!timeline_.transfer_released_by.empty()) put_task("waited_for", timeline_.transfer_released_by[index(sender)]);
  put("}}}}");
}

/// The stage's optimizer step, and its reductions on separate threads, because they overlap the tasks.
void TraceWriter::update(std::size_t stage) {
  if (timeline_.optimizer.empty()) return;
  if (const Span& step = timeline_.optimizer[stage].span; step.length() > Duration{0}) {
    event(R"({{"ph":"X","cat":"optimizer","name":"optimizer","pid":{},"tid":{})", stage, compute_thread);
    put_span(step);
    put(R"(,"args":{{"stage":{}}}}})", stage);
  }
  std::array<bool, 2> named{};
  for (const Reduction& reduction : timeline_.reductions) {
    if (index(reduction.stage) != stage) continue;
    const std::size_t tied = reduction.tied ? 1 : 0;
    const std::size_t thread = reduction_thread + tied;
    if (!named[tied]) name_thread(stage, thread, tied == 1 ? "embedding reduction" : "reductions", thread);
    named[tied] = true;
    event(R"({{"ph":"X","cat":"reduction","name":"reduce {}","pid":{},"tid":{})", index(reduction.chunk), stage,
          thread);
    put_span(reduction.span);
    put(R"(,"args":{{"stage":{},"chunk":{},"tied_embedding":{}}}}})", stage, index(reduction.chunk), reduction.tied);
  }
}

void TraceWriter::counters(std::size_t stage) {
  const std::vector<MemoryPoint> points = memory_over_time(graph_, timeline_, make_id<StageId>(stage));
  const bool has_bytes = std::ranges::any_of(points, [](const MemoryPoint& point) { return point.bytes != Bytes{}; });
  for (const MemoryPoint& point : points) {
    event(R"({{"ph":"C","name":"live activations","pid":{})", stage);
    put_start(point.at);
    put(R"(,"args":{{"count":{}}}}})", point.live);
    if (!has_bytes) continue;
    event(R"({{"ph":"C","name":"memory","pid":{})", stage);
    put_start(point.at);
    put(R"(,"args":{{"bytes":{}}}}})", point.bytes.count());
  }
}

} // namespace

std::string chrome_trace(const TaskGraph& graph, const Timeline& timeline, const RunReport& report) {
  return TraceWriter{graph, timeline, report}.write();
}

} // namespace ppsim::traces
