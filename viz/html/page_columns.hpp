#pragma once
// The columns of a run: all that there is one of per task, per wait or per change of memory.

#include "ppsim/viz/panel.hpp"

#include "json_text.hpp"

namespace ppsim::viz {

/// Adds `columns` to a run, and `memory_steps`, which one of them points into (docs/formats.md).
void add_columns(JsonObject& run, const Panel& panel);

} // namespace ppsim::viz
