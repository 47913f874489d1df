#pragma once
// LinkFit: latency and bandwidth of a link, fitted to transfer times of several sizes.

#include "ppsim/base/units.hpp"
#include "ppsim/scenario/device.hpp"

#include <optional>
#include <span>

namespace ppsim {

/// time = latency + bytes / bandwidth.
struct LinkFit {
  Duration latency{0};
  std::optional<Bandwidth> bandwidth; ///< none: time does not grow with size
  double largest_residual = 0;        ///< |fitted - measured| / measured, over the samples
};

/// Least squares of relative errors, so that small transfers count as much as large ones. Neither part is negative.
/// Needs at least one sample and no negative size or time. A time below 1 ns counts as 1 ns.
[[nodiscard]] LinkFit fit_link(std::span<const LinkSample> samples);

} // namespace ppsim
