// Dumps of NCCL's example profiler plugin (NCCL 2.23 and later). They resemble JSON, but have words without quotes,
// hexadecimal numbers, and an empty object at the end. Events of one send or receive are between its "b" and its "e".
// That interval is only the processor's launch time, so times come from its kernels or from the proxy that feeds the
// network.

#include "nccl_profiler.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "imports/gunzip.hpp"
#include "imports/import_list.hpp"
#include "imports/kineto/json_windows.hpp"
#include "imports/kineto/kineto_trace.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

constexpr std::string_view how_to_dump =
    "set NCCL_PROFILER_PLUGIN to NCCL's example plugin, NCCL_PROFILE_DUMP_FILE, and NCCL_PROFILE_EVENT_MASK to 4095";

[[noreturn]] void refuse(std::string_view name, std::string_view text, std::size_t at, std::string what) {
  const auto line = std::ranges::count(text.substr(0, at), '\n') + 1;
  throw Error{ExitCode::bad_input, {fmt::format("{}:{}", name, line), std::move(what), std::string{how_to_dump}}};
}

/// The word after "key": in an event, without quotes; empty if there is none.
std::string_view field(std::string_view event, std::string_view key) {
  for (std::size_t at = event.find(key); at != std::string_view::npos; at = event.find(key, at + 1)) {
    std::size_t end = at + key.size();
    if (at == 0 || event[at - 1] != '"' || end >= event.size() || event[end] != '"') continue;
    end = skip_space(event, end + 1);
    if (end >= event.size() || event[end] != ':') continue;
    end = skip_space(event, end + 1);
    if (end < event.size() && event[end] == '"') {
      const std::size_t close = event.find('"', end + 1);
      return close == std::string_view::npos ? std::string_view{} : event.substr(end + 1, close - end - 1);
    }
    return event.substr(end, event.find_first_of(",} \t\r\n", end) - end);
  }
  return {};
}

std::int64_t bytes_of_nccl_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 17> sizes{{
      {"ncclInt8", 1},
      {"ncclChar", 1},
      {"ncclUint8", 1},
      {"ncclInt32", 4},
      {"ncclInt", 4},
      {"ncclUint32", 4},
      {"ncclInt64", 8},
      {"ncclUint64", 8},
      {"ncclFloat16", 2},
      {"ncclHalf", 2},
      {"ncclFloat32", 4},
      {"ncclFloat", 4},
      {"ncclFloat64", 8},
      {"ncclDouble", 8},
      {"ncclBfloat16", 2},
      {"ncclFloat8e4m3", 1},
      {"ncclFloat8e5m2", 1},
  }};
  for (const auto& [text, bytes] : sizes)
    if (text == name) return bytes;
  return 0;
}

/// Merges overlapping intervals.
void merge(std::vector<Stretch>& stretches) {
  std::ranges::sort(stretches, {}, &Stretch::start);
  std::size_t kept = 0;
  for (const Stretch& stretch : stretches) {
    if (kept > 0 && stretch.start <= stretches[kept - 1].end) {
      stretches[kept - 1].end = std::max(stretches[kept - 1].end, stretch.end);
    } else {
      stretches[kept++] = stretch;
    }
  }
  stretches.resize(kept);
}

std::int64_t length(const std::vector<Stretch>& stretches) {
  return std::accumulate(stretches.begin(), stretches.end(), std::int64_t{0},
                         [](std::int64_t sum, const Stretch& one) { return sum + (one.end - one.start); });
}

/// The time in `waits` outside all `flows`.
std::int64_t only_waited(std::vector<Stretch> waits, std::vector<Stretch> flows) {
  merge(flows);
  const std::int64_t flowing = length(flows);
  flows.insert(flows.end(), waits.begin(), waits.end());
  merge(flows);
  return length(flows) - flowing;
}

/// A send or receive whose events are being read.
struct Open {
  bool is_send = false;
  NcclLink link;
  std::optional<Stretch> kernels;    ///< from the first to the last, on the GPU's clock
  std::optional<Stretch> proxies;    ///< as above
  std::vector<Stretch> waits, flows; ///< of a send through a network
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> begun; ///< open intervals of the above, by name and id
};

class DumpReader {
public:
  DumpReader(std::string_view text, std::string_view name, NcclDump& dump) : text_{text}, name_{name}, dump_{dump} {}

  void read(const std::function<void(double)>& progress) {
    constexpr std::size_t events_per_report = 4096;
    std::size_t at = next_event(0);
    if (at >= text_.size() && text_.find('[') == std::string_view::npos)
      refuse(name_, text_, 0, "this is not a dump of the profiler plugin: it has no events");
    for (std::size_t count = 0; at < text_.size(); at = next_event(at), ++count) {
      if (progress && count % events_per_report == 0)
        progress(static_cast<double>(at) / static_cast<double>(text_.size()));
      const std::optional<std::size_t> end = skip_value(text_, at);
      if (!end) { // the program ended while writing
        ++dump_.dropped["events that are cut off"];
        break;
      }
      take(text_.substr(at, *end - at), at);
      at = *end;
    }
    lose_open();
  }

private:
  /// The next '{', after white space, brackets of the list, commas and comments.
  [[nodiscard]] std::size_t next_event(std::size_t at) const {
    while (at < text_.size() && text_[at] != '{') {
      const std::string_view rest = text_.substr(at);
      if (rest.starts_with("//") || rest.starts_with('#')) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (rest.starts_with("/*")) {
        const std::size_t end = text_.find("*/", at + 2);
        if (end == std::string_view::npos) refuse(name_, text_, at, "this comment has no end");
        at = end + 2;
      } else if (std::string_view{" \t\r\n,[]"}.find(text_[at]) != std::string_view::npos) {
        ++at;
      } else {
        refuse(name_, text_, at, fmt::format("expected an event, got {}", in_quotes(rest.substr(0, rest.find('\n')))));
      }
    }
    return at;
  }

  void take(std::string_view event, std::size_t at) {
    const std::string_view category = field(event, "cat");
    const std::string_view phase = field(event, "ph");
    const std::string_view name = field(event, "name");
    if (category == "P2P") {
      if (phase == "b") return begin(event, name, at);
      if (phase == "e" && open_) finish();
      return;
    }
    if (category == "GPU" && open_) return take_kernel(event);
    if (category == "PROXY" && open_) return take_proxy(event, name, phase);
    if (category == "NET" && open_) return take_step(event, name, phase);
    if (category == "COLL" && phase == "b") ++dump_.dropped["collectives"];
  }

  void begin(std::string_view event, std::string_view name, std::size_t at) {
    lose_open();
    const auto rank = number_of<std::int64_t>(field(event, "Rank"));
    const auto peer = number_of<std::int64_t>(field(event, "Peer"));
    const auto count = number_of<std::int64_t>(field(event, "Count"));
    constexpr std::int64_t most = std::int64_t{1} << 50U;
    if (!rank || !peer || !count || *rank < 0 || *peer < 0 || *count < 0 || *count > most)
      refuse(name_, text_, at, "a send or receive without valid Rank, Peer and Count");
    const std::int64_t size = bytes_of_nccl_type(field(event, "Datatype"));
    if (size == 0 || *count == 0) {
      ++dump_.dropped["sends and receives of nothing, or of an unknown type"];
      return;
    }
    const std::uint64_t communicator = number_of<std::uint64_t>(field(event, "CommHash")).value_or(0);
    open_ = std::make_unique<Open>();
    open_->is_send = name == "Send" || name == "ncclSend";
    open_->link = {communicator, open_->is_send ? *rank : *peer, open_->is_send ? *peer : *rank, *count * size};
  }

  void take_kernel(std::string_view event) {
    const auto start = number_of<std::uint64_t>(field(event, "StartGpuClk"));
    const auto stop = number_of<std::uint64_t>(field(event, "StopGpuClk"));
    constexpr std::uint64_t last_tick = std::uint64_t{1} << 62U;
    if (start && stop && *start > 0 && *start < *stop && *stop < last_tick)
      extend(open_->kernels, {static_cast<std::int64_t>(*start), static_cast<std::int64_t>(*stop)});
  }

  /// The interval of an event that closes an open one; otherwise none. Unrecorded times are zero.
  std::optional<Stretch> stretch(std::string_view event, std::string_view name, std::string_view phase) {
    const std::optional<std::int64_t> time = microseconds(field(event, "ts"));
    const std::pair<std::string, std::int64_t> key{name, number_of<std::int64_t>(field(event, "id")).value_or(0)};
    if (!time || *time == 0) return std::nullopt;
    if (phase == "b") {
      open_->begun[key] = *time;
      return std::nullopt;
    }
    const auto begun = open_->begun.find(key);
    if (begun == open_->begun.end()) return std::nullopt;
    const Stretch found{begun->second, *time};
    open_->begun.erase(begun);
    return found.start <= found.end ? std::optional{found} : std::nullopt;
  }

  void take_proxy(std::string_view event, std::string_view name, std::string_view phase) {
    const bool moves = name == "ProgressSend" || name == "ProgressRecv" || name == "Send" || name == "Recv";
    if (!moves) return; // ScheduleSend: it has not begun
    if (const std::optional<Stretch> found = stretch(event, name, phase)) extend(open_->proxies, *found);
  }

  void take_step(std::string_view event, std::string_view name, std::string_view phase) {
    const bool waits = name == "SendPeerWait" || name == "SendGpuWait" || name == "SendBufferWait";
    const bool flows = name == "SendWait";
    if (!waits && !flows) return; // a receiver has one state for waiting and receiving (RecvWait)
    if (const std::optional<Stretch> found = stretch(event, name, phase))
      (flows ? open_->flows : open_->waits).push_back(*found);
  }

  void finish() {
    const std::unique_ptr<Open> open = std::move(open_);
    std::int64_t duration = 0;
    if (open->proxies)
      duration = open->proxies->end - open->proxies->start - only_waited(open->waits, open->flows);
    else if (open->kernels)
      duration = open->kernels->end - open->kernels->start;
    if (duration <= 0 || duration > max_duration.count()) {
      ++dump_.dropped["sends and receives whose time on the device or the network was not recorded"];
      duration = 0;
    }
    add(*open, duration);
  }

  void lose_open() {
    if (!open_) return;
    ++dump_.dropped["sends and receives without an end"];
    add(*open_, 0);
    open_.reset();
  }

  /// Transfers without a time keep their position, by which the two sides are matched.
  void add(const Open& open, std::int64_t duration) {
    NcclTransfers& transfers = dump_.links[open.link];
    (open.is_send ? transfers.sends : transfers.receives).push_back(duration);
  }

  std::string_view text_, name_;
  NcclDump& dump_;
  std::unique_ptr<Open> open_; ///< not closed yet
};

double mean_of_lowest_quarter(const std::vector<std::int64_t>& rising) {
  constexpr std::size_t quarters = 4;
  const std::size_t count = std::max<std::size_t>(1, rising.size() / quarters);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(rising[i]);
  return sum / static_cast<double>(count);
}

std::string as_time(double nanoseconds) {
  return format_closely(Duration{std::llround(nanoseconds)});
}

/// Statistics of the sizes sent.
struct Sizes {
  std::map<std::int64_t, double> times; ///< mean over the links of their lowest quarters
  std::map<std::int64_t, std::size_t> counts;
};

Sizes sizes_of(const NcclDump& dump, Imported& imported) {
  constexpr std::size_t most_notes = 16;
  Sizes sizes;
  std::map<std::int64_t, std::size_t> links;
  std::size_t without_peer = 0;
  for (const auto& [link, transfers] : dump.links) {
    const auto& [communicator, sender, receiver, bytes] = link;
    const auto [times, one_sided] = transfer_times(transfers);
    const double typical = mean_of_lowest_quarter(times);
    double& mean = sizes.times[bytes];
    std::size_t& count = links[bytes];
    mean = (mean * static_cast<double>(count) + typical) / static_cast<double>(count + 1);
    ++count;
    sizes.counts[bytes] += times.size();
    without_peer += one_sided;
    if (imported.notes.size() < most_notes)
      imported.notes.push_back(
          fmt::format("rank {} to {}, {}: {} transfers, fastest {}, lowest quarter {} ({:.2f} GB/s)", sender, receiver,
                      format_closely(Bytes{bytes}), times.size(), as_time(static_cast<double>(times.front())),
                      as_time(typical), static_cast<double>(bytes) / typical));
  }
  if (dump.links.size() > most_notes)
    imported.notes.push_back(fmt::format("{} more pairs of ranks and sizes", dump.links.size() - most_notes));
  if (without_peer > 0)
    imported.notes.push_back(
        fmt::format("only one side of {} transfers is in the files: their times may include waiting for the other side",
                    without_peer));
  return sizes;
}

ScenarioDocument costs_of(const Sizes& sizes) {
  ScenarioDocument costs;
  const std::optional<LinkFit> fit = fit_transfers(sizes.times);
  const auto most = std::ranges::max_element(sizes.counts, {}, [](const auto& size) { return size.second; });
  if (fit) {
    constexpr std::int64_t giga = 1'000'000'000;
    const std::int64_t rate = fit->bandwidth->bytes_per_second();
    costs.add("latency", toml_string(fmt::format("{}ns", fit->latency.count())),
              fmt::format("from transfers of {} sizes, {} to {}", sizes.times.size(),
                          format_closely(Bytes{sizes.times.begin()->first}),
                          format_closely(Bytes{sizes.times.rbegin()->first})));
    costs.add("bandwidth", toml_string(rate >= giga ? fmt::format("{:.3f}GB/s",
                                                                  static_cast<double>(rate) / static_cast<double>(giga))
                                                    : fmt::format("{}B/s", rate)));
  } else {
    costs.add("comm", toml_string(fmt::format("{:.0f}ns", sizes.times.at(most->first))),
              fmt::format("from {}: sizes do not differ enough to tell latency from bandwidth",
                          format_closely(Bytes{most->first})));
  }
  costs.add("boundary-bytes", toml_string(fmt::format("{}B", most->first)),
            fmt::format("the size that most transfers had ({} of {})", most->second,
                        std::accumulate(sizes.counts.begin(), sizes.counts.end(), std::size_t{0},
                                        [](std::size_t sum, const auto& size) { return sum + size.second; })));
  return costs;
}

} // namespace

NcclDump read_nccl_dump(std::span<const ImportFile> files, const ImportOptions& options) {
  NcclDump dump;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::function<void(double)> progress;
    if (options.progress)
      progress = [&](double share) {
        options.progress((static_cast<double>(i) + share) / static_cast<double>(files.size()));
      };
    const PlainFile plain{files[i], most_unpacked_whole};
    DumpReader{plain.bytes(), files[i].name, dump}.read(progress);
  }
  std::erase_if(dump.links, [](const auto& link) { return transfer_times(link.second).times.empty(); });
  if (options.progress) options.progress(1);
  return dump;
}

TransferTimes transfer_times(const NcclTransfers& transfers) {
  const std::size_t count = std::max(transfers.sends.size(), transfers.receives.size());
  const auto time_of = [&](const std::vector<std::int64_t>& side, std::size_t from_end) {
    return from_end < side.size() ? side[side.size() - 1 - from_end] : 0;
  };
  TransferTimes found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [less, more] = std::minmax({time_of(transfers.sends, i), time_of(transfers.receives, i)});
    if (more == 0) continue;
    found.times.push_back(less > 0 ? less : more);
    if (less == 0) ++found.one_sided;
  }
  std::ranges::sort(found.times);
  return found;
}

std::optional<LinkFit> fit_transfers(const std::map<std::int64_t, double>& times) {
  if (times.empty() || times.rbegin()->first < 2 * times.begin()->first) return std::nullopt;
  std::vector<LinkSample> samples;
  samples.reserve(times.size());
  for (const auto& [bytes, time] : times) samples.push_back({Bytes{bytes}, Duration{std::llround(time)}});
  const LinkFit fit = fit_link(samples);
  constexpr Bandwidth fastest{1'000'000'000'000'000}; // above every link: sizes made no difference
  return fit.bandwidth && *fit.bandwidth <= fastest ? std::optional{fit} : std::nullopt;
}

Imported import_nccl_profiler(std::span<const ImportFile> files, const ImportOptions& options) {
  const NcclDump dump = read_nccl_dump(files, options);
  if (dump.links.empty())
    throw Error{ExitCode::bad_input,
                {files.empty() ? "files" : files.front().name,
                 dump.dropped.empty() ? "it has no send or receive"
                                      : "it has no send or receive whose time on the device is known",
                 std::string{how_to_dump}}};
  Imported imported;
  imported.costs = costs_of(sizes_of(dump, imported));
  for (const auto& [reason, count] : dump.dropped) imported.dropped.push_back({reason, count});
  return imported;
}

const ImportFormat nccl_profiler::definition{
    .name = "nccl-profiler",
    .files = "*.json, *.txt",
    .what = "dumps of NCCL's example profiler plugin: latency and bandwidth of its sends",
    .sign = R"("cat": "GROUP)",
    .takes_stages = false,
    .takes_vpp = false,
    .no_runs = "transfers, not tasks",
    .read = import_nccl_profiler};

} // namespace ppsim::traces
