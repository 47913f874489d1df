// Workloads of SimAI and ASTRA-sim 1.0: a heading, the number of rows, and a row per operation of a layer
// (Workload::initialize_workload() of both; AICB writes them):
//
// clang-format off
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 4 vpp: 8 ga: 32 all_gpus: 128 ... pp_comm: 16777216
//   1789
//   attention_column  -1  1750840 ALLGATHER 50331648  875420 REDUCESCATTER 0  875420 NONE 0  100
// clang-format on
//
// with name, dependency, and for forward, input gradient and weight gradient each the time in ticks (nanoseconds), a
// collective and its bytes; then the time of the update. AICB writes the rows of one stage once per microbatch: all its
// layers after "embedding_layer". Rows before the first and after the last microbatch belong to the step. A heading
// without pp (ASTRA-sim) describes a whole model.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/scenario/scenario.hpp"
#include "ppsim/traces/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "imports/gunzip.hpp"
#include "imports/import_list.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces::simai {
namespace {

constexpr std::string_view how_to =
    "give a workload that AICB wrote for SimAI (HYBRID_TRANSFORMER_FWD_IN_BCKWD ... pp: 4 vpp: 8 ga: 32)";
constexpr std::size_t columns = 12;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50U;

/// Forward, input gradient, weight gradient.
constexpr std::size_t passes = 3;
using Times = std::array<std::int64_t, passes>;

void add(Times& sum, const Times& times) {
  for (std::size_t pass = 0; pass < passes; ++pass) sum[pass] += times[pass];
}

struct Row {
  std::string_view name;
  Times times{};
  std::size_t collectives = 0;
};

struct Heading {
  std::string_view policy;
  std::map<std::string_view, std::uint64_t> values;
  [[nodiscard]] std::optional<std::uint64_t> value(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  }
};

/// The times of one microbatch on the stage or model of the rows.
struct Work {
  Times embedding{}, head{};
  std::vector<Times> layers;
};

class SimaiReader {
public:
  SimaiReader(std::string_view text, std::string_view name, const ImportOptions& options)
      : text_{without_byte_order_mark(text)}, name_{name}, options_{options} {}

  Imported read() {
    read_heading();
    read_rows();
    set_shape();
    const Work work = work_of_microbatch();
    write(work);
    for (const auto& [why, count] : dropped_) imported_.dropped.push_back({std::string{why}, count});
    return std::move(imported_);
  }

private:
  [[noreturn]] void refuse(std::size_t line, std::string what, std::string_view hint = how_to) const {
    throw Error{ExitCode::bad_input, {fmt::format("{}:{}", name_, line), std::move(what), std::string{hint}}};
  }

  std::string_view line() {
    ++line_;
    return take_line(text_);
  }

  static std::string_view word(std::string_view& text) {
    text = trimmed(text);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view found = text.substr(0, end);
    text.remove_prefix(end);
    return found;
  }

  /// An integer; AICB may write a division's result, "2097152.0".
  [[nodiscard]] std::uint64_t number(std::string_view text, std::uint64_t most) const {
    std::string_view rest = text;
    const std::string_view digits = take_digits(rest);
    const bool whole =
        rest.empty() || (rest.front() == '.' && rest.find_first_not_of('0', 1) == std::string_view::npos);
    if (digits.empty() || !whole || value_of(digits) > most)
      refuse(line_, fmt::format("{} is not a whole number from 0 to {}", in_quotes(text), most));
    return value_of(digits);
  }

  void read_heading() {
    std::string_view text = line();
    heading_.policy = word(text);
    if (heading_.policy.empty() ||
        heading_.policy.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != std::string_view::npos)
      refuse(line_, "the first line is not the heading of a workload");
    if (heading_.policy == "MICRO") refuse(line_, "this is a workload of collectives only (MICRO)");
    for (std::string_view key = word(text); !key.empty(); key = word(text)) {
      if (key.ends_with(':')) key.remove_suffix(1);
      const bool is_known = std::ranges::find(keys, key) != keys.end();
      if (is_known && !heading_.values.emplace(key, number(word(text), most_bytes)).second)
        refuse(line_, fmt::format("{} appears twice", in_quotes(key)));
    }
  }

  /// `text` is the part after the name of `row`.
  void read_cells(std::string_view text, Row& row) {
    std::array<std::string_view, columns - 1> cells;
    for (std::string_view& cell : cells)
      if (cell = word(text); cell.empty()) refuse(line_, fmt::format("a row has fewer than {} columns", columns));
    for (std::size_t pass = 0; pass < passes; ++pass) {
      row.times[pass] = static_cast<std::int64_t>(number(cells[1 + 3 * pass], most_time));
      if (cells[2 + 3 * pass] != "NONE") ++row.collectives;
      if (row.times[pass] > 1) measured_ = true;
    }
  }

  void read_rows() {
    std::string_view text = line();
    const std::uint64_t count = number(word(text), most_rows);
    while (!trimmed(text_).empty()) {
      text = line();
      Row row{.name = word(text)};
      if (row.name.empty()) continue;
      read_cells(text, row);
      rows_.push_back(row);
      if (rows_.size() > count) break;
    }
    if (rows_.size() != count || count == 0)
      refuse(2, fmt::format("says that there are {} rows, but there are {}{}", count, rows_.size(),
                            rows_.size() > count ? " or more" : ""));
  }

  void set_shape() {
    const std::optional<std::uint64_t> stages = heading_.value("pp");
    of_one_stage_ = stages.has_value();
    if (!stages && !options_.stages) refuse(1, "the heading does not say how many stages there are", "give --stages");
    shape_.stages = options_.stages.value_or(stages.value_or(1));
    shape_.vpp = options_.vpp.value_or(heading_.value("vpp").value_or(1));
    shape_.microbatches = heading_.value("ga").value_or(1);
    if (stages && shape_.stages != *stages)
      refuse(1, fmt::format("pp is {}, but --stages says {}", *stages, shape_.stages), "leave --stages out");
    if (shape_.stages == 0 || shape_.stages > Limits::stages || shape_.vpp == 0 ||
        shape_.vpp > Limits::chunks / shape_.stages || shape_.microbatches == 0 ||
        shape_.microbatches > Limits::tasks / 2 / shape_.chunks())
      refuse(1, fmt::format("{} stages with {} chunks and {} microbatches are too many, or none", shape_.stages,
                            shape_.vpp, shape_.microbatches));
    if (of_one_stage_ && !options_.vpp && shape_.vpp > 1)
      imported_.notes.push_back(fmt::format("vpp is {} in the heading; AICB writes the number of layers of a stage "
                                            "there: give --vpp if a stage has fewer chunks",
                                            shape_.vpp));
  }

  static bool begins_microbatch(const Row& row) {
    return row.name.starts_with("embedding") && row.name != "embedding_grads";
  }

  /// The rows [first, last) of microbatches, and the number of microbatches.
  struct Rows {
    std::size_t first = 0, last = 0, microbatches = 1;
  };
  [[nodiscard]] Rows rows_of_microbatches() const {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(rows_, begins_microbatch));
    if (count == 0) return {0, rows_.size(), 1};
    const auto begin = std::ranges::find_if(rows_, begins_microbatch);
    const auto is_end = [](const Row& row) {
      return row.name.starts_with("cross_entropy") || row.name.starts_with("optimizer");
    };
    const auto end = std::find_if(begin, rows_.end(), is_end);
    return {static_cast<std::size_t>(begin - rows_.begin()), static_cast<std::size_t>(end - rows_.begin()),
            static_cast<std::size_t>(std::count_if(begin, end, begins_microbatch))};
  }

  /// The mean over the microbatches in the file, layer by layer. A layer begins with its attention; without attention,
  /// every row is a layer.
  Work work_of_microbatch() {
    const Rows rows = rows_of_microbatches();
    note_rows(rows);
    Work work = sums_of(rows);
    if (work.layers.empty()) refuse(2, "there is no layer row");
    const auto mean = [&](Times& times) {
      for (std::int64_t& time : times) time = divide_rounded(time, static_cast<std::int64_t>(rows.microbatches));
    };
    mean(work.embedding);
    mean(work.head);
    std::ranges::for_each(work.layers, mean);
    return work;
  }

  void note_rows(const Rows& rows) {
    if (const std::size_t others = rows_.size() - (rows.last - rows.first); others > 0)
      dropped_["rows of the step (gradients, optimizer), which belong to no microbatch"] = others;
    if (rows.microbatches != 1 && rows.microbatches != shape_.microbatches)
      imported_.notes.push_back(fmt::format("there are rows of {} microbatches, but ga is {}: costs are their mean",
                                            rows.microbatches, shape_.microbatches));
  }

  /// The sum over all microbatches of the file.
  Work sums_of(const Rows& rows) {
    const auto is_attention = [](const Row& row) { return row.name.starts_with("attention"); };
    const bool has_attention = std::ranges::any_of(rows_, is_attention);
    Work work;
    std::size_t layer = 0; ///< 1 is the first
    bool before = false;   ///< the row before was attention
    for (std::size_t i = rows.first; i < rows.last; ++i) {
      const Row& row = rows_[i];
      if (row.collectives > 0)
        dropped_["collectives of layers: only a network gives their bytes a time"] += row.collectives;
      if (begins_microbatch(row)) {
        layer = 0;
        before = false;
        add(work.embedding, row.times);
      } else if (row.name.starts_with("final")) {
        add(work.head, row.times);
      } else {
        const bool attention = is_attention(row);
        if (!has_attention || layer == 0 || (attention && !before)) ++layer;
        before = attention;
        if (layer > work.layers.size()) work.layers.emplace_back();
        add(work.layers[layer - 1], row.times);
      }
    }
    return work;
  }

  /// Layers in order, distributed evenly over the chunks: of a stage, all of which are equal, or of the model.
  [[nodiscard]] std::vector<Times> chunk_times(const Work& work) const {
    std::vector<Times> chunks(shape_.chunks());
    const std::size_t parts = of_one_stage_ ? shape_.vpp : shape_.chunks();
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const std::size_t part = of_one_stage_ ? chunk / shape_.stages : chunk;
      const std::size_t end = work.layers.size() * (part + 1) / parts;
      for (std::size_t layer = work.layers.size() * part / parts; layer < end; ++layer)
        add(chunks[chunk], work.layers[layer]);
    }
    add(chunks.front(), work.embedding);
    add(chunks.back(), work.head);
    return chunks;
  }

  void write(const Work& work) {
    ScenarioDocument& costs = imported_.costs;
    const std::size_t layers = work.layers.size() * (of_one_stage_ ? shape_.stages : 1);
    costs.add_comment(fmt::format("{} of {}", heading_.policy, name_.substr(name_.rfind('/') + 1)));
    costs.add("stages", shape_.stages);
    costs.add("vpp", shape_.vpp);
    costs.add("mb", shape_.microbatches);
    if (layers >= shape_.chunks()) costs.add("layers", layers);
    const std::vector<Times> chunks = chunk_times(work);
    constexpr std::array<std::string_view, passes> names{"forward", "input-grad", "weight-grad"};
    for (std::size_t pass = 0; pass < passes; ++pass) {
      const auto time_of = [&](const Times& chunk) {
        if (chunk[pass] > max_duration.count())
          refuse(2, fmt::format("a chunk takes longer than {}", format_duration(max_duration)));
        return toml_time(Duration{chunk[pass]});
      };
      costs.add(std::string{names[pass]}, toml_list(chunks, time_of),
                pass == 0 ? "compute only, by chunk: layers spread evenly, in order" : "");
    }
    if (const auto bytes = heading_.value("pp_comm"); bytes && shape_.chunks() > 1)
      costs.add("boundary-bytes", toml_string(fmt::format("{}B", *bytes)), "pp_comm");
    if (!measured_)
      imported_.notes.emplace_back(
          "all times are 0 or 1 ns: AICB measures them only with --aiob_enable; these costs mean nothing");
  }

  static constexpr std::array<std::string_view, 4> keys{"pp", "vpp", "ga", "pp_comm"};
  static constexpr std::uint64_t most_rows = 10'000'000; ///< sums of most_time cannot overflow
  static constexpr std::uint64_t most_time = static_cast<std::uint64_t>(max_duration.count()) / 1000;

  std::string_view text_;
  std::string_view name_;
  const ImportOptions& options_;
  std::size_t line_ = 0;
  Heading heading_;
  std::vector<Row> rows_;
  bool measured_ = false;
  bool of_one_stage_ = false;
  Shape shape_;
  std::map<std::string_view, std::size_t> dropped_;
  Imported imported_;
};

Imported read(std::span<const ImportFile> files, const ImportOptions& options) {
  if (files.size() != 1)
    throw Error{ExitCode::bad_input,
                {"simai", fmt::format("{} files are given", files.size()), "a workload is one file: give one"}};
  const ImportFile& file = files.front();
  const PlainFile plain{file, most_unpacked_log};
  return SimaiReader{plain.bytes(), file.name, options}.read();
}

} // namespace

const ImportFormat definition{.name = "simai",
                              .files = "*.txt",
                              .what = "workloads of SimAI (AICB) and ASTRA-sim 1.0: layer times and sizes, as costs",
                              .sign = "HYBRID_TRANSFORMER",
                              .no_runs = "times of layers, not tasks",
                              .read = read};

} // namespace ppsim::traces::simai
