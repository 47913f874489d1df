#include "ppsim/traces/import.hpp"

#include <fmt/format.h>

#include "imports/import_list.hpp"
#include "nsys.hpp"

namespace ppsim::traces::nsys {
namespace {

Imported read(std::span<const ImportFile> files, const ImportOptions& options) {
  const std::string where = files.size() == 1 ? files.front().name : fmt::format("{} files", files.size());
  return assemble(read_nsys(files, options), options, where);
}

} // namespace

const ImportFormat definition{.name = "nsys",
                              .files = "*.sqlite",
                              .what =
                                  "Nsight Systems, exported with --type sqlite; one file per rank, or one for several",
                              .sign = "SQLite format 3",
                              .read = read};

} // namespace ppsim::traces::nsys
