#pragma once
// Columns of a run: values per task, per wait, or per change of memory.

#include "ppsim/viz/panel.hpp"

#include "json_text.hpp"

namespace ppsim::viz {

/// Adds `columns` to a run, and `memory_steps`, referenced by one of them (viz/html/README.md).
void add_columns(JsonObject& run, const Panel& panel);

} // namespace ppsim::viz
