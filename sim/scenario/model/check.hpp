#pragma once
// Checks whether model, device and training fit together.

#include "ppsim/scenario/model.hpp"

namespace ppsim::model {

/// Throws Error with all conflicts.
void check(const Model& model, const DeviceSheet& device, const Training& training);

} // namespace ppsim::model
