#pragma once
// Dumps of NCCL's example profiler plugin: what sends and receives took on the device or on the network.

#include "ppsim/traces/import.hpp"

#include <cstdint>
#include <map>
#include <tuple>

namespace ppsim::traces {

/// Sends and receives of one size between two ranks of a communicator, in the order of the files. Durations in
/// nanoseconds; of a send through a network less the time in which it only waited.
struct NcclTransfers {
  std::vector<std::int64_t> sends, receives;
};
/// Communicator, sender, receiver, bytes.
using NcclLink = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

struct NcclDump {
  std::map<NcclLink, NcclTransfers> links;
  std::map<std::string, std::size_t> dropped; ///< reason: how many
};

/// Reads dumps. Throws Error (bad_input) with file and line for what is none.
[[nodiscard]] NcclDump read_nccl_dump(std::span<const ImportFile> files, const ImportOptions& options);
/// Times of the transfers of a link, rising: of the two sides of each the lesser, as the other one waited for it; what
/// has one side alone as it is. A dump holds the last events of a rank, so that they are matched from the last one on.
[[nodiscard]] std::vector<std::int64_t> transfer_times(const NcclTransfers& transfers);

/// Time of transfers by size: a fixed part and one by size.
struct TransferFit {
  double latency = 0;          ///< nanoseconds
  double bytes_per_second = 0; ///< 0: sizes do not differ enough to tell
};
/// Least squares of the relative errors over (bytes, nanoseconds), both positive; no latency below zero.
[[nodiscard]] TransferFit fit_transfers(const std::map<std::int64_t, double>& times);

/// Latency, bandwidth and size as lines of a scenario, with what each pair of ranks had as notes. Throws Error as
/// above, also where no transfer has a time.
[[nodiscard]] Imported import_nccl_profiler(std::span<const ImportFile> files, const ImportOptions& options);

} // namespace ppsim::traces
