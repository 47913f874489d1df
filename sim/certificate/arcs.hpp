#pragma once
// Which sequence waits for which.

#include "ppsim/certificate/certificate.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace ppsim::certificate {

/// By sequence, the arcs that lead to it and that leave it, as positions in the list of arcs.
struct ArcsBySequence {
  explicit ArcsBySequence(const CertificateInstance& instance);
  std::vector<std::vector<std::size_t>> into, out_of;
};

/// Every sequence after those that it waits for; none where arcs lead in a circle.
[[nodiscard]] std::optional<std::vector<std::size_t>> order_along_arcs(const CertificateInstance& instance);

} // namespace ppsim::certificate
