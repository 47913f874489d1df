#pragma once
// Runs the order of a certificate.

#include "ppsim/certificate/certificate.hpp"

namespace ppsim::certificate {

/// For a well-formed certificate with an order.
[[nodiscard]] OrderVerdict replay(const Certificate& certificate);

} // namespace ppsim::certificate
