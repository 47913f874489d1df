#pragma once
// Dependencies between sequences.

#include "ppsim/certificate/certificate.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace ppsim::certificate {

/// By sequence, its incoming and outgoing arcs, as positions in the list of arcs.
struct ArcsBySequence {
  explicit ArcsBySequence(const CertificateInstance& instance);
  std::vector<std::vector<std::size_t>> into, out_of;
};

/// A topological order of the sequences; none if arcs form a cycle.
[[nodiscard]] std::optional<std::vector<std::size_t>> order_along_arcs(const CertificateInstance& instance);

} // namespace ppsim::certificate
