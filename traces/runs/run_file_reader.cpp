// Reads run files without trusting them: types, counts and ranges are checked here, and times by check_run().

#include "ppsim/base/error.hpp"
#include "ppsim/traces/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "json/parsed_json.hpp"
#include "schedules/formats.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces {
using Json = nlohmann::ordered_json; // settings of a workload stay in their order

namespace {

constexpr std::string_view not_a_run =
    "'ppsim replay -o FILE' and 'ppsim import FORMAT FILES --timeline FILE' write run files (docs/run-files.md)";
constexpr std::string_view in_range = "give times as whole nanoseconds and sizes as bytes";

std::string_view kind_of(const Json& value) {
  return value.type_name();
}

class RunReader {
public:
  RunReader(std::string_view text, std::string_view where)
      : where_{where}, file_(parsed_json(text, where, not_a_run, in_range)) {} // braces would make a list of it

  MeasuredRun read() {
    check_head();
    MeasuredRun run;
    run.schedule = read_order();
    read_facts(run.facts);
    run.unaligned = flag(file_, "unaligned", "the file");
    if (const Json& error = at(file_, "clock_error_ns", "the file"); !error.is_null())
      run.clock_error = Duration{integer(error, [] { return std::string{"clock_error_ns"}; })};
    read_stages(run);
    read_proof(run);
    const Json& steps = array(file_, "steps", "the file");
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const std::string place = fmt::format("step {}", step);
      run.steps.push_back(read_step(run.schedule, steps[step], place));
      run.unrecorded.push_back(read_unrecorded(run.schedule, steps[step], place));
    }
    if (unrecorded_transfers(run) == 0) run.unrecorded.clear();
    problems_.throw_if_any();
    check_run(run, where_);
    return run;
  }

private:
  template <class Found>
  void fault(const Found& what_and_where, std::string_view hint) {
    add_within_limit(problems_, [&] {
      const auto [place, what] = what_and_where();
      return Problem{fmt::format("{}: {}", where_, place), what, std::string{hint}};
    });
  }
  void fault(std::string_view place, std::string_view what, std::string_view hint) {
    fault([&] { return std::pair{std::string{place}, std::string{what}}; }, hint);
  }

  /// The value of a key; null, with a fault, if it is missing.
  const Json& at(const Json& object, const char* key, std::string_view place) {
    static const Json nothing;
    if (object.is_object())
      if (const auto found = object.find(key); found != object.end()) return *found;
    fault(place,
          object.is_object() ? fmt::format("the key '{}' is missing", key)
                             : fmt::format("it is {}, not an object", kind_of(object)),
          not_a_run);
    return nothing;
  }

  const Json& array(const Json& object, const char* key, std::string_view place) {
    static const Json none = Json::array();
    const Json& value = at(object, key, place);
    if (value.is_array()) return value;
    if (!value.is_null()) fault(place, fmt::format("'{}' is {}, not a list", key, kind_of(value)), "write a list");
    return none;
  }

  template <class Place>
  std::int64_t integer(const Json& value, const Place& place) {
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (fits) return value.get<std::int64_t>();
    fault(
        [&] {
          return std::pair{std::string{place()}, fmt::format("{} is not a whole number", in_quotes(text_of(value)))};
        },
        "write whole nanoseconds, bytes or counts");
    return 0;
  }
  std::int64_t integer(const Json& object, const char* key, std::string_view place) {
    return integer(at(object, key, place), [&] { return fmt::format("{}, {}", place, key); });
  }
  /// A count or an index.
  std::size_t count(const Json& object, const char* key, std::string_view place) {
    const std::int64_t value = integer(object, key, place);
    if (value >= 0 && value <= std::int64_t{0xFFFFFFFE}) return static_cast<std::size_t>(value);
    fault(fmt::format("{}, {}", place, key), fmt::format("{} is out of range", value), "count from 0");
    return 0;
  }

  static std::string text_of(const Json& value) {
    return value.is_structured() ? std::string{kind_of(value)}
                                 : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  bool flag(const Json& object, const char* key, std::string_view place) {
    const Json& value = at(object, key, place);
    if (value.is_boolean()) return value.get<bool>();
    fault(fmt::format("{}, {}", place, key), fmt::format("{} is neither true nor false", in_quotes(text_of(value))),
          "write true or false");
    return false;
  }

  /// A text for terminals.
  std::string words(const Json& object, const char* key, std::string_view place) {
    return words(at(object, key, place), fmt::format("{}, {}", place, key));
  }
  std::string words(const Json& value, std::string_view place) {
    if (value.is_string()) return shown(value.get_ref<const std::string&>(), place);
    fault(place, fmt::format("{} is not a string", in_quotes(text_of(value))), "write a string");
    return {};
  }
  std::string shown(const std::string& text, std::string_view place) {
    const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; };
    if (text.size() <= longest_fact && std::ranges::none_of(text, is_control)) return text;
    fault(place, fmt::format("{} cannot be shown", in_quotes(text)),
          fmt::format("write one line of at most {} bytes, without control characters", longest_fact));
    return {};
  }

  /// A number; null is NaN.
  double real(const Json& value, std::string_view place) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_null())
      fault(place, fmt::format("{} is not a number", in_quotes(text_of(value))),
            "write a number, or null if there is none");
    return std::numeric_limits<double>::quiet_NaN();
  }

  /// An error or a tolerance.
  double error(double value, std::string_view place) {
    if (value < 0) fault(place, fmt::format("{} is below 0", value), "write the size of the error");
    return value;
  }

  void check_head() {
    if (!file_.is_object())
      throw Error{
          ExitCode::bad_input,
          {std::string{where_}, fmt::format("it is {}, not an object", kind_of(file_)), std::string{not_a_run}}};
    const Json& kind = at(file_, "kind", "the file");
    if (file_.contains("kind") && kind != "run")
      fault("kind", fmt::format("it is {}, not \"run\"", in_quotes(text_of(kind))), not_a_run);
    const Json& schema = at(file_, "schema", "the file");
    if (file_.contains("schema") && schema != 1)
      fault("schema", fmt::format("it is {}, but this ppsim reads schema 1", in_quotes(text_of(schema))),
            "use the ppsim that wrote it, or a newer one");
    problems_.throw_if_any();
  }

  Schedule read_order() {
    const Json& rows = array(file_, "order", "the file");
    const bool forward_only = flag(file_, "forward_only", "the file");
    const bool asynchronous = flag(file_, "asynchronous", "the file");
    const std::string name = words(file_, "schedule", "the file");
    std::string csv;
    for (std::size_t stage = 0; stage < rows.size(); ++stage) {
      const bool is_row = rows[stage].is_string() &&
                          rows[stage].get_ref<const std::string&>().find_first_of("\r\n") == std::string::npos;
      if (is_row)
        csv += rows[stage].get_ref<const std::string&>() + '\n';
      else
        fault("order", fmt::format("the row of stage {} is not a line of text", stage),
              "write a string of cells per stage, such as \"0F0,0B0\"");
    }
    problems_.throw_if_any();
    const Schedule plain = read_pytorch_csv(csv, fmt::format("{}: order", where_), forward_only).schedule;
    check_shape(plain.shape());
    const std::vector<std::uint32_t> warmup = read_warmup(plain);
    problems_.throw_if_any();
    const Schedule schedule{name,   plain.shape(), {plain.tasks().begin(), plain.tasks().end()}, plain.offsets(),
                            warmup, asynchronous};
    return forward_only ? schedule.forwards() : schedule;
  }

  void check_shape(const Shape& found) {
    const Json& json = at(file_, "shape", "the file");
    const Shape said{.stages = count(json, "stages", "shape"),
                     .microbatches = count(json, "microbatches", "shape"),
                     .vpp = count(json, "vpp", "shape"),
                     .shared = count(json, "shared", "shape")};
    const auto in_words = [](const Shape& shape) {
      return fmt::format("{} stages ({} shared), {} microbatches, vpp {}", shape.stages, shape.shared,
                         shape.microbatches, shape.vpp);
    };
    if (!(said == found))
      fault("shape", fmt::format("it says {}, but the order has {}", in_words(said), in_words(found)),
            "write the shape of the order");
  }

  std::vector<std::uint32_t> read_warmup(const Schedule& schedule) {
    std::vector<std::uint32_t> warmup;
    if (!file_.contains("warmup_forwards")) return warmup;
    const Json& list = array(file_, "warmup_forwards", "the file");
    if (list.size() != schedule.shape().stages) {
      fault("warmup_forwards", fmt::format("it has {} numbers", list.size()), "write one per stage, or leave it out");
      return warmup;
    }
    for (std::size_t stage = 0; stage < list.size(); ++stage) {
      const std::int64_t forwards = integer(list[stage], [] { return std::string{"warmup_forwards"}; });
      const std::int64_t all = std::ranges::count(schedule.stage(make_id<StageId>(stage)), Pass::forward, &Task::pass);
      if (forwards < 0 || forwards > all)
        fault("warmup_forwards", fmt::format("stage {} has {} of {} forwards", stage, forwards, all),
              "count the forwards before the first pair");
      warmup.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(forwards, 0, all)));
    }
    return warmup;
  }

  void read_facts(RunFacts& facts) {
    const Json& json = at(file_, "facts", "the file");
    if (json.is_null()) return;
    facts.backend = words(json, "backend", "facts");
    facts.compute = words(json, "compute", "facts");
    facts.transport = words(json, "transport", "facts");
    facts.machine = words(json, "machine", "facts");
    facts.command = words(json, "command", "facts");
    facts.timed = flag(json, "timed", "facts");
    if (json.contains("workload")) read_workload(json["workload"], facts);
  }

  void read_workload(const Json& json, RunFacts& facts) {
    constexpr std::string_view place = "facts, workload";
    if (!json.is_object()) return fault(place, fmt::format("it is {}, not an object", kind_of(json)), not_a_run);
    for (const auto& [setting, value] : json.items())
      facts.workload.emplace_back(shown(setting, place),
                                  words(value, fmt::format("{}, {}", place, in_quotes(setting))));
  }

  void read_stages(MeasuredRun& run) {
    const Json& list = array(file_, "stages", "the file");
    if (list.size() > Limits::stages)
      return fault("stages", fmt::format("{} are listed", list.size()), "list each once");
    for (std::size_t stage = 0; stage < list.size(); ++stage) {
      const std::string place = fmt::format("stages, stage {}", stage);
      MeasuredStage& found = run.stages.emplace_back();
      found.static_bytes = Bytes{integer(list[stage], "static_bytes", place)};
      found.peak_bytes = Bytes{integer(list[stage], "peak_bytes", place)};
      found.buffer_bytes = Bytes{integer(list[stage], "buffer_bytes", place)};
      found.busy = Duration{integer(list[stage], "busy_ns", place)};
      const Json& cpu = at(list[stage], "cpu_ns", place);
      if (!cpu.is_null()) found.cpu = Duration{integer(cpu, [&] { return place + ", cpu_ns"; })};
    }
  }

  void read_proof(MeasuredRun& run) {
    const Json& json = at(file_, "proof", "the file");
    if (json.is_null()) return;
    Proof& proof = run.proof.emplace();
    proof.same_order = flag(json, "same_order", "proof");
    proof.bit_equal = flag(json, "bit_equal", "proof");
    const auto size = [&](const char* key) {
      const std::string place = fmt::format("proof, {}", key);
      return error(real(at(json, key, "proof"), place), place);
    };
    proof.gradient_error = size("gradient_error");
    proof.loss_error = size("loss_error");
    proof.tolerance = size("tolerance");
    if (json.is_object() && json.contains("tolerance") && json["tolerance"].is_null())
      fault("proof, tolerance", "it is null, not a number", "write how far results may be off");
    for (const Json& loss : array(json, "losses", "proof")) proof.losses.push_back(real(loss, "proof, losses"));
  }

  static SimTime time(std::int64_t nanoseconds) { return SimTime{Duration{nanoseconds}}; }

  Timeline read_step(const Schedule& schedule, const Json& json, const std::string& place) {
    Timeline timeline;
    timeline.tasks.resize(schedule.size());
    timeline.transfers.resize(schedule.size());
    read_rows(schedule, json, "start_ns", place, [&](std::size_t id, SimTime at) { timeline.tasks[id].start = at; });
    read_rows(schedule, json, "end_ns", place, [&](std::size_t id, SimTime at) { timeline.tasks[id].end = at; });
    read_rows(schedule, json, "transfer_start_ns", place,
              [&](std::size_t id, SimTime at) { timeline.transfers[id].start = at; });
    read_rows(schedule, json, "transfer_end_ns", place,
              [&](std::size_t id, SimTime at) { timeline.transfers[id].end = at; });
    for (const Json& step : array(json, "optimizer", place))
      timeline.optimizer.push_back({read_span(step, place + ", optimizer"), {}});
    for (const Json& found : array(json, "reductions", place)) {
      const std::string name = place + ", reductions";
      timeline.reductions.push_back({.stage = make_id<StageId>(count(found, "stage", name)),
                                     .chunk = make_id<ChunkId>(count(found, "chunk", name)),
                                     .tied = flag(found, "tied_embedding", name),
                                     .span = read_span(found, name),
                                     .released_by = {}});
    }
    return timeline;
  }

  /// Older files, and those with all transfers, do not have it.
  std::vector<bool> read_unrecorded(const Schedule& schedule, const Json& json, const std::string& place) {
    std::vector<bool> unrecorded(schedule.size(), false);
    if (json.contains("transfer_recorded"))
      read_rows(schedule, json, "transfer_recorded", place,
                [&](std::size_t id, SimTime recorded) { unrecorded[id] = recorded == SimTime{}; });
    return unrecorded;
  }

  Span read_span(const Json& json, const std::string& place) {
    return {time(integer(json, "start_ns", place)), time(integer(json, "end_ns", place))};
  }

  /// A row of times per stage.
  template <class Set>
  void read_rows(const Schedule& schedule, const Json& json, const char* key, std::string_view place, Set set) {
    const Json& rows = array(json, key, place);
    const std::string name = fmt::format("{}, {}", place, key);
    if (rows.size() != schedule.shape().stages)
      return fault(name, fmt::format("it has {} rows", rows.size()), "write a row of times per stage");
    for (std::size_t stage = 0; stage < rows.size(); ++stage) {
      const std::size_t tasks = schedule.stage(make_id<StageId>(stage)).size();
      if (!rows[stage].is_array() || rows[stage].size() != tasks) {
        fault(name, fmt::format("the row of stage {} has {} times for {} tasks", stage, rows[stage].size(), tasks),
              "write a list with one time for each task of the order");
        continue;
      }
      const std::size_t first = index(schedule.first_task(make_id<StageId>(stage)));
      for (std::size_t i = 0; i < tasks; ++i)
        set(first + i,
            time(integer(rows[stage][i], [&] { return fmt::format("{}, stage {}, time {}", name, stage, i); })));
    }
  }

  std::string_view where_;
  Json file_;
  Problems problems_;
};

} // namespace

MeasuredRun read_run(std::string_view text, std::string_view where) {
  return RunReader{text, where}.read();
}

} // namespace ppsim::traces
