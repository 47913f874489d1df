// Operation traces as CSV, as ByteDance published with "Understanding Stragglers in Large Model Training Using What-if
// Analysis" (arXiv 2505.05713; github.com/ByteDance-Seed/StragglerAnalysis), a row per operation of a rank:
//   dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc
//   0,0,0,23,forward-compute,0.048943519,0.063458979,0,0,0,0
//   0,0,0,23,forward-send,0.112404108,0.000379999,0,-1,-1,-1
// Times are seconds. mc is the chunk's index on its stage, gmc that in the model; sends and receives have neither, and
// follow the passes of their stage in order.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>

#include "imports/gunzip.hpp"
#include "imports/import_list.hpp"
#include "imports/recorded.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

enum class Kind : std::uint8_t {
  forward,
  backward,
  forward_send,
  forward_recv,
  backward_send,
  backward_recv,
  reduction,
  tied_reduction,
  optimizer,
  other
};

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr std::array kind_names{KindName{"forward-compute", Kind::forward},
                                KindName{"backward-compute", Kind::backward},
                                KindName{"forward-send", Kind::forward_send},
                                KindName{"forward-recv", Kind::forward_recv},
                                KindName{"backward-send", Kind::backward_send},
                                KindName{"backward-recv", Kind::backward_recv},
                                KindName{"grads-reduce-scatter", Kind::reduction},
                                KindName{"grads-all-reduce", Kind::reduction},
                                KindName{"embedding-grads-all-reduce", Kind::tied_reduction},
                                KindName{"optimizer", Kind::optimizer}};

/// Kinds that are ignored, with the reason.
struct UnusedName {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array unused_names{UnusedName{"gc", "work of the host"},
                                  UnusedName{"layernorm-grads-all-reduce", "a collective that is not modelled"},
                                  UnusedName{"params-all-gather", "a collective that is not modelled"},
                                  UnusedName{"optimizer-clip-main-grad", "comes before the optimizer's own time"}};

std::string unused_words(std::string_view name) {
  if (name.empty()) return "operations of unknown kinds";
  const auto* const known = std::ranges::find(unused_names, name, &UnusedName::name);
  return fmt::format("operations {} ({})", in_quotes(name),
                     known == unused_names.end() ? "an unknown kind" : known->reason);
}

enum class Column : std::uint8_t { dp_rank, stage, rank, step, optype, start_ts, duration, seq_id, mc, mb_id, gmc };
constexpr std::array<std::string_view, 11> column_names{"dp_rank",  "stage",  "rank", "step",  "optype", "start_ts",
                                                        "duration", "seq_id", "mc",   "mb_id", "gmc"};
constexpr std::string_view columns_hint = "it needs stage, step, optype, start_ts, duration and mb_id, and may have "
                                          "dp_rank, rank, seq_id, mc and gmc";
constexpr bool is_needed(Column column) {
  return column == Column::stage || column == Column::step || column == Column::optype || column == Column::start_ts ||
         column == Column::duration || column == Column::mb_id;
}

/// One operation. Missing numbers are -1.
struct Row {
  std::uint32_t replica = 0;
  std::uint32_t stage = 0;
  std::int64_t step = 0;
  std::int64_t start = 0; ///< nanoseconds
  std::int64_t end = 0;
  std::int64_t rank = -1;
  std::int64_t sequence = -1;
  std::int64_t chunk_of_stage = -1;
  std::int64_t chunk = -1;
  std::int64_t microbatch = -1;
  Kind kind = Kind::other;
};

/// The most by which time stamps of hosts and durations of devices disagree, in nanoseconds.
constexpr std::int64_t clock_mismatch = 250'000;
constexpr double nanoseconds_per_second = 1e9;
/// In seconds; as an epoch until 2033.
constexpr double latest_start = 2e9;
constexpr double longest = 86'400;
/// Longer than any operation of a training run: a longer one is in another unit.
constexpr double longest_seen = 10;
constexpr std::size_t most_names = 100; ///< of ignored operations

/// The content of all files.
struct Found {
  std::vector<Row> rows;
  std::map<std::string, std::size_t, std::less<>> unused;
  double largest_start = 0;
  bool single_precision = true; ///< every start fits a float
};

class Reader {
public:
  Reader(std::string_view text, std::string_view name, Found& found, const std::function<void(double)>& progress)
      : rest_{without_byte_order_mark(text)}, whole_{text.size()}, name_{name}, found_{found}, progress_{progress} {}

  void read() {
    read_header();
    std::size_t next_progress = progress_step;
    while (!rest_.empty()) {
      const std::string_view line = take_line(rest_);
      ++line_;
      if (!trimmed(line).empty()) read_row(line);
      if (const std::size_t done = whole_ - rest_.size(); done >= next_progress) {
        progress_(static_cast<double>(done) / static_cast<double>(whole_));
        next_progress = done + progress_step;
      }
    }
    report_out_of_range();
    problems_.throw_if_any();
  }

private:
  static constexpr std::size_t progress_step = std::size_t{1} << 22;
  static constexpr std::size_t most_columns = 64;

  void fault(std::string_view what_column, std::string_view value, std::string_view hint) {
    add_within_limit(problems_, [&] {
      return Problem{fmt::format("{}:{}", name_, line_), fmt::format("{} is {}", what_column, in_quotes(value)),
                     std::string{hint}};
    });
  }

  void read_header() {
    const std::string_view head = take_line(rest_);
    line_ = 1;
    columns_ = cells_in(head);
    std::string_view cells = head;
    for (std::size_t column = 0; column < std::min(columns_, most_columns); ++column) {
      const auto* const known = std::ranges::find(column_names, take_cell(cells));
      if (known == column_names.end()) continue;
      std::size_t& at = at_[static_cast<std::size_t>(known - column_names.begin())];
      if (at != none) problems_.add(fmt::format("{}:1", name_), fmt::format("the column {} appears twice", *known));
      at = column;
    }
    if (columns_ > most_columns)
      problems_.add(fmt::format("{}:1", name_), fmt::format("it has more than {} columns", most_columns),
                    std::string{columns_hint});
    std::vector<std::string_view> missing;
    for (std::size_t column = 0; column < column_names.size(); ++column)
      if (is_needed(static_cast<Column>(column)) && at_[column] == none) missing.push_back(column_names[column]);
    if (!missing.empty())
      problems_.add(fmt::format("{}:1", name_),
                    fmt::format("there {} {} in {}", missing.size() == 1 ? "is no column" : "are no columns",
                                joined(missing, ", "), in_quotes(head)),
                    std::string{columns_hint});
    problems_.throw_if_any();
  }

  [[nodiscard]] std::string_view field(Column column) const {
    const std::size_t at = at_[static_cast<std::size_t>(column)];
    return at == none ? std::string_view{} : fields_[at];
  }

  bool split(std::string_view line) {
    if (const std::size_t count = cells_in(line); count != columns_) {
      fault("the row", line, fmt::format("{} values for {} columns; is the file cut off?", count, columns_));
      return false;
    }
    for (std::size_t column = 0; column < columns_; ++column) fields_[column] = take_cell(line);
    return true;
  }

  /// An integer up to `most`; some columns allow -1 for none.
  std::int64_t whole(Column column, std::int64_t least, std::int64_t most) {
    if (at_[static_cast<std::size_t>(column)] == none) return -1;
    const std::string_view text = field(column);
    if (const auto value = number_of<std::int64_t>(text); value && *value >= least && *value <= most) return *value;
    fault(column_names[static_cast<std::size_t>(column)], text,
          fmt::format("write a whole number from {} to {}", least, most));
    return least;
  }

  /// Times of one column that are out of range: in another unit, all are, so they are reported once.
  struct OutOfRange {
    std::size_t count = 0;
    Problem first{};
  };

  /// "; are these microseconds?" if in that unit `value` is at most `most` seconds.
  static std::string unit_question(double value, double most) {
    for (const auto& [per_second, name] :
         {std::pair{1e3, "milliseconds"}, std::pair{1e6, "microseconds"}, std::pair{1e9, "nanoseconds"}})
      if (std::abs(value) <= most * per_second) return fmt::format("; are these {}?", name);
    return {};
  }

  /// Seconds; `usual` is the largest plausible value.
  double seconds(Column column, double least, double most, double usual) {
    const std::string_view text = field(column);
    const std::optional<double> value = decimal_of(text);
    if (value && *value >= least && *value <= most) return *value;
    const std::string_view name = column_names[static_cast<std::size_t>(column)];
    const std::string hint = fmt::format("write seconds, from {:.0f} to {:.0f}", least, most);
    const bool too_large = value && *value > most;
    if (!too_large) {
      fault(name, text, hint);
    } else if (OutOfRange& found = too_large_[name]; ++found.count == 1) {
      found.first = {fmt::format("{}:{}", name_, line_), fmt::format("{} is {}", name, in_quotes(text)),
                     hint + unit_question(*value, usual)};
    }
    return 0;
  }

  void report_out_of_range() {
    for (auto& [name, found] : too_large_) {
      if (found.count > 1) found.first.what += fmt::format(", and {} more are too large", found.count - 1);
      problems_.add(std::move(found.first.where), std::move(found.first.what), std::move(found.first.hint));
    }
  }

  void read_row(std::string_view line) {
    if (!split(line)) return;
    const std::string_view name = field(Column::optype);
    const auto* const known = std::ranges::find(kind_names, name, &KindName::name);
    if (known == kind_names.end()) {
      count_unused(name);
      return;
    }
    constexpr std::int64_t any = std::numeric_limits<std::int32_t>::max();
    Row row;
    row.kind = known->kind;
    row.replica = static_cast<std::uint32_t>(std::max(whole(Column::dp_rank, 0, any), std::int64_t{0}));
    row.stage = static_cast<std::uint32_t>(whole(Column::stage, 0, Limits::stages - 1));
    row.rank = whole(Column::rank, -1, any);
    row.step = whole(Column::step, 0, std::numeric_limits<std::int64_t>::max());
    row.sequence = whole(Column::seq_id, -1, any);
    row.chunk_of_stage = whole(Column::mc, -1, max_chunk);
    row.microbatch = whole(Column::mb_id, -1, max_microbatch);
    row.chunk = whole(Column::gmc, -1, max_chunk);
    const double start = seconds(Column::start_ts, -latest_start, latest_start, latest_start);
    const double length = seconds(Column::duration, 0, longest, longest_seen);
    row.start = std::llround(start * nanoseconds_per_second);
    row.end = row.start + std::llround(length * nanoseconds_per_second);
    if ((row.kind == Kind::forward || row.kind == Kind::backward) && row.microbatch < 0)
      fault("mb_id", field(Column::mb_id), "a pass belongs to a microbatch: count them from 0");
    found_.largest_start = std::max(found_.largest_start, std::abs(start));
    found_.single_precision = found_.single_precision && static_cast<double>(static_cast<float>(start)) == start;
    found_.rows.push_back(row);
  }

  void count_unused(std::string_view name) {
    const auto known = found_.unused.find(name);
    if (known != found_.unused.end())
      ++known->second;
    else if (found_.unused.size() < most_names)
      found_.unused.emplace(name, 1);
    else
      ++found_.unused[{}];
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::string_view rest_;
  std::size_t whole_;
  std::string_view name_;
  Found& found_;
  const std::function<void(double)>& progress_;
  std::vector<std::size_t> at_ = std::vector<std::size_t>(column_names.size(), none); ///< by Column
  std::array<std::string_view, most_columns> fields_;
  std::size_t columns_ = 0;
  std::size_t line_ = 0;
  std::map<std::string_view, OutOfRange> too_large_; ///< by column
  Problems problems_;
};

/// Converts rows to a Recorded.
class Conversion {
public:
  Conversion(Found found, const ImportOptions& options) : found_{std::move(found)} {
    stages_ = options.stages.value_or(1);
    for (const Row& row : found_.rows) stages_ = std::max(stages_, row.stage + std::size_t{1});
  }

  Recorded run() {
    keep_one_rank();
    for (const Row& row : found_.rows)
      if (row.kind == Kind::forward || row.kind == Kind::backward) chunks_ = std::max(chunks_, chunk_of(row) + 1);
    sort_rows();
    for (auto begin = found_.rows.begin(); begin != found_.rows.end();) {
      const auto end =
          std::find_if(begin, found_.rows.end(), [&](const Row& row) { return place(row) != place(*begin); });
      convert({begin, end});
      begin = end;
    }
    for (const auto& [name, count] : found_.unused) recorded_.dropped[unused_words(name)] += count;
    note_missing_stages();
    recorded_.facts.backend = "import";
    recorded_.facts.compute = "operations of a training run";
    recorded_.one_clock = true;
    recorded_.time_error = clock_mismatch;
    if (found_.single_precision) // two neighbouring floats, both rounded
      recorded_.time_error += std::llround(found_.largest_start * nanoseconds_per_second *
                                           static_cast<double>(std::numeric_limits<float>::epsilon()));
    return std::move(recorded_);
  }

private:
  static std::tuple<std::uint32_t, std::int64_t, std::uint32_t> place(const Row& row) {
    return {row.replica, row.step, row.stage};
  }

  [[nodiscard]] std::size_t chunk_of(const Row& row) const {
    if (row.chunk >= 0) return static_cast<std::size_t>(row.chunk);
    return static_cast<std::size_t>(std::max(row.chunk_of_stage, std::int64_t{0})) * stages_ + row.stage;
  }

  /// Ranks of one stage and replica (tensor parallelism) run the same: keeps the lowest.
  void keep_one_rank() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> lowest;
    for (const Row& row : found_.rows) {
      const auto [at, is_new] = lowest.try_emplace({row.replica, row.stage}, row.rank);
      if (!is_new) at->second = std::min(at->second, row.rank);
    }
    const std::size_t others = std::erase_if(found_.rows, [&](const Row& row) {
      return row.rank != lowest.at({row.replica, row.stage});
    });
    recorded_.dropped["operations of other ranks of a stage, which repeat those of its lowest"] += others;
  }

  void sort_rows() {
    std::ranges::sort(found_.rows, {}, [](const Row& row) {
      return std::tuple{row.replica,  row.step, row.stage,      row.kind, row.start,
                        row.sequence, row.end,  row.microbatch, row.chunk};
    });
  }

  /// Of a stage in a step: forwards, then backwards.
  using PassesByDirection = std::array<std::vector<Task>, 2>;

  void add_task(const Row& row, PassesByDirection& senders, PassesByDirection& receivers) {
    const std::size_t chunk = std::min<std::size_t>(chunk_of(row), max_chunk);
    const bool forward = row.kind == Kind::forward;
    const Task task =
        make_task(forward ? Pass::forward : Pass::backward, chunk, static_cast<std::size_t>(row.microbatch));
    recorded_.tasks.push_back({row.replica, row.stage, row.step, task, row.start, row.end});
    if (chunk + 1 < chunks_) (forward ? senders[0] : receivers[1]).push_back(task);
    if (chunk > 0) (forward ? receivers[0] : senders[1]).push_back(task);
  }

  /// The operations of a stage in a step, by kind in time order.
  void convert(std::span<const Row> rows) {
    PassesByDirection senders;
    PassesByDirection receivers;
    for (const Row& row : rows) {
      switch (row.kind) {
      case Kind::forward:
      case Kind::backward:
        add_task(row, senders, receivers);
        break;
      case Kind::forward_send:
      case Kind::forward_recv:
      case Kind::backward_send:
      case Kind::backward_recv:
        add_transfer(row, row.kind == Kind::forward_send || row.kind == Kind::backward_send ? senders : receivers);
        break;
      case Kind::reduction:
      case Kind::tied_reduction:
      case Kind::optimizer:
        add_update(row);
        break;
      case Kind::other:
        break;
      }
    }
  }

  /// The k-th send of a stage belongs to its k-th pass that sends; the same for receives.
  void add_transfer(const Row& row, PassesByDirection& passes) {
    const bool forward = row.kind == Kind::forward_send || row.kind == Kind::forward_recv;
    std::vector<Task>& list = passes[forward ? 0 : 1];
    const auto key = std::pair{place(row), row.kind};
    if (key != counted_) {
      counted_ = key;
      count_ = 0;
    }
    if (count_ >= list.size()) {
      if (list.empty()) note_missing_neighbour(row);
      ++recorded_.dropped["sends and receives beyond those of the passes of their stage"];
      return;
    }
    recorded_.transfers.push_back({.replica = row.replica,
                                   .stage = row.stage,
                                   .step = row.step,
                                   .task = list[count_++],
                                   .is_send = row.kind == Kind::forward_send || row.kind == Kind::backward_send,
                                   .start = row.start,
                                   .end = row.end});
  }

  /// Notes that a stage exchanges with one without passes: the last one with later ones, the first with earlier ones.
  void note_missing_neighbour(const Row& row) {
    const bool behind = row.kind == Kind::forward_send || row.kind == Kind::backward_recv;
    if (behind ? row.stage + std::size_t{1} >= chunks_ : row.stage == 0) missing_.insert({row.stage, behind});
  }

  void note_missing_stages() {
    for (const auto& [stage, behind] : missing_)
      recorded_.notes.push_back(
          behind ? fmt::format("stage {0} exchanges activations and gradients with a stage after it, but none was "
                               "found: the work of stage {1} is missing from the run and its costs; give its file too",
                               stage, stage + 1)
                 : fmt::format("stage {} exchanges activations and gradients with a stage before it, but none was "
                               "found: are stages counted from 0, and is the file of the first stage missing?",
                               stage));
  }

  void add_update(const Row& row) {
    UpdateEvent event{.replica = row.replica, .stage = row.stage, .step = row.step, .start = row.start, .end = row.end};
    event.chunk = static_cast<std::uint32_t>(chunk_of(row));
    event.kind = UpdateEvent::Kind::reduction;
    if (row.kind == Kind::optimizer) {
      event.kind = UpdateEvent::Kind::optimizer;
      event.chunk = 0;
    } else if (row.kind == Kind::tied_reduction) {
      event.kind = UpdateEvent::Kind::tied_reduction;
      event.chunk = row.stage == 0 ? 0 : static_cast<std::uint32_t>(chunks_ - 1);
    }
    recorded_.updates.push_back(event);
  }

  Found found_;
  Recorded recorded_;
  std::size_t stages_ = 1;
  std::size_t chunks_ = 1;
  std::pair<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>, Kind> counted_{};
  std::size_t count_ = 0;
  std::set<std::pair<std::uint32_t, bool>> missing_; ///< stages with a neighbour without passes; true: a later one
};

/// The number of microbatches in the rows of one file.
std::int64_t microbatches_of(std::span<const Row> rows) {
  std::int64_t last = -1;
  for (const Row& row : rows)
    if (row.kind == Kind::forward || row.kind == Kind::backward) last = std::max(last, row.microbatch);
  return last + 1;
}

} // namespace

Recorded read_op_trace(std::span<const ImportFile> files, const ImportOptions& options) {
  double all = 0; // bytes
  for (const ImportFile& file : files) all += static_cast<double>(file.bytes.size());
  Found found;
  double before = 0;
  const ImportFile* first = nullptr; ///< the first file with passes, and its number of microbatches
  std::int64_t microbatches = 0;
  for (const ImportFile& file : files) {
    const auto size = static_cast<double>(file.bytes.size());
    const std::function<void(double)> progress = [&](double share) {
      if (options.progress && all > 0) options.progress((before + share * size) / all);
    };
    const PlainFile plain{file, most_unpacked};
    const std::size_t rows_before = found.rows.size();
    Reader{plain.bytes(), file.name, found, progress}.read();
    if (const std::int64_t here = microbatches_of(std::span{found.rows}.subspan(rows_before)); here > 0) {
      if (first == nullptr) first = &file, microbatches = here;
      if (here != microbatches)
        throw Error{ExitCode::bad_input,
                    Problem{file.name,
                            fmt::format("it has {} microbatches, but {} has {}: the files are from different runs",
                                        here, first->name, microbatches),
                            "import each run by itself"}};
    }
    progress(1);
    before += size;
  }
  return Conversion{std::move(found), options}.run();
}

const ImportFormat op_trace::definition{
    .name = "op-trace",
    .files = "*.csv, *.csv.gz",
    .what = "operations of a training run as ByteDance published them: dp_rank, stage, rank, step, optype, start_ts, "
            "duration, ...; all ranks in one file or several",
    .sign = "optype",
    .takes_vpp = false,
    .read = [](std::span<const ImportFile> files, const ImportOptions& options) {
      const std::string where = joined(std::views::transform(files, &ImportFile::name), ", ");
      return assemble(read_op_trace(files, options), options, where);
    }};

} // namespace ppsim::traces
