#pragma once
// One export of Nsight Systems, as far as it concerns pipelines.

#include "ppsim/traces/import.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "imports/actions.hpp"
#include "imports/pp_action.hpp"

namespace ppsim::traces {

/// An NVTX range of an action, in nanoseconds of the session.
struct NsysRange {
  std::uint64_t thread = 0; ///< globalTid: process and thread
  std::int64_t start = 0;
  std::int64_t end = 0;
  PpAction action{};
  bool is_timer = false; ///< from Megatron-LM, without the microbatch
  Extents extents{};
};

/// The content of one file.
struct NsysFile {
  std::string name;
  std::vector<NsysRange> ranges;   ///< by thread, then by start
  std::optional<std::int64_t> utc; ///< of time zero
  std::string host;                ///< may be empty
  std::string device;              ///< as above: its name
  bool has_kernels = false;
  std::map<std::string, std::size_t> dropped; ///< reason: how many
};

/// Reads an export from its bytes (possibly gzip). Throws Error (bad_input) with file and remedy.
[[nodiscard]] NsysFile read_nsys_file(const ImportFile& file);

} // namespace ppsim::traces
