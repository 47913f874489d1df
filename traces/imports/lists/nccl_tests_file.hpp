#pragma once
// Reads the output of nccl-tests and its files from -J FILE.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/device.hpp"
#include "ppsim/traces/import.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim::traces::nccl_tests {

/// The content of one file.
struct Measured {
  std::string program;             ///< "sendrecv_perf"; empty: not said
  std::string second_program = {}; ///< a second one in the same file
  std::size_t ranks = 0;           ///< of one communicator; 0: unknown
  std::set<std::string> nodes;     ///< by name
  std::vector<LinkSample> samples;
  std::map<std::string, std::size_t> dropped;
  bool medians = false;  ///< some values are from -I: medians of iterations
  bool minimums = false; ///< some values are from -I: minimums

  void drop(std::string_view why) { ++dropped[std::string{why}]; }
  /// Adds one time, in microseconds.
  void add(double bytes, double microseconds);
};

/// The tests that a reader accepts, with the hint for other files.
struct Wanted {
  std::string_view what;                   ///< "a collective"
  std::string_view how_to;                 ///< hint of errors
  bool (*takes)(std::string_view program); ///< whether it accepts the test with this name
};

/// Throws Error (bad_input), with the file as place, for a file of another test, without times, or of one rank.
[[nodiscard]] Measured read_file(const ImportFile& file, const Wanted& wanted);

/// `path` without its folders.
[[nodiscard]] constexpr std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

} // namespace ppsim::traces::nccl_tests
