// Profiles of the PyTorch profiler, as an import format.

#include "imports/import_list.hpp"
#include "kineto.hpp"

namespace ppsim::traces::kineto {
namespace {

Imported import_kineto(std::span<const ImportFile> files, const ImportOptions& options) {
  return assemble(read_kineto(files, options), options, files.size() == 1 ? files.front().name : "the profiles");
}

} // namespace

const ImportFormat definition{.name = "kineto",
                              .files = "*.json, *.json.gz",
                              .what = "profiles of torch.profiler, one file per rank",
                              .sign = R"("schemaVersion")",
                              .read = import_kineto};

} // namespace ppsim::traces::kineto
