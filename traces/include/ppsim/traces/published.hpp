#pragma once
// Tables of published runs: CSV, a row per run.

#include "ppsim/measured/published.hpp"

#include <string_view>
#include <vector>

namespace ppsim::traces {

/// Reads a table (docs/formats.md). `name` names the file in errors. Splits arguments as a shell does, without checking
/// them. Throws Error (bad_input) with every fault, each as "name:line:column".
[[nodiscard]] std::vector<PublishedRun> read_published(std::string_view text, std::string_view name);

} // namespace ppsim::traces
