// One file of the PyTorch profiler: {"distributedInfo": {...}, "traceEvents": [...], ...}. Keys come in any order;
// events are read window by window, and most of them are only counted.

#include "kineto_trace.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "imports/gunzip.hpp"
#include "json_windows.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

namespace ondemand = simdjson::ondemand;

/// The latest time, and the longest duration, in a file, so that sums of both and a base time do not overflow.
constexpr std::int64_t latest = 4'000'000'000'000'000'000;
constexpr std::int64_t longest = 1'000'000'000'000'000'000;

/// The token of a value: without white space, and without quotes if it is a string.
std::string_view bare(std::string_view token) {
  while (!token.empty() && std::string_view{" \t\r\n"}.find(token.back()) != std::string_view::npos)
    token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') return token.substr(1, token.size() - 2);
  return token;
}

std::uint64_t number_or_zero(std::string_view token) {
  return number_of<std::uint64_t>(token).value_or(0);
}

/// "stream 7" and "7" are 7.
std::uint64_t first_number(std::string_view token) {
  const std::size_t begin = std::min(token.find_first_of("0123456789"), token.size());
  std::uint64_t number = 0;
  std::from_chars(token.data() + begin, token.data() + token.size(), number);
  return number;
}

enum class Category { other, annotation, gpu_annotation, launch, kernel, copy, memory };

Category category_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Category>, 12> known{{
      {"user_annotation", Category::annotation},
      {"gpu_user_annotation", Category::gpu_annotation},
      {"kernel", Category::kernel},
      {"cuda_runtime", Category::launch},
      {"cuda_driver", Category::launch},
      {"gpu_memcpy", Category::copy},
      {"gpu_memset", Category::copy},
      {"cpu_instant_event", Category::memory},
      {"Kernel", Category::kernel}, // releases before 1.12 wrote these
      {"Runtime", Category::launch},
      {"Memcpy", Category::copy},
      {"Memset", Category::copy},
  }};
  for (const auto& [text, category] : known)
    if (text == name) return category;
  return Category::other;
}

/// One event, as text in the window.
struct Event {
  std::string_view phase, category, name, start, duration, thread;
  std::string_view external_id, correlation, stream, collective, allocated, device;
};

/// A key of an event, with the destination of its value.
struct Field {
  std::string_view key; ///< with its closing quote
  std::string_view Event::*value;
};
constexpr std::array fields{Field{"ph\"", &Event::phase},   Field{"cat\"", &Event::category},
                            Field{"name\"", &Event::name},  Field{"ts\"", &Event::start},
                            Field{"tid\"", &Event::thread}, Field{"dur\"", &Event::duration}};
constexpr std::array arguments{
    Field{"External id\"", &Event::external_id},    Field{"external id\"", &Event::external_id},
    Field{"correlation\"", &Event::correlation},    Field{"stream\"", &Event::stream},
    Field{"Collective name\"", &Event::collective}, Field{"Total Allocated\"", &Event::allocated},
    Field{"Device Type\"", &Event::device}};

/// The field of a key, whose text includes its closing quote; null for unknown keys.
template <std::size_t count>
const Field* find_field(const std::array<Field, count>& known, const char* key) {
  for (const Field& field : known)
    if (key[0] == field.key[0] && std::string_view{key, field.key.size()} == field.key) return &field;
  return nullptr;
}

constexpr std::string_view gloo_receive = "gloo:recv";
constexpr std::string_view gloo_send = "gloo:send";

bool is_marked(std::string_view name) {
  return name.starts_with("PP:") || name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.step#") ||
         name == gloo_receive || name == gloo_send;
}

/// Whether only the category of an event matters, as far as it was read. Annotations had other categories in old
/// releases.
bool is_idle(const Event& event) {
  return !event.category.empty() && !event.name.empty() && category_of(event.category) == Category::other &&
         !is_marked(event.name);
}

class TraceReader final : public ObjectSink {
public:
  explicit TraceReader(KinetoTrace& trace) : trace_{trace} {}

  simdjson::error_code look(ondemand::object& object) override {
    event_ = {};
    for (auto field : object) {
      ondemand::raw_json_string key;
      if (const auto error = field.key().get(key); error != simdjson::SUCCESS) return error;
      if (key.raw()[0] == 'a' && std::string_view{key.raw(), 5} == "args\"") {
        if (is_idle(event_)) return simdjson::SUCCESS; // its other fields do not matter
        if (const auto error = look_at_arguments(field.value()); error != simdjson::SUCCESS) return error;
        continue;
      }
      const Field* const known = find_field(fields, key.raw());
      if (known == nullptr) continue;
      ondemand::value value;
      if (const auto error = field.value().get(value); error != simdjson::SUCCESS) return error;
      event_.*known->value = bare(value.raw_json_token());
    }
    return simdjson::SUCCESS;
  }

  void take() override {
    const Category category = category_of(event_.category);
    if (event_.name.starts_with("Forward ")) trace_.single_schedule = true;
    if (category == Category::memory) return take_memory();
    if (event_.phase != "X" || (category == Category::other && !is_marked(event_.name))) return count();
    const std::optional<std::int64_t> start = microseconds(event_.start);
    const std::optional<std::int64_t> length = event_.duration.empty() ? 0 : microseconds(event_.duration);
    if (!start || !length || *length > longest) return drop("events whose time is not a number, or out of range");
    trace_.whole_microseconds = trace_.whole_microseconds && *start % 1000 == 0;
    take_timed(category, {*start, *start + *length});
  }

  /// Moves the counts into the trace.
  void finish() {
    for (const auto& [category, count] : counts_)
      trace_.dropped[category.empty() ? std::string{"events without a category (not used)"}
                                      : fmt::format("events of category {} (not used)", in_quotes(category))] += count;
  }

private:
  simdjson::error_code look_at_arguments(simdjson::simdjson_result<ondemand::value> found) {
    ondemand::value value;
    if (const auto error = found.get(value); error != simdjson::SUCCESS) return error;
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return simdjson::SUCCESS; // not an object: none that count
    for (auto field : object) {
      ondemand::raw_json_string key;
      if (const auto error = field.key().get(key); error != simdjson::SUCCESS) return error;
      const Field* const known = find_field(arguments, key.raw());
      if (known == nullptr) continue;
      ondemand::value argument;
      if (const auto error = field.value().get(argument); error != simdjson::SUCCESS) return error;
      event_.*known->value = bare(argument.raw_json_token());
    }
    return simdjson::SUCCESS;
  }

  void drop(const char* reason) { ++trace_.dropped[reason]; }

  /// Counts an event of an unread category. Neighbours often have the same one.
  void count() {
    constexpr std::size_t most_categories = 40;
    if (last_ >= counts_.size() || counts_[last_].first != event_.category) {
      const auto found = std::ranges::find(counts_, event_.category, &std::pair<std::string, std::size_t>::first);
      last_ = static_cast<std::size_t>(found - counts_.begin());
      if (found == counts_.end()) {
        if (counts_.size() == most_categories) return drop("events of still other categories");
        counts_.emplace_back(event_.category, 0);
      }
    }
    ++counts_[last_].second;
  }

  void take_memory() {
    const std::optional<std::int64_t> bytes = number_of<std::int64_t>(event_.allocated);
    const bool on_host = event_.device == "0";
    if (!bytes || on_host) return count();
    trace_.peak_bytes = std::max(trace_.peak_bytes, *bytes);
  }

  void take_timed(Category category, Stretch time) {
    switch (category) {
    case Category::launch:
      if (const std::uint64_t id = number_or_zero(event_.correlation); id != 0)
        trace_.launches.push_back({id, time.start});
      return;
    case Category::kernel:
    case Category::copy:
      return take_kernel(time);
    case Category::gpu_annotation:
      return take_gpu_annotation(time);
    default:
      return take_annotation(time);
    }
  }

  void take_kernel(Stretch time) {
    const KinetoKernel kernel{time, number_or_zero(event_.correlation), number_or_zero(event_.external_id),
                              first_number(event_.stream.empty() ? event_.thread : event_.stream)};
    if (!event_.name.starts_with("nccl")) return trace_.kernels.push_back(kernel);
    // ncclKernel_SendRecv_RING_... of releases before 2.19, ncclDevKernel_SendRecv of those after
    if (event_.name.find("SendRecv") == std::string_view::npos) return drop("NCCL kernels of collectives");
    const std::string_view collective = event_.collective;
    const bool is_transfer = collective.empty() || collective.find("send") != std::string_view::npos ||
                             collective.find("recv") != std::string_view::npos || collective == "coalesced";
    if (!is_transfer) return drop("NCCL kernels named SendRecv of collectives (all-to-all)");
    trace_.send_recvs.push_back(kernel);
  }

  /// The action that the event's name denotes; none for other annotations.
  [[nodiscard]] std::optional<PpAction> action() const {
    if (event_.name.starts_with("PP:")) return parse_pp_action(event_.name.substr(3));
    if (event_.name.starts_with("Optimizer.step#")) return PpAction{PpAction::Kind::optimizer, {}};
    return std::nullopt;
  }

  void take_gpu_annotation(Stretch time) {
    const std::optional<PpAction> found = action();
    if (!found) return count();
    // Kineto draws them one nanosecond longer at both ends than the kernels inside.
    if (time.end - time.start >= 2) time = {time.start + 1, time.end - 1};
    trace_.gpu_annotations.push_back({*found, time, number_or_zero(event_.external_id), first_number(event_.thread)});
  }

  void take_annotation(Stretch time) {
    constexpr std::string_view step = "ProfilerStep#";
    if (event_.name.starts_with(step)) {
      const std::optional<std::int64_t> number = number_of<std::int64_t>(event_.name.substr(step.size()));
      constexpr std::int64_t most_steps = std::int64_t{1} << 40U;
      if (!number || *number < 0 || *number > most_steps) return drop("ProfilerStep annotations without a number");
      return trace_.steps.push_back({*number, time});
    }
    if (event_.name == gloo_receive) return trace_.gloo_receives.push_back(time);
    if (event_.name == gloo_send) return drop("sends of gloo, which are recorded until the step waits for them");
    const std::optional<PpAction> found = action();
    if (!found) return event_.name.starts_with("PP:") ? drop(unknown_action) : count();
    if (found->kind == PpAction::Kind::shard) return drop("UNSHARD and RESHARD actions");
    trace_.annotations.push_back({*found, time, number_or_zero(event_.external_id)});
  }

  KinetoTrace& trace_;
  Event event_;
  std::vector<std::pair<std::string, std::size_t>> counts_;
  std::size_t last_ = 0;
};

/// Reads the file around its events.
class FileReader {
public:
  FileReader(TextSource& text, KinetoTrace& trace, const std::function<void(double)>& progress)
      : text_{text}, trace_{trace}, progress_{progress} {}

  void read() {
    const std::size_t at = skip_space(text_, text_.from(0, 3).starts_with("\xEF\xBB\xBF") ? 3 : 0);
    if (text_.is_at(at, '[')) {
      read_events(at);
    } else if (text_.is_at(at, '{')) {
      read_keys(at + 1);
    } else {
      refuse(at, "a profile starts with { or [");
    }
    if (!has_events_) refuse(at, "the key 'traceEvents' is missing");
    add_base();
    if (!rank_) rank_ = rank_of_name();
    if (!rank_)
      throw Error{ExitCode::bad_input,
                  {trace_.name, "neither distributedInfo.rank nor a number in the file's name says which rank it is of",
                   "name the files rank0.json, rank1.json and so on"}};
    trace_.rank = *rank_;
  }

private:
  [[noreturn]] void refuse(std::size_t at, std::string what) const {
    throw Error{ExitCode::bad_input,
                {fmt::format("{}, byte {}", trace_.name, at + 1), std::move(what), std::string{how_to_profile}}};
  }

  void read_keys(std::size_t at) {
    while (true) {
      at = skip_space(text_, at);
      if (text_.is_at(at, '}')) return;
      const std::optional<std::string_view> quoted = text_.is_at(at, '"') ? value_at(text_, at) : std::nullopt;
      if (!quoted) refuse(at, "a key or } is missing: this is not JSON, or it was cut off");
      const std::string key{bare(*quoted)};
      at = skip_space(text_, at + quoted->size());
      if (!text_.is_at(at, ':')) refuse(at, "a colon is missing after a key");
      at = skip_space(text_, at + 1);
      at = read_value(key, at);
      at = skip_space(text_, at);
      if (text_.is_at(at, ','))
        ++at;
      else if (!text_.is_at(at, '}'))
        refuse(at, "a comma or } is missing: this is not JSON, or it was cut off");
    }
  }

  /// Reads the value at `at`; returns the position after it.
  std::size_t read_value(std::string_view key, std::size_t at) {
    if (key == "traceEvents") {
      if (!text_.is_at(at, '[')) refuse(at, "'traceEvents' is not a list");
      return read_events(at);
    }
    const std::optional<std::string_view> found = value_at(text_, at);
    if (!found) refuse(at, fmt::format("the value of {} has no end", in_quotes(key)));
    const std::string_view value = *found;
    if (key == "distributedInfo") read_distributed(value, at);
    if (key == "deviceProperties") read_devices(value);
    if (key == "baseTimeNanoseconds") {
      base_ = number_of<std::int64_t>(bare(value)).value_or(-1);
      if (base_ < 0 || base_ > latest)
        refuse(at, fmt::format("'baseTimeNanoseconds' is {}, not a time", in_quotes(value)));
    }
    return at + value.size();
  }

  std::size_t read_events(std::size_t at) {
    if (has_events_) refuse(at, "the key 'traceEvents' occurs twice");
    has_events_ = true;
    TraceReader reader{trace_};
    const std::size_t end = for_each_object(text_, at, trace_.name, reader, progress_);
    reader.finish();
    return end;
  }

  void read_distributed(std::string_view value, std::size_t at) {
    simdjson::dom::parser parser;
    simdjson::dom::element info;
    if (parser.parse(value.data(), value.size()).get(info) != simdjson::SUCCESS)
      refuse(at, "'distributedInfo' is not JSON");
    std::int64_t rank = 0;
    if (info["rank"].get(rank) == simdjson::SUCCESS) {
      if (rank < 0) refuse(at, fmt::format("distributedInfo.rank is {}", rank));
      rank_ = rank;
    }
    if (std::int64_t size = 0; info["world_size"].get(size) == simdjson::SUCCESS) trace_.world_size = size;
    simdjson::dom::array groups;
    if (info["pg_config"].get(groups) != simdjson::SUCCESS) return;
    for (const simdjson::dom::element group : groups) {
      std::string_view description;
      simdjson::dom::array ranks;
      if (group["pg_desc"].get(description) != simdjson::SUCCESS || group["ranks"].get(ranks) != simdjson::SUCCESS)
        continue;
      KinetoGroup found{std::string{description}, {}};
      for (const simdjson::dom::element member : ranks)
        if (std::int64_t number = 0; member.get(number) == simdjson::SUCCESS) found.ranks.push_back(number);
      trace_.groups.push_back(std::move(found));
    }
  }

  void read_devices(std::string_view value) {
    simdjson::dom::parser parser;
    simdjson::dom::element devices;
    std::string_view name;
    if (parser.parse(value.data(), value.size()).get(devices) == simdjson::SUCCESS &&
        devices.at_pointer("/0/name").get(name) == simdjson::SUCCESS)
      trace_.device = name.substr(0, 100);
  }

  void add_base() {
    const auto move = [this](Stretch& time) { time = {time.start + base_, time.end + base_}; };
    for (KinetoAnnotation& annotation : trace_.annotations) move(annotation.time);
    for (KinetoGpuAnnotation& annotation : trace_.gpu_annotations) move(annotation.time);
    for (KinetoLaunch& launch : trace_.launches) launch.time += base_;
    for (KinetoKernel& kernel : trace_.kernels) move(kernel.time);
    for (KinetoKernel& kernel : trace_.send_recvs) move(kernel.time);
    for (KinetoStep& step : trace_.steps) move(step.time);
    for (Stretch& receive : trace_.gloo_receives) move(receive);
  }

  /// The first number of the file name after "rank", otherwise the first number.
  [[nodiscard]] std::optional<std::int64_t> rank_of_name() const {
    std::string_view name{trace_.name};
    name.remove_prefix(name.find_last_of("/\\") + 1); // npos + 1 is 0
    const std::size_t word = std::min(name.find("rank"), name.size());
    std::size_t begin = name.find_first_of("0123456789", word);
    if (begin == std::string_view::npos) begin = name.find_first_of("0123456789");
    if (begin == std::string_view::npos) return std::nullopt;
    std::size_t end = begin;
    while (end < name.size() && is_digit(name[end])) ++end;
    return number_of<std::int64_t>(name.substr(begin, end - begin));
  }

  TextSource& text_;
  KinetoTrace& trace_;
  const std::function<void(double)>& progress_;
  std::optional<std::int64_t> rank_;
  std::int64_t base_ = 0;
  bool has_events_ = false;
};

/// Numbers that some programs write with an exponent: a double is sufficient.
std::optional<std::int64_t> rounded_microseconds(std::string_view text) {
  const std::optional<double> value = decimal_of(text);
  constexpr double ns_per_us = 1000;
  const bool in_range = value && *value >= 0 && *value <= static_cast<double>(latest) / ns_per_us;
  return in_range ? std::optional{std::llround(*value * ns_per_us)} : std::nullopt;
}

} // namespace

std::optional<std::int64_t> microseconds(std::string_view text) {
  constexpr std::int64_t most_whole = latest / 1000;
  constexpr std::size_t decimals = 3;
  std::int64_t whole = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    whole = whole * 10 + (text[at] - '0');
    if (whole > most_whole) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  std::int64_t nanoseconds = whole * 1000;
  if (at < text.size() && text[at] == '.') {
    std::int64_t weight = 100;
    const std::size_t point = at++;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      const std::size_t place = at - point;
      if (place <= decimals)
        nanoseconds += weight * (text[at] - '0');
      else if (place == decimals + 1 && text[at] >= '5')
        ++nanoseconds;
      weight /= 10;
    }
    if (at == point + 1) return std::nullopt;
  }
  return at == text.size() ? std::optional{nanoseconds} : rounded_microseconds(text);
}

KinetoTrace read_kineto_trace(const ImportFile& file, const std::function<void(double)>& progress) {
  KinetoTrace trace;
  trace.name = file.name;
  TextSource text{file, most_unpacked_profile};
  FileReader{text, trace, progress}.read();
  return trace;
}

} // namespace ppsim::traces
