#pragma once
#include "ppsim/viz/text.hpp"

namespace ppsim::cli {

/// Width and colour of what stdout is connected to. COLUMNS and NO_COLOR are respected; colour only on a terminal.
[[nodiscard]] viz::TextOptions terminal_options();

} // namespace ppsim::cli
