#pragma once
// Dumps of NCCL's example profiler plugin: what sends and receives took on the device or on the network.

#include "ppsim/measured/link_fit.hpp"
#include "ppsim/traces/import.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace ppsim::traces {

/// Sends and receives of one size between two ranks of a communicator, in the order of the files. Durations in
/// nanoseconds, 0 where it was not recorded; of a send through a network less the time in which it only waited.
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
/// was recorded of one side alone as it is. A dump holds the last events of a rank, so that they are matched from the
/// last one on.
struct TransferTimes {
  std::vector<std::int64_t> times;
  std::size_t one_sided = 0; ///< how many of them
};
[[nodiscard]] TransferTimes transfer_times(const NcclTransfers& transfers);

/// fit_link() of times, in nanoseconds, by bytes; nothing where sizes do not differ enough to tell.
[[nodiscard]] std::optional<LinkFit> fit_transfers(const std::map<std::int64_t, double>& times);

/// Latency, bandwidth and size as lines of a scenario, with what each pair of ranks had as notes. Throws Error as
/// above, also where no transfer has a time.
[[nodiscard]] Imported import_nccl_profiler(std::span<const ImportFile> files, const ImportOptions& options);

} // namespace ppsim::traces
