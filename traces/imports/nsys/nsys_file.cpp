// The tables of `nsys export --type sqlite` (docs.nvidia.com, Nsight Systems, exporter schema). Tables exist only if
// they have content, and their columns vary, so any of them may be missing.
//
//   NVTX_EVENTS                   start, end, eventType, text, textId, globalTid: what the program says it does
//   CUPTI_ACTIVITY_KIND_RUNTIME   start, globalTid, correlationId: the calls that launch kernels
//   CUPTI_ACTIVITY_KIND_KERNEL    start, end, streamId, correlationId, globalPid, shortName: what ran on a device
//   CUPTI_ACTIVITY_KIND_MEMCPY    start, end, streamId, correlationId, globalPid: copies; fills (..._MEMSET) in the
//   same way StringIds                     id, value: texts
//
// A call and its kernel have the same correlation in the same process.

#include "nsys_file.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "imports/gunzip.hpp"
#include "sqlite_reader.hpp"

namespace ppsim::traces {
namespace {

using Kind = PpAction::Kind;

constexpr std::int64_t push_pop_range = 59; ///< NvtxPushPopRange of ENUM_NSYS_EVENT_TYPE
constexpr std::int64_t start_end_range = 60;
constexpr unsigned thread_bits = 24; ///< of a globalTid; the bits before are the process
constexpr const char* stray_transfer = "NCCL sends and receives outside of PP:SEND and PP:RECV";
constexpr std::size_t deepest_nesting = 64;

bool is_nccl_call(std::string_view name) {
  return name.starts_with("ncclSend") || name.starts_with("ncclRecv");
}
/// "ncclDevKernel_SendRecv(...)", and "ncclKernel_SendRecv_RING_..." before.
bool is_send_recv(std::string_view name) {
  return name.starts_with("nccl") && name.find("SendRecv") != std::string_view::npos;
}

/// The action of a timer of Megatron-LM.
std::optional<PpAction> timer_action(std::string_view name) {
  if (name == "forward-compute") return PpAction{Kind::task, make_task(Pass::forward, 0, 0)};
  if (name == "backward-compute") return PpAction{Kind::task, make_task(Pass::backward, 0, 0)};
  if (name == "optimizer") return PpAction{Kind::optimizer, {}};
  return std::nullopt;
}
/// forward-recv, forward-send-backward-recv, ...
bool is_transfer_timer(std::string_view name) {
  return (name.starts_with("forward-") || name.starts_with("backward-")) &&
         (name.ends_with("-send") || name.ends_with("-recv"));
}

bool has_content(std::string_view name) {
  return name.starts_with("PP:") || name.starts_with("Optimizer.step#") || is_nccl_call(name) || timer_action(name) ||
         is_transfer_timer(name);
}

/// A call that launched work inside a range.
struct Launch {
  std::uint64_t process = 0;
  std::int64_t correlation = 0;
  std::size_t range = 0;
};

class FileReader {
public:
  FileReader(std::string_view bytes, std::string_view name) : database_{bytes, name} { file_.name = name; }

  NsysFile read() {
    read_texts();
    read_ranges();
    read_session();
    if (!file_.ranges.empty()) {
      process_known_ = has("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid");
      read_launches();
      read_kernels("CUPTI_ACTIVITY_KIND_KERNEL");
      read_kernels("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"); // graphs traced as a whole
      read_kernels("CUPTI_ACTIVITY_KIND_MEMCPY", true);
      read_kernels("CUPTI_ACTIVITY_KIND_MEMSET", true);
    }
    take_pairs_apart(file_.ranges, &NsysRange::action);
    return std::move(file_);
  }

private:
  void drop(const char* why) { ++file_.dropped[why]; }

  [[nodiscard]] bool has(std::string_view table, std::string_view column) {
    const std::vector<std::string> columns = database_.columns(table);
    return std::ranges::find(columns, column) != columns.end();
  }

  void read_texts() {
    database_.each("StringIds", {"id", "value"}, [&](const SqliteRow& row) {
      const std::optional<std::int64_t> id = row.integer(0);
      if (!id) return;
      if (is_send_recv(row.text(1))) send_recv_.insert(*id);
      if (has_content(row.text(1))) texts_.emplace(*id, row.text(1));
    });
  }

  void read_ranges() {
    database_.each("NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"},
                   [&](const SqliteRow& row) {
                     const std::int64_t type = row.integer(2).value_or(push_pop_range);
                     if (type != push_pop_range && type != start_end_range) return;
                     std::string_view name = row.text(3);
                     if (name.empty() && row.integer(4))
                       if (const auto found = texts_.find(*row.integer(4)); found != texts_.end()) name = found->second;
                     name = name.substr(0, name.find(',')); // PyTorch's emit_nvtx() appends ", op_id = 12"
                     if (has_content(name)) add_range(name, row);
                   });
    std::ranges::stable_sort(file_.ranges, {}, [](const NsysRange& range) {
      return std::pair{range.thread, range.start};
    });
    for (std::size_t i = 0; i < file_.ranges.size(); ++i) {
      const std::uint64_t thread = file_.ranges[i].thread;
      if (const auto [place, is_new] = first_of_.emplace(thread, i); is_new)
        threads_of_[thread >> thread_bits].push_back(thread);
    }
    nest_ranges();
  }

  /// Finds the enclosing range of each range: the last opened one that was still open on its thread.
  void nest_ranges() {
    around_.resize(file_.ranges.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < file_.ranges.size(); ++i) {
      const NsysRange& range = file_.ranges[i];
      const auto is_over = [&](const NsysRange& other) {
        return other.thread != range.thread || other.end < range.start;
      };
      while (!open.empty() && is_over(file_.ranges[open.back()])) open.pop_back();
      if (!open.empty()) around_[i] = open.back();
      open.push_back(i);
    }
  }

  void add_range(std::string_view name, const SqliteRow& row) {
    if (is_nccl_call(name)) return drop("NCCL ranges (ncclSend, ncclRecv), which do not say the microbatch");
    if (is_transfer_timer(name)) return drop("timers of sends and receives, which do not say the microbatch");
    const bool annotated = name.starts_with("PP:");
    const std::optional<PpAction> timer = timer_action(name);
    const std::optional<PpAction> action = annotated ? parse_pp_action(name.substr(3))
                                           : timer   ? timer
                                                     : std::optional{PpAction{Kind::optimizer, {}}};
    if (!action) return drop(unknown_action);
    if (action->kind == Kind::shard) return drop("ranges that shard parameters (UNSHARD, RESHARD)");
    const std::optional<std::int64_t> start = row.time(0);
    const std::optional<std::int64_t> end = row.time(1);
    if (!start || !end || *end < *start) return drop("ranges that did not end");
    file_.ranges.push_back({.thread = static_cast<std::uint64_t>(row.integer(5).value_or(0)),
                            .start = *start,
                            .end = *end,
                            .action = *action,
                            .is_timer = timer.has_value()});
  }

  void read_session() {
    database_.each("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const SqliteRow& row) {
      if (!file_.utc) file_.utc = row.integer(0);
    });
    database_.each("TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const SqliteRow& row) {
      if (row.text(0) == "Hostname" && file_.host.empty()) file_.host = row.text(1);
    });
    database_.each("TARGET_INFO_GPU", {"name"}, [&](const SqliteRow& row) {
      if (file_.device.empty()) file_.device = row.text(0);
    });
  }

  /// The innermost open range of a thread at a time.
  [[nodiscard]] std::optional<std::size_t> range_at(std::uint64_t thread, std::int64_t time) {
    const auto first = first_of_.find(thread);
    if (first == first_of_.end()) return std::nullopt;
    const auto begin = file_.ranges.begin() + static_cast<std::ptrdiff_t>(first->second);
    const auto behind = std::partition_point(begin, file_.ranges.end(), [&](const NsysRange& range) {
      return range.thread == thread && range.start <= time;
    });
    if (behind == begin) return std::nullopt;
    std::optional<std::size_t> at = static_cast<std::size_t>(behind - file_.ranges.begin()) - 1;
    for (std::size_t tries = 0; at && file_.ranges[*at].end < time; ++tries) {
      if (tries == deepest_nesting) {
        drop("CUDA calls inside of more than 64 ranges");
        return std::nullopt;
      }
      at = around_[*at];
    }
    return at;
  }

  /// The range of a call. Backwards are launched by threads of autograd without ranges: they use those of the thread
  /// that waits for them.
  [[nodiscard]] std::optional<std::size_t> range_of(std::uint64_t thread, std::int64_t time) {
    if (first_of_.contains(thread)) return range_at(thread, time);
    const auto threads = threads_of_.find(thread >> thread_bits);
    if (threads == threads_of_.end()) return std::nullopt;
    if (threads->second.size() == 1) return range_at(threads->second.front(), time);
    drop("CUDA calls of a thread without ranges, in a process where several threads have some");
    return std::nullopt;
  }

  void read_launches() {
    database_.each("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "globalTid", "correlationId"}, [&](const SqliteRow& row) {
      const auto start = row.time(0);
      const auto thread = row.integer(1);
      const auto correlation = row.integer(2);
      if (!start || !thread || !correlation) return drop("CUDA calls without a time, a thread or a correlation");
      if (const auto range = range_of(static_cast<std::uint64_t>(*thread), *start))
        launches_.push_back({process_of(*thread), *correlation, *range});
    });
    std::ranges::stable_sort(launches_, {}, key);
  }

  static std::pair<std::uint64_t, std::int64_t> key(const Launch& launch) {
    return {launch.process, launch.correlation};
  }
  [[nodiscard]] std::uint64_t process_of(std::int64_t global) const {
    return process_known_ ? static_cast<std::uint64_t>(global) >> thread_bits : 0;
  }

  void read_kernels(std::string_view table, bool is_copy = false) {
    database_.each(table, {"start", "end", "streamId", "correlationId", "globalPid", "shortName", "demangledName"},
                   [&](const SqliteRow& row) {
                     file_.has_kernels = file_.has_kernels || !is_copy;
                     const auto start = row.time(0);
                     const auto end = row.time(1);
                     const auto correlation = row.integer(3);
                     if (!start || !end || *end < *start || !correlation)
                       return drop("kernels and copies without times or a correlation");
                     const bool sends = send_recv_.contains(row.integer(5).value_or(-1)) ||
                                        send_recv_.contains(row.integer(6).value_or(-1));
                     const std::pair launch{process_of(row.integer(4).value_or(0)), *correlation};
                     const auto found = std::ranges::lower_bound(launches_, launch, {}, key);
                     if (found == launches_.end() || key(*found) != launch) {
                       if (sends) drop(stray_transfer);
                       return;
                     }
                     add_kernel(file_.ranges[found->range], static_cast<std::uint64_t>(row.integer(2).value_or(0)),
                                {*start, *end}, sends);
                   });
  }

  void add_kernel(NsysRange& range, std::uint64_t stream, Stretch time, bool sends) {
    const bool is_transfer = range.action.kind == Kind::send || range.action.kind == Kind::receive;
    if (is_transfer != sends) {
      if (sends) drop(stray_transfer);
      return;
    }
    extend(range.extents, stream, time);
  }

  SqliteReader database_;
  NsysFile file_;
  std::unordered_map<std::int64_t, std::string> texts_;     ///< by id: those with relevant content
  std::unordered_set<std::int64_t> send_recv_;              ///< ids of names of NCCL's send and receive kernels
  std::vector<std::optional<std::size_t>> around_;          ///< by range: the enclosing one
  std::unordered_map<std::uint64_t, std::size_t> first_of_; ///< by thread: its first range
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> threads_of_; ///< by process: those with ranges
  std::vector<Launch> launches_;
  bool process_known_ = false; ///< kernels have their process
};

} // namespace

NsysFile read_nsys_file(const ImportFile& file) {
  const PlainFile plain{file, most_unpacked_whole};
  return FileReader{plain.bytes(), file.name}.read();
}

} // namespace ppsim::traces
