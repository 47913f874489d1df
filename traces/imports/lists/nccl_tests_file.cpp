// The output of nccl-tests, and its files from -J FILE (src/util.cu of nccl-tests); a line of its table is, for
// example,
//
// clang-format off
//   #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
//           4096          1024     float     sum      -1    30.74    0.13    0.13       0    30.69    0.13    0.13     N/A
// clang-format on
//
// once out of place, once in place, in microseconds. Versions differ in columns (no root, "error" for "#wrong", minimum
// and others with -I, a timestamp), so the heading gives the columns of times.

#include "nccl_tests_file.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imports/gunzip.hpp"
#include "json/json_parts.hpp"
#include "schedules/formats.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::traces::nccl_tests {
namespace {

constexpr std::int64_t most_sent = std::int64_t{1} << 50;
constexpr std::size_t deepest = 16; ///< far deeper than any file of nccl-tests

constexpr std::string_view no_bytes = "measurements that send nothing";
constexpr std::string_view no_time = "measurements without a possible time";
constexpr std::string_view wrong = "measurements with wrong results";
constexpr std::string_view processor = "measurements of processor time (-C)";
constexpr std::string_view other_units = "measurements whose algbw is not the size divided by the time";
constexpr std::string_view other_lines = "lines that are not results";

} // namespace

void Measured::add(double bytes, double microseconds) {
  const bool is_size = bytes >= 1 && bytes <= static_cast<double>(most_sent); // false for NaN
  if (!is_size) return drop(no_bytes);
  constexpr double longest = std::chrono::duration<double, std::micro>{max_duration}.count();
  constexpr double ns_per_us = 1000;
  const bool is_time = microseconds > 0 && microseconds <= longest;
  if (!is_time) return drop(no_time);
  samples.push_back({Bytes{static_cast<std::int64_t>(bytes)}, Duration{std::llround(microseconds * ns_per_us)}});
}

namespace {

/// Whether a rate in GB/s, printed with two decimals, matches these bytes in these microseconds.
bool is_rate(double gigabytes_per_second, double bytes, double microseconds) {
  constexpr double bytes_per_gigabyte_and_us = 1000;
  constexpr double rounded = 0.01;
  constexpr double closely = 0.02;
  const double rate = bytes / microseconds / bytes_per_gigabyte_and_us;
  return std::abs(gigabytes_per_second - rate) <= rounded + closely * rate;
}

std::optional<double> number(std::string_view text) {
  const std::optional<double> value = decimal_of(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Reads the printed table.
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
    if (!groups_.empty()) measured_.ranks = ranks_ / groups_.size();
    return std::move(measured_);
  }

private:
  static constexpr std::size_t type = 2;          ///< the columns size, count and type always exist
  static constexpr std::size_t most_columns = 64; ///< far more than any table of nccl-tests has

  /// mpirun and srun prefix the output of a process with its rank: "[1,0]<stdout>:", "0: ".
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
    if (word(1) == "Collective" && word(2) == "test" && word(3) == "starting:") {
      const std::string_view program = file_of(word(4));
      if (!measured_.program.empty() && measured_.program != program) measured_.second_program = program;
      measured_.program = program;
    }
    if (word(1) != "Rank") return; // "#  Rank  0 Group  0 Pid 4711 on node1 device  0 [0000:07:00] NVIDIA ..."
    groups_.insert(word(3) == "Group" ? number(word(4)).value_or(0) : 0);
    ++ranks_;
    for (std::size_t at = 2; at + 2 < words_.size(); ++at)
      if (words_[at] == "on" && words_[at + 2] == "device") measured_.nodes.emplace(words_[at + 1]);
  }

  void heading() {
    columns_.clear();
    times_.clear();
    if (words_.size() > most_columns) return measured_.drop(other_lines); // and the rows below it
    for (std::size_t at = 1; at < words_.size(); ++at) {
      if (words_[at] == "time" || words_[at] == "cputime") times_.push_back(columns_.size());
      columns_.emplace_back(words_[at]);
    }
  }

  [[nodiscard]] bool has(std::string_view column) const {
    return std::ranges::find(columns_, column) != columns_.end();
  }

  void row() {
    // Unknown columns are blank, so the line has a word less.
    std::size_t before = type + 1;
    if (has("redop") && !number(word(before))) ++before;
    if (has("root")) ++before;
    for (std::size_t i = 0; i < times_.size(); ++i)
      group(before + times_[i] - times_.front(), times_[i], i + 1 < times_.size() ? times_[i + 1] : columns_.size());
  }

  /// A group of columns from a time on: at `at` in the line and from `first` to `end` in the heading.
  void group(std::size_t at, std::size_t first, std::size_t end) {
    if (at >= words_.size()) return measured_.drop(no_time);
    if (columns_[first] == "cputime") return measured_.drop(processor);
    const double bytes = number(words_.front()).value_or(0);
    double time = number(words_[at]).value_or(-1);
    const double mean = time;
    for (std::size_t column = first; column < end; ++column) {
      const std::optional<double> value = number(word(at + column - first));
      if ((columns_[column] == "#wrong" || columns_[column] == "error") && value.value_or(0) != 0)
        return measured_.drop(wrong);
      if (columns_[column] == "algbw" && value && mean > 0 && !is_rate(*value, bytes, mean))
        return measured_.drop(other_units);
      if (columns_[column] == "i_min" && value && time > 0) {
        time = *value;
        measured_.minimums = true;
      }
    }
    measured_.add(bytes, time);
  }

  std::vector<std::string_view> words_; ///< of the line at hand
  std::vector<std::string> columns_;
  std::vector<std::size_t> times_; ///< the columns that are times
  std::size_t ranks_ = 0;          ///< of all communicators
  std::set<double> groups_;        ///< communicators of NCCL_TESTS_SPLIT; else one
  Measured measured_;
};

/// Reads a file from -J.
class JsonReader {
public:
  JsonReader(std::string_view name, std::string_view how_to) : name_{name}, how_to_{how_to} {}

  Measured read(std::string_view text) {
    const Json file = parse(text);
    if (!file.is_object()) refuse("this is not a result of nccl-tests");
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
    throw Error{ExitCode::bad_input, {std::string{name_}, std::move(what), std::string{how_to_}}};
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
      refuse("this is not JSON; did the test end early?");
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
    const std::optional<double> time = value(times, "time");
    if (const auto rate = value(times, "alg_bw"); rate && time && *time > 0 && !is_rate(*rate, bytes, *time))
      return measured_.drop(other_units);
    if (const auto median = value(iterations, "p50_us")) {
      measured_.medians = true;
      return measured_.add(bytes, *median);
    }
    if (const auto least = value(iterations, "min_us")) {
      measured_.minimums = true;
      return measured_.add(bytes, *least);
    }
    if (!time && value(times, "cpu_time")) return measured_.drop(processor);
    measured_.add(bytes, time.value_or(-1));
  }

  std::string_view name_;
  std::string_view how_to_;
  Measured measured_;
};

} // namespace

Measured read_file(const ImportFile& file, const Wanted& wanted) {
  const PlainFile plain{file, most_unpacked_log}; // a real one has a few kilobytes
  const std::string_view text = without_byte_order_mark(plain.bytes());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool is_json = begin != std::string_view::npos && text[begin] == '{';
  const auto refuse = [&](std::string what, std::string_view hint) {
    throw Error{ExitCode::bad_input, {file.name, std::move(what), std::string{hint}}};
  };
  if (is_json && text.size() > most_unpacked_log) // parsing it as a whole takes several times its size
    refuse(fmt::format("has {} bytes of JSON, more than {}", text.size(), most_unpacked_log), wanted.how_to);
  Measured measured = is_json ? JsonReader{file.name, wanted.how_to}.read(text) : TableReader{}.read(text);
  if (!measured.second_program.empty())
    refuse("holds results of two tests, " + measured.second_program + " among them",
           "give each test a file of its own");
  if (!measured.program.empty() && !wanted.takes(measured.program))
    refuse(fmt::format("these are results of {}", in_quotes(measured.program)), wanted.how_to);
  if (measured.ranks == 1) refuse("there is only one rank, which sends to itself", "run it with two or more");
  if (measured.samples.empty() && measured.dropped.contains(std::string{other_units}))
    refuse("no algbw equals the size divided by the time", "sizes are in bytes, times in microseconds, algbw in GB/s");
  if (measured.samples.empty()) refuse(fmt::format("holds no time of {}", wanted.what), wanted.how_to);
  return measured;
}

} // namespace ppsim::traces::nccl_tests
