#pragma once
// The order of a certificate, run.

#include "ppsim/certificate/certificate.hpp"

namespace ppsim::certificate {

/// Of a well-formed certificate that has an order.
[[nodiscard]] OrderVerdict replay(const Certificate& certificate);

} // namespace ppsim::certificate
