// nccl-tests, sendrecv_perf: latency and bandwidth of a link. What it prints, and what it writes with -J FILE
// (src/util.cu of nccl-tests); a line of its table is, for example,
//
// clang-format off
//   #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
//           4096          1024     float     sum      -1    30.74    0.13    0.13       0    30.69    0.13    0.13     N/A
// clang-format on
//
// once out of place, once in place, in microseconds. Versions differ in columns (no root, "error" for "#wrong", minimum
// and others with -I, a timestamp), so the heading says where the times are.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/measured/link_fit.hpp"
#include "ppsim/traces/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "imports/gunzip.hpp"
#include "imports/import_list.hpp"
#include "schedules/formats.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces::nccl_tests {
namespace {

using Json = nlohmann::json;

constexpr std::string_view how_to = "give what 'sendrecv_perf -b 8 -e 1G -f 2' prints, or its -J file";
constexpr std::int64_t most_sent = std::int64_t{1} << 50;
constexpr std::size_t deepest = 16; ///< far more than a file of nccl-tests is nested

constexpr std::string_view no_bytes = "measurements that send nothing";
constexpr std::string_view no_time = "measurements without a time that can be";
constexpr std::string_view wrong = "measurements with wrong results";
constexpr std::string_view processor = "measurements of processor time (-C)";
constexpr std::string_view other_lines = "lines that are no results";

/// What one file says.
struct Measured {
  std::string program;         ///< "sendrecv_perf"; empty: not said
  std::size_t ranks = 0;       ///< 0: not said
  std::set<std::string> nodes; ///< by name
  std::vector<LinkSample> samples;
  std::map<std::string, std::size_t> dropped;
  bool medians = false;  ///< some are of -I: medians of iterations
  bool minimums = false; ///< likewise: minimums

  void drop(std::string_view why) { ++dropped[std::string{why}]; }
  /// One time, in microseconds.
  void add(double bytes, double microseconds) {
    const bool is_size = bytes >= 1 && bytes <= static_cast<double>(most_sent); // no number is none
    if (!is_size) return drop(no_bytes);
    constexpr double longest = std::chrono::duration<double, std::micro>{max_duration}.count();
    constexpr double ns_per_us = 1000;
    const bool is_time = microseconds > 0 && microseconds <= longest;
    if (!is_time) return drop(no_time);
    samples.push_back({Bytes{static_cast<std::int64_t>(bytes)}, Duration{std::llround(microseconds * ns_per_us)}});
  }
};

std::optional<double> number(std::string_view text) {
  const std::optional<double> value = number_of<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

/// What is printed.
class TableReader {
public:
  Measured read(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = without_launcher(take_line(text));
      split(line, words_);
      if (words_.empty()) continue;
      if (line.starts_with('#'))
        comment();
      else if (!times_.empty() && number(words_.front()) && words_.size() > type)
        row();
      else
        measured_.drop(other_lines);
    }
    return std::move(measured_);
  }

private:
  static constexpr std::size_t type = 2;          ///< the columns size, count and type are always there
  static constexpr std::size_t most_columns = 64; ///< far more than a table of nccl-tests has

  /// mpirun and srun put the rank before what a process prints: "[1,0]<stdout>:", "0: ".
  static std::string_view without_launcher(std::string_view line) {
    constexpr std::string_view mark = "]<stdout>:";
    if (const std::size_t at = line.find(mark); line.starts_with('[') && at != std::string_view::npos)
      return trimmed(line.substr(at + mark.size()));
    std::string_view rest = line;
    if (!take_digits(rest).empty() && rest.starts_with(": ")) return trimmed(rest.substr(1));
    return trimmed(line);
  }

  [[nodiscard]] std::string_view word(std::size_t at) const {
    return at < words_.size() ? words_[at] : std::string_view{};
  }

  void comment() {
    if (word(1) == "size" && word(2) == "count") return heading();
    if (word(1) == "Collective" && word(2) == "test" && word(3) == "starting:") measured_.program = file_of(word(4));
    if (word(1) != "Rank") return; // "#  Rank  0 Group  0 Pid 4711 on node1 device  0 [0000:07:00] NVIDIA ..."
    ++measured_.ranks;
    for (std::size_t at = 2; at + 2 < words_.size(); ++at)
      if (words_[at] == "on" && words_[at + 2] == "device") measured_.nodes.emplace(words_[at + 1]);
  }

  void heading() {
    columns_.clear();
    times_.clear();
    if (words_.size() > most_columns) return measured_.drop(other_lines); // and the rows below it likewise
    for (std::size_t at = 1; at < words_.size(); ++at) {
      if (words_[at] == "time" || words_[at] == "cputime") times_.push_back(columns_.size());
      columns_.emplace_back(words_[at]);
    }
  }

  [[nodiscard]] bool has(std::string_view column) const {
    return std::ranges::find(columns_, column) != columns_.end();
  }

  void row() {
    // What is not said of the operation is left blank, not marked: there is a word less in the line.
    std::size_t before = type + 1;
    if (has("redop") && !number(word(before))) ++before;
    if (has("root")) ++before;
    for (std::size_t i = 0; i < times_.size(); ++i)
      group(before + times_[i] - times_.front(), times_[i], i + 1 < times_.size() ? times_[i + 1] : columns_.size());
  }

  /// The columns from a time on, which stand at `at` in the line and from `first` in the heading, before `end`.
  void group(std::size_t at, std::size_t first, std::size_t end) {
    if (at >= words_.size()) return measured_.drop(no_time);
    if (columns_[first] == "cputime") return measured_.drop(processor);
    double time = number(words_[at]).value_or(-1);
    for (std::size_t column = first; column < end; ++column) {
      const std::optional<double> value = number(word(at + column - first));
      if ((columns_[column] == "#wrong" || columns_[column] == "error") && value.value_or(0) != 0)
        return measured_.drop(wrong);
      if (columns_[column] == "i_min" && value && time > 0) {
        time = *value;
        measured_.minimums = true;
      }
    }
    measured_.add(number(words_.front()).value_or(0), time);
  }

  std::vector<std::string_view> words_; ///< of the line at hand
  std::vector<std::string> columns_;
  std::vector<std::size_t> times_; ///< the columns that are times
  Measured measured_;
};

/// A file that -J wrote.
class JsonReader {
public:
  explicit JsonReader(std::string_view name) : name_{name} {}

  Measured read(std::string_view text) {
    const Json file = parse(text);
    if (!file.is_object()) refuse("this is no result of nccl-tests");
    if (const Json& arguments = at(file, "args");
        arguments.is_array() && !arguments.empty() && arguments[0].is_string())
      measured_.program = file_of(arguments[0].get_ref<const std::string&>());
    if (const Json& devices = at(at(file, "config"), "devices"); devices.is_array()) {
      measured_.ranks = devices.size();
      for (const Json& device : devices)
        if (const Json& node = at(device, "hostname"); node.is_string())
          measured_.nodes.insert(node.get<std::string>());
    }
    if (const Json& results = at(file, "results"); results.is_array())
      for (const Json& result : results) {
        const double bytes = value(result, "size").value_or(0);
        add(bytes, at(result, "out_of_place"), at(result, "out_of_place_per_iter"));
        add(bytes, at(result, "in_place"), at(result, "in_place_per_iter"));
      }
    return std::move(measured_);
  }

private:
  [[noreturn]] void refuse(std::string what) const {
    throw Error{ExitCode::bad_input, {std::string{name_}, std::move(what), std::string{how_to}}};
  }

  [[nodiscard]] Json parse(std::string_view text) const {
    std::size_t depth = 0;
    const auto check = [&](int, Json::parse_event_t event, Json&) {
      if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) ++depth;
      if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) --depth;
      if (depth > deepest) refuse(fmt::format("lists and objects are nested more than {} deep", deepest));
      return true;
    };
    try {
      return Json::parse(text.begin(), text.end(), check);
    } catch (const Json::exception&) {
      refuse("this is no JSON; was the test ended before it was done?");
    }
  }

  static const Json& at(const Json& object, const char* key) {
    static const Json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(key);
    return found == object.end() ? nothing : *found;
  }

  static std::optional<double> value(const Json& object, const char* key) {
    const Json& found = at(object, key);
    return found.is_number() ? std::optional{found.get<double>()} : std::nullopt;
  }

  void add(double bytes, const Json& times, const Json& iterations) {
    if (times.is_null() && iterations.is_null()) return;
    if (value(times, "nwrong").value_or(0) != 0) return measured_.drop(wrong);
    if (const auto median = value(iterations, "p50_us")) {
      measured_.medians = true;
      return measured_.add(bytes, *median);
    }
    if (const auto least = value(iterations, "min_us")) {
      measured_.minimums = true;
      return measured_.add(bytes, *least);
    }
    const std::optional<double> time = value(times, "time");
    if (!time && value(times, "cpu_time")) return measured_.drop(processor);
    measured_.add(bytes, time.value_or(-1));
  }

  std::string_view name_;
  Measured measured_;
};

Measured read_file(const ImportFile& file) {
  const PlainFile plain{file, most_unpacked_log}; // a real one has some kilobytes
  const std::string_view text = without_byte_order_mark(plain.bytes());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string_view::npos && text[begin] == '{';
  const auto refuse = [&](std::string what, std::string_view hint) {
    throw Error{ExitCode::bad_input, {file.name, std::move(what), std::string{hint}}};
  };
  if (is_json && text.size() > most_unpacked_log) // it is read as a whole, into several times its size
    refuse(fmt::format("has {} bytes of JSON, more than {}", text.size(), most_unpacked_log), how_to);
  Measured measured = is_json ? JsonReader{file.name}.read(text) : TableReader{}.read(text);
  if (!measured.program.empty() && measured.program.find("sendrecv") == std::string::npos)
    refuse(fmt::format("these are results of {}", in_quotes(measured.program)), how_to);
  if (measured.ranks == 1) refuse("there is one rank only, which sends to itself", "run it with two or more");
  if (measured.samples.empty()) refuse("holds no time of a send and receive", how_to);
  return measured;
}

/// What was measured over links of one kind.
struct Links {
  std::vector<LinkSample> samples;
  std::vector<std::string> files;
};

/// Of times of one size nothing says what of them is latency and what grows with size.
void require_sizes(const Links& links, std::string_view which) {
  const auto [least, most] = std::ranges::minmax(links.samples, {}, &LinkSample::bytes);
  if (least.bytes != most.bytes) return;
  throw Error{ExitCode::bad_input,
              {joined(links.files, ", "),
               fmt::format("all times of {} are of {}: what of them is latency, and what bandwidth, can not be told",
                           which, format_bytes(least.bytes)),
               "measure sizes from small to large: sendrecv_perf -b 8 -e 1G -f 2"}};
}

/// "measured 12 us, fitted 10 us": of the sample that the fit is farthest from.
std::string worst(const LinkFit& fit, std::span<const LinkSample> samples) {
  const auto fitted = [&](const LinkSample& sample) {
    return fit.latency + (fit.bandwidth ? fit.bandwidth->time_for(sample.bytes) : Duration{0});
  };
  const auto error = [&](const LinkSample& sample) {
    const auto time = static_cast<double>(std::max(sample.time.count(), std::int64_t{1}));
    return std::abs(static_cast<double>(fitted(sample).count()) - time) / time;
  };
  const LinkSample& farthest = *std::ranges::max_element(samples, {}, error);
  return fmt::format("{} took {}, fitted {}", format_bytes(farthest.bytes), format_duration(farthest.time),
                     format_duration(fitted(farthest)));
}

void add_costs(const Links& links, std::string_view prefix, std::string_view which, ScenarioDocument& costs) {
  require_sizes(links, which);
  const LinkFit fit = fit_link(links.samples);
  const auto [least, most] = std::ranges::minmax(links.samples, {}, &LinkSample::bytes);
  constexpr double percent = 100;
  costs.add_comment(fmt::format("{} of {}: latency + bytes / bandwidth, fitted to {} times of {} to {}", which,
                                joined(std::views::transform(links.files, file_of), ", "), links.samples.size(),
                                format_bytes(least.bytes), format_bytes(most.bytes)));
  costs.add_comment(
      fmt::format("the fit is off by {:.1f} % at most: {}", percent * fit.largest_residual, worst(fit, links.samples)));
  costs.add(fmt::format("{}latency", prefix), toml_time(fit.latency),
            "of a ring: every rank sends and receives at once, so links carry both directions");
  if (fit.bandwidth)
    costs.add(fmt::format("{}bandwidth", prefix), toml_string(format_closely(*fit.bandwidth)));
  else
    costs.add_comment("no bandwidth: times do not grow with size; measure larger ones");
}

// A list of independent lines.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
Imported read(std::span<const ImportFile> files, const ImportOptions& options) {
  Links inside;
  Links between; ///< nodes
  std::map<std::string, std::size_t> dropped;
  Imported imported;
  bool medians = false;
  bool minimums = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Measured measured = read_file(files[i]);
    Links& links = measured.nodes.size() > 1 ? between : inside;
    links.samples.insert(links.samples.end(), measured.samples.begin(), measured.samples.end());
    links.files.push_back(files[i].name);
    for (const auto& [why, count] : measured.dropped) dropped[why] += count;
    medians = medians || measured.medians;
    minimums = minimums || measured.minimums;
    if (measured.program.empty())
      imported.notes.push_back(
          fmt::format("{}: does not say which test it is of; taken for sendrecv_perf", files[i].name));
    if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(files.size()));
  }
  const bool both = !inside.samples.empty() && !between.samples.empty();
  if (!inside.samples.empty()) add_costs(inside, "", both ? "links inside a node" : "links", imported.costs);
  if (!between.samples.empty()) add_costs(between, both ? "inter-node-" : "", "links between nodes", imported.costs);
  if (both) imported.notes.emplace_back("say with --stages-per-node which stages share a node");
  if (medians) imported.notes.emplace_back("times are medians over the iterations of -I");
  if (minimums) imported.notes.emplace_back("times are the shortest of the iterations of -I");
  for (const auto& [why, count] : dropped) imported.dropped.push_back({why, count});
  return imported;
}

} // namespace

const ImportFormat definition{
    .name = "nccl-tests",
    .files = "*.txt, *.log, *.json",
    .what = "sendrecv_perf of nccl-tests: what it prints, or its -J file; latency and bandwidth of links",
    .sign = "algbw",
    .takes_stages = false,
    .takes_vpp = false,
    .no_runs = "means of transfers, and no tasks",
    .read = read};

} // namespace ppsim::traces::nccl_tests
