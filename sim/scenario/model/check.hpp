#pragma once
// Which shapes, devices and ways to train fit together.

#include "ppsim/scenario/model.hpp"

namespace ppsim::model {

/// Throws Error with everything that does not fit.
void check(const Model& model, const DeviceSheet& device, const Training& training);

} // namespace ppsim::model
