#pragma once
// Dumps of NCCL's example profiler plugin: times of sends and receives on the device or on the network.

#include "ppsim/measured/link_fit.hpp"
#include "ppsim/traces/import.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace ppsim::traces {

/// Sends and receives of one size between two ranks of a communicator, in file order. Durations in nanoseconds, 0 if
/// unrecorded; for a send through a network, without the time in which it only waited.
struct NcclTransfers {
  std::vector<std::int64_t> sends, receives;
};
/// Communicator, sender, receiver, bytes.
using NcclLink = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

struct NcclDump {
  std::map<NcclLink, NcclTransfers> links;
  std::map<std::string, std::size_t> dropped; ///< reason: how many
};

/// Reads dumps. Throws Error (bad_input) with file and line for other files.
[[nodiscard]] NcclDump read_nccl_dump(std::span<const ImportFile> files, const ImportOptions& options);
/// Times of the transfers of a link, rising: the shorter of the two sides of each, because the other one waited for it;
/// of one side alone as recorded. A dump contains the last events of a rank, so sides are matched from the last one
/// backwards.
struct TransferTimes {
  std::vector<std::int64_t> times;
  std::size_t one_sided = 0; ///< number of transfers with one side
};
[[nodiscard]] TransferTimes transfer_times(const NcclTransfers& transfers);

/// fit_link() for times in nanoseconds, by bytes; none if the sizes do not differ enough.
[[nodiscard]] std::optional<LinkFit> fit_transfers(const std::map<std::int64_t, double>& times);

/// Latency, bandwidth and size as scenario lines, with notes for each pair of ranks. Throws Error as above, also if no
/// transfer has a time.
[[nodiscard]] Imported import_nccl_profiler(std::span<const ImportFile> files, const ImportOptions& options);

} // namespace ppsim::traces
