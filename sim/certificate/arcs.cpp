
#include "arcs.hpp"

namespace ppsim::certificate {

ArcsBySequence::ArcsBySequence(const CertificateInstance& instance)
    : into(instance.sequences.size()), out_of(instance.sequences.size()) {
  for (std::size_t i = 0; i < instance.arcs.size(); ++i) {
    into[instance.arcs[i].to].push_back(i);
    out_of[instance.arcs[i].from].push_back(i);
  }
}

std::optional<std::vector<std::size_t>> order_along_arcs(const CertificateInstance& instance) {
  const ArcsBySequence arcs{instance};
  std::vector<std::size_t> waits(instance.sequences.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i] = arcs.into[i].size();
    if (waits[i] == 0) order.push_back(i);
  }
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const std::size_t arc : arcs.out_of[order[next]])
      if (--waits[instance.arcs[arc].to] == 0) order.push_back(instance.arcs[arc].to);
  if (order.size() != waits.size()) return std::nullopt;
  return order;
}

} // namespace ppsim::certificate
