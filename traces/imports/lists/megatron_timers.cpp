// Megatron-LM's output with --timing-log-level 2, once per logging interval. --timing-log-option selects the format:
//   (min, max) time across ranks (ms):                                    minmax, the default
//       forward-compute ................................: (612.31, 1290.77)
//   max time across ranks (ms):                                           max
//       forward-compute ................................: 1290.77
//   times across ranks (ms):                                              all
//     forward-compute:
//        rank  0: 612.31
// These are sums over an iteration, not a timeline: they give costs but no run. The number of stages and microbatches
// comes from the arguments printed at the start, or from the user. Launchers may put text before lines.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "imports/gunzip.hpp"
#include "imports/import_list.hpp"
#include "imports/recorded.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces::megatron_timers {
namespace {

constexpr double longest_ms = 86'400'000;                // a day
constexpr std::size_t most_ranks = std::size_t{1} << 20; ///< and the largest of the settings that count something
constexpr std::size_t most_names = 1000;

/// One timer of one block: the minimum and maximum over its ranks, or each rank.
struct Timer {
  double least = 0;
  double greatest = 0;
  std::map<std::size_t, double> by_rank;
};
using Block = std::map<std::string, Timer, std::less<>>;

/// Sums of a timer over the iterations.
struct TimerSum {
  double least = 0, greatest = 0;
  std::size_t blocks = 0;
  std::map<std::size_t, std::pair<double, std::size_t>> by_rank; ///< sum and how many
};

/// Settings that the log prints, if it does.
struct Printed {
  std::optional<std::size_t> stages, vpp, micro_batch, global_batch, data_parallel, world, tensor_parallel,
      context_parallel;
};

struct Found {
  std::map<std::string, TimerSum, std::less<>> timers;
  std::map<std::string, std::size_t> other; ///< of blocks before training
  std::size_t beyond = 0;                   ///< timers of blocks with too many names
  Printed printed;
  std::size_t blocks = 0;
  bool least_known = false; ///< unknown with `max`
};

std::optional<double> number_at(std::string_view text, std::string_view& rest) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const bool in_range = value >= 0 && value <= longest_ms; // false for NaN
  if (error != std::errc{} || !in_range) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The text after a launcher's prefix.
std::string_view last_word(std::string_view text) {
  return text.substr(text.rfind(' ') + 1); // npos + 1 is 0
}

class Reader {
public:
  Reader(std::string_view text, std::string_view name, Found& found) : rest_{text}, name_{name}, found_{found} {}

  void read() {
    while (!rest_.empty()) {
      const std::string_view line = take_line(rest_);
      ++line_;
      if (line.find("time across ranks (ms):") != std::string_view::npos ||
          line.find("times across ranks (ms):") != std::string_view::npos)
        begin_block(line);
      else if (mode_ != Mode::none && !read_timer(line))
        end_block();
      if (mode_ == Mode::none) read_setting(line);
    }
    end_block();
    problems_.throw_if_any();
  }

private:
  enum class Mode : std::uint8_t { none, minmax, max, all };

  void begin_block(std::string_view line) {
    end_block();
    if (line.find("(min, max) time across") != std::string_view::npos)
      mode_ = Mode::minmax;
    else
      mode_ = line.find("max time across") != std::string_view::npos ? Mode::max : Mode::all;
  }

  /// A block counts if it is of an iteration, not of the setup.
  void end_block() {
    if (mode_ == Mode::none) return;
    if (block_.contains("forward-compute")) {
      ++found_.blocks;
      found_.least_known = found_.least_known || mode_ != Mode::max;
      for (const auto& [name, timer] : block_) add(name, timer);
    } else {
      for (const auto& [name, timer] : block_) ++found_.other[name];
    }
    block_.clear();
    current_ = nullptr;
    mode_ = Mode::none;
  }

  void add(const std::string& name, const Timer& timer) {
    TimerSum& sum = found_.timers[name];
    ++sum.blocks;
    sum.least += timer.least;
    sum.greatest += timer.greatest;
    for (const auto& [rank, time] : timer.by_rank) {
      auto& [total, count] = sum.by_rank[rank];
      total += time;
      ++count;
    }
  }

  void fault(std::string_view line) {
    add_within_limit(problems_, [&] {
      return Problem{fmt::format("{}:{}", name_, line_), fmt::format("{} is not a timer's time", in_quotes(line)),
                     "give the log as Megatron-LM printed it: milliseconds, up to a day"};
    });
  }

  Timer* timer(std::string_view name) {
    const auto known = block_.find(name);
    if (known != block_.end()) return &known->second;
    if (block_.size() >= most_names) {
      ++found_.beyond;
      return nullptr;
    }
    return &block_[std::string{name}];
  }

  static bool is_timer_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' || c == '/';
    });
  }

  /// False at the first line after the block.
  bool read_timer(std::string_view line) { return mode_ == Mode::all ? read_rank(line) : read_dotted(line); }

  /// "    name .......: (1.00, 2.00)" or "    name .......: 2.00"
  bool read_dotted(std::string_view line) {
    const std::size_t dots = line.find(" ..");
    const std::size_t colon = line.find(".: ", dots == std::string_view::npos ? 0 : dots);
    std::size_t name_end = dots;
    std::size_t value_at = colon == std::string_view::npos ? colon : colon + 3;
    if (dots == std::string_view::npos || colon == std::string_view::npos) { // a name too long for dots
      const std::size_t plain = line.rfind(": ");
      if (plain == std::string_view::npos || !line.starts_with("    ")) return false;
      name_end = plain;
      value_at = plain + 2;
    }
    const std::string_view name = last_word(trimmed(line.substr(0, name_end)));
    if (!is_timer_name(name)) return false;
    std::string_view value = trimmed(line.substr(value_at));
    const bool pair = value.starts_with('(');
    if (pair) value.remove_prefix(1);
    const std::optional<double> first = number_at(value, value);
    std::optional<double> second = first;
    if (pair && first) second = value.starts_with(',') ? number_at(value.substr(1), value) : std::nullopt;
    const bool has_dots = dots != std::string_view::npos;
    if (!has_dots && !first) return false; // another line of the log
    if (!first || !second || pair != (mode_ == Mode::minmax) || *first > *second) {
      fault(line);
      return true;
    }
    if (Timer* const into = timer(name)) *into = {*first, *second, {}};
    return true;
  }

  /// "  name:", then "     rank  0: 1.00"
  bool read_rank(std::string_view line) {
    const std::string_view text = trimmed(line);
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return false;
    const std::size_t rank_at = text.rfind("rank ", colon);
    if (colon + 1 == text.size()) {
      const std::string_view name = last_word(text.substr(0, colon));
      if (!is_timer_name(name)) return false;
      current_ = timer(name);
      return true;
    }
    if (rank_at == std::string_view::npos) return false;
    std::string_view number = trimmed(text.substr(rank_at + 5, colon - rank_at - 5));
    const std::uint64_t rank = value_of(take_digits(number));
    std::string_view rest;
    const std::optional<double> time = number_at(text.substr(colon + 1), rest);
    if (!number.empty() || rank >= most_ranks || !time) {
      fault(line);
      return true;
    }
    if (current_ == nullptr) return true;
    Timer& into = *current_;
    into.least = into.by_rank.empty() ? *time : std::min(into.least, *time);
    into.greatest = std::max(into.greatest, *time);
    into.by_rank[rank] = *time;
    return true;
  }

  /// "  pipeline_model_parallel_size ........................... 4", as the arguments are printed at the start.
  void read_setting(std::string_view line) {
    const std::size_t dots = line.find(" ...");
    if (dots == std::string_view::npos) return;
    const std::string_view name = last_word(trimmed(line.substr(0, dots)));
    std::string_view value = line.substr(dots + 1);
    value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
    value = trimmed(value);
    const std::string_view digits = take_digits(value);
    if (digits.empty() || !value.empty() || value_of(digits) > most_ranks) return;
    const auto set = [&](std::string_view key, std::optional<std::size_t>& into) {
      if (name == key) into = static_cast<std::size_t>(value_of(digits));
    };
    Printed& printed = found_.printed;
    set("pipeline_model_parallel_size", printed.stages);
    set("virtual_pipeline_model_parallel_size", printed.vpp);
    set("micro_batch_size", printed.micro_batch);
    set("global_batch_size", printed.global_batch);
    set("data_parallel_size", printed.data_parallel);
    set("world_size", printed.world);
    set("tensor_model_parallel_size", printed.tensor_parallel);
    set("context_parallel_size", printed.context_parallel);
  }

  std::string_view rest_;
  std::string_view name_;
  Found& found_;
  Mode mode_ = Mode::none;
  Block block_;
  Timer* current_ = nullptr;
  std::size_t line_ = 0;
  Problems problems_;
};

/// Converts timers to costs of a stage.
class Conversion {
public:
  Conversion(const Found& found, const ImportOptions& options, std::string_view where)
      : found_{found}, options_{options}, where_{where} {}

  Imported run() {
    if (found_.blocks == 0)
      refuse("no block of timers has forward-compute", "run Megatron-LM with --timing-log-level 2");
    stages_ = options_.stages ? options_.stages : found_.printed.stages;
    if (!stages_ || *stages_ < 1 || *stages_ > Limits::stages)
      refuse("the log does not say how many stages there are",
             fmt::format("give --stages, 1 to {}, or a log with the arguments that Megatron-LM prints at its start "
                         "(pipeline_model_parallel_size)",
                         Limits::stages));
    vpp_ = options_.vpp ? *options_.vpp : found_.printed.vpp.value_or(1);
    microbatches_ = find_microbatches();
    if (vpp_ < 1 || vpp_ > Limits::chunks || vpp_ * *stages_ > Limits::chunks)
      refuse(fmt::format("{} chunks per stage", vpp_), "give --vpp");
    add_lines();
    add_notes();
    return std::move(imported_);
  }

private:
  [[noreturn]] void refuse(std::string what, std::string hint) const {
    throw Error{ExitCode::bad_input, Problem{std::string{where_}, std::move(what), std::move(hint)}};
  }

  [[nodiscard]] std::size_t find_microbatches() const {
    const std::optional<std::size_t> printed = printed_microbatches();
    const std::optional<std::size_t> said = options_.microbatches;
    if (said && (*said < 1 || *said > most_ranks))
      refuse(fmt::format("--mb says {} microbatches", *said), fmt::format("give 1 to {}", most_ranks));
    if (printed && said && *printed != *said)
      refuse(fmt::format("--mb says {} microbatches, but the log says {}", *said, *printed), "leave --mb out");
    if (!printed && !said)
      refuse("the log does not say how many microbatches there are",
             "give --mb, the microbatches of one pipeline in an iteration, or a log with the arguments that "
             "Megatron-LM prints at its start (global_batch_size, micro_batch_size, data_parallel_size)");
    return printed ? *printed : *said;
  }

  /// global batch / (micro batch x data-parallel ranks).
  [[nodiscard]] std::optional<std::size_t> printed_microbatches() const {
    const Printed& printed = found_.printed;
    std::optional<std::size_t> replicas = printed.data_parallel;
    if (!replicas && printed.world) {
      const std::size_t per_replica = *stages_ * std::max<std::size_t>(printed.tensor_parallel.value_or(1), 1) *
                                      std::max<std::size_t>(printed.context_parallel.value_or(1), 1);
      if (*printed.world % per_replica == 0) replicas = *printed.world / per_replica;
    }
    const std::size_t at_once = printed.micro_batch.value_or(0) * replicas.value_or(0);
    if (!printed.global_batch || at_once == 0 || *printed.global_batch % at_once != 0 || *printed.global_batch == 0)
      return std::nullopt;
    return *printed.global_batch / at_once;
  }

  static std::string time(double milliseconds) {
    constexpr double nanoseconds = 1e6;
    return toml_time(Duration{std::llround(milliseconds * nanoseconds)});
  }

  /// Of one stage, microbatch and chunk.
  [[nodiscard]] double per_task(double sum, std::size_t blocks) const {
    return sum / static_cast<double>(blocks) / static_cast<double>(microbatches_ * vpp_);
  }

  /// The mean over each stage's ranks. Ranks of a stage are consecutive: Megatron-LM's pipeline is the outermost
  /// dimension.
  [[nodiscard]] std::optional<std::vector<double>> by_stage(const TimerSum& timer) const {
    if (timer.by_rank.empty()) return std::nullopt;
    const std::size_t ranks = std::max(found_.printed.world.value_or(0), timer.by_rank.rbegin()->first + 1);
    if (ranks % *stages_ != 0) return std::nullopt;
    std::vector<double> sums(*stages_);
    std::vector<std::size_t> counts(*stages_);
    for (const auto& [rank, sum] : timer.by_rank) {
      const std::size_t stage = rank / (ranks / *stages_);
      sums[stage] += per_task(sum.first, sum.second);
      ++counts[stage];
    }
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
      if (counts[stage] == 0) return std::nullopt;
      sums[stage] /= static_cast<double>(counts[stage]);
    }
    return sums;
  }

  void add_pass(std::string_view timer_name, std::string_view key) {
    const auto found = found_.timers.find(timer_name);
    if (found == found_.timers.end()) return;
    const TimerSum& timer = found->second;
    if (const auto stages = by_stage(timer)) {
      std::vector<double> chunks;
      for (std::size_t lap = 0; lap < vpp_; ++lap) chunks.insert(chunks.end(), stages->begin(), stages->end());
      imported_.costs.add(std::string{key}, toml_list(chunks, time),
                          fmt::format("{} by stage, over {} logged intervals, {} microbatches{}", timer_name,
                                      timer.blocks, microbatches_, vpp_ > 1 ? " and all chunks of a stage" : ""));
      return;
    }
    const double least = per_task(timer.least, timer.blocks) * static_cast<double>(vpp_);
    const double greatest = per_task(timer.greatest, timer.blocks) * static_cast<double>(vpp_);
    const double taken = found_.least_known ? (least + greatest) / 2 : greatest;
    imported_.costs.add(std::string{key}, time(taken),
                        found_.least_known
                            ? fmt::format("{}: halfway between the fastest rank, {:.3f} ms, and the slowest, {:.3f} ms",
                                          timer_name, least, greatest)
                            : fmt::format("{} of the slowest rank", timer_name));
    only_extremes_ = true;
  }

  void add_lines() {
    imported_.costs.add("stages", *stages_);
    imported_.costs.add("mb", microbatches_);
    if (vpp_ > 1) imported_.costs.add("vpp", vpp_);
    imported_.costs.add("schedule", vpp_ > 1 ? "\"interleaved\"" : "\"1f1b\"", "Megatron-LM's");
    add_pass("forward-compute", "forward");
    add_pass("backward-compute", "backward");
    if (const auto found = found_.timers.find("optimizer"); found != found_.timers.end())
      imported_.costs.add("optimizer", time(found->second.greatest / static_cast<double>(found->second.blocks)),
                          "optimizer of the slowest rank, including its wait for the others");
  }

  void add_notes() {
    const std::set<std::string_view> used{"forward-compute", "backward-compute", "optimizer"};
    for (const auto& [name, timer] : found_.timers)
      if (!used.contains(name)) imported_.dropped.push_back({fmt::format("timer {}", name), timer.blocks});
    for (const auto& [name, count] : found_.other)
      imported_.dropped.push_back({fmt::format("timer {} outside of iterations", name), count});
    if (found_.beyond > 0)
      imported_.dropped.push_back({fmt::format("timers after the first {} of a block", most_names), found_.beyond});
    std::vector<std::string>& notes = imported_.notes;
    notes.emplace_back("timers are sums over an iteration: there is no timeline, and the waiting part of a send or "
                       "receive is not known, so transfers cost nothing here: give --comm");
    if (only_extremes_)
      notes.emplace_back("only the extremes over all ranks were logged, so all stages cost the same here; use "
                         "--timing-log-option all for each stage's own times");
  }

  const Found& found_;
  const ImportOptions& options_;
  std::string_view where_;
  Imported imported_;
  std::optional<std::size_t> stages_;
  std::size_t vpp_ = 1;
  std::size_t microbatches_ = 1;
  bool only_extremes_ = false;
};

Imported read(std::span<const ImportFile> files, const ImportOptions& options) {
  Found found;
  std::string where;
  for (const ImportFile& file : files) {
    const PlainFile plain{file, most_unpacked_log};
    Reader{plain.bytes(), file.name, found}.read();
    where += (where.empty() ? "" : ", ") + file.name;
  }
  return Conversion{found, options, where}.run();
}

} // namespace

const ImportFormat definition{
    .name = "megatron-timers",
    .files = "*.log, *.txt",
    .what = "what Megatron-LM prints with --timing-log-level 2, best with --timing-log-option all; costs but no run",
    .sign = "across ranks (ms)",
    .takes_mb = true,
    .no_runs = "sums over steps, not times of single tasks",
    .read = read};

} // namespace ppsim::traces::megatron_timers
