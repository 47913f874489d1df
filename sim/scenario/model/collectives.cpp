#include "collectives.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <algorithm>
#include <bit>

namespace ppsim {

Duration exchange_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes) {
  if (ranks <= 1 || bytes.count() == 0) return Duration{0};
  const auto doublings = std::bit_width(static_cast<std::uint64_t>(ranks - 1));
  const auto moved = Bytes{static_cast<std::int64_t>(Int128{bytes.count()} * (ranks - 1) / ranks)};
  return doublings * link.latency + link.reached_bandwidth().time_for(moved);
}

Duration collective_time(const LinkSheet& link, Collective collective, std::int64_t ranks, Bytes bytes) {
  return (collective == Collective::all_reduce ? 2 : 1) * exchange_time(link, ranks, bytes);
}

std::string_view to_string(Collective collective) {
  switch (collective) {
  case Collective::all_reduce:
    return "all-reduce";
  case Collective::all_gather:
    return "all-gather";
  case Collective::reduce_scatter:
    return "reduce-scatter";
  case Collective::all_to_all:
    break;
  }
  return "all-to-all";
}

namespace model {
namespace {

/// Of so many elements over the ranks of a link.
Duration checked_time(const Sizes& sizes, const LinkSheet& link, Collective collective, std::int64_t ranks,
                      Int128 elements) {
  return in_range(collective_time(link, collective, ranks, Bytes{in_range(elements * sizes.element)}));
}

} // namespace

Duration tensor_collective(const Sizes& sizes, Collective collective, Int128 elements) {
  return checked_time(sizes, sizes.tensor_link, collective, sizes.tensor_ranks, elements);
}

/// Where no link is said the ranks are neighbours: as many of them as fit share a node, and what goes to other nodes
/// goes over the network, while the node's link carries the rest.
Duration expert_exchange(const Sizes& sizes, Int128 elements) {
  const std::int64_t ranks = sizes.expert_ranks;
  const auto exchange = [&](const LinkSheet& link, std::int64_t between, Int128 exchanged) {
    return checked_time(sizes, link, Collective::all_to_all, between, exchanged);
  };
  if (sizes.expert_link) return exchange(*sizes.expert_link, ranks, elements);
  const std::int64_t near = std::clamp<std::int64_t>(sizes.node_ranks / sizes.expert_tensor_ranks, 1, ranks);
  const Duration inside = exchange(sizes.tensor_link, near, elements * near / ranks);
  if (near == ranks) return inside;
  // collective_time() leaves out what stays on the rank; of the nodes, that which stays on the node.
  const std::int64_t nodes = (ranks + near - 1) / near;
  return std::max(inside, exchange(standard_link(), nodes, elements));
}

void add_expert_tensor_collectives(Block& block, const Sizes& sizes, Int128 elements) {
  const auto time = [&](Collective collective) {
    return checked_time(sizes, sizes.tensor_link, collective, sizes.expert_tensor_ranks, elements);
  };
  const Duration scattered = time(Collective::reduce_scatter);
  const Duration both = time(Collective::all_gather) + scattered;
  block.forward.collective += both;
  block.input_grad.collective += both;
  block.input_grad.behind_weight_grad += scattered;
}

void add_tensor_collectives(Block& block, const Sizes& sizes, Int128 in, Int128 out) {
  if (sizes.tensor_ranks == 1) return;
  const auto time = [&](Collective collective, Int128 elements) {
    return tensor_collective(sizes, collective, elements);
  };
  if (sizes.sequence_parallel) {
    block.forward.collective += time(Collective::all_gather, in) + time(Collective::reduce_scatter, out);
    // The gradient of the output is gathered, that of the input scattered: beside the weight gradient.
    const Duration scattered = time(Collective::reduce_scatter, in);
    block.input_grad.collective += time(Collective::all_gather, out) + scattered;
    block.input_grad.behind_weight_grad += scattered;
  } else {
    block.forward.collective += time(Collective::all_reduce, out);
    const Duration reduced = time(Collective::all_reduce, in);
    block.input_grad.collective += reduced;
    block.input_grad.behind_weight_grad += reduced;
  }
  block.launch(sizes.sequence_parallel ? 2 : 1, sizes.sequence_parallel ? 2 : 1);
}

} // namespace model
} // namespace ppsim
