#include "collectives.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace ppsim {

Duration exchange_time(const LinkSheet& link, std::int64_t ranks, Bytes bytes) {
  if (ranks <= 1 || bytes.count() == 0) return Duration{0};
  const auto doublings = std::bit_width(static_cast<std::uint64_t>(ranks - 1));
  const auto moved = Bytes{static_cast<std::int64_t>(Int128{bytes.count()} * (ranks - 1) / ranks)};
  return doublings * link.latency + link.reached_bandwidth().time_for(moved);
}

namespace {

/// The distance between two numbers of ranks; an unspecified number matches.
double distance(const MeasuredCollective& measured, std::int64_t ranks) {
  if (measured.ranks == 0) return std::nextafter(1.0, 2.0); // after one with exactly this number
  const auto [less, more] = std::minmax(measured.ranks, ranks);
  return static_cast<double>(more) / static_cast<double>(less);
}

/// The measurement of `collective` with the nearest number of ranks, among the link's files or its shipped tables; null
/// if there is none.
const MeasuredCollective* nearest(const LinkSheet& link, bool files, Collective collective, std::int64_t ranks) {
  const MeasuredCollective* found = nullptr;
  for (const MeasuredCollective& measured : link.measured)
    if (measured.source.empty() != files && measured.collective == collective &&
        (found == nullptr || distance(measured, ranks) < distance(*found, ranks)))
      found = &measured;
  return found;
}

/// For the measured ranks, in nanoseconds.
Int128 time_between(const std::vector<LinkSample>& times, Bytes bytes) {
  if (bytes <= times.front().bytes) return times.front().time.count();
  const LinkSample& last = times.back();
  if (bytes >= last.bytes) return Int128{last.time.count()} * bytes.count() / last.bytes.count();
  const auto above = std::ranges::upper_bound(times, bytes, {}, &LinkSample::bytes);
  const auto below = std::prev(above);
  const Int128 whole = above->bytes.count() - below->bytes.count();
  const Int128 behind = bytes.count() - below->bytes.count();
  return (below->time.count() * (whole - behind) + above->time.count() * behind) / whole;
}

Duration measured_time(const MeasuredCollective& measured, std::int64_t ranks, Bytes bytes) {
  // Other numbers of ranks take at least half of it: beyond that it is too long anyway.
  Int128 time = std::min(time_between(measured.times, bytes), 2 * (Int128{max_duration.count()} + 1));
  const Int128 from = measured.ranks == 0 ? ranks : measured.ranks;
  if (from != ranks) time = time * (ranks - 1) * from / (Int128{ranks} * (from - 1));
  return Duration{static_cast<std::int64_t>(std::min(time, Int128{max_duration.count()} + 1))};
}

} // namespace

namespace {

std::vector<const MeasuredCollective*> measured_for(const LinkSheet& link, bool files, Collective collective,
                                                    std::int64_t ranks) {
  const auto table = [&](Collective of) { return nearest(link, files, of, ranks); };
  const MeasuredCollective* const own = table(collective);
  if (own != nullptr) return {own};
  if (collective == Collective::all_to_all) return {};
  const MeasuredCollective* const gather = table(Collective::all_gather);
  const MeasuredCollective* const scatter = table(Collective::reduce_scatter);
  if (collective == Collective::all_reduce) {
    if (gather != nullptr && scatter != nullptr) return {scatter, gather};
    const MeasuredCollective* const either = gather != nullptr ? gather : scatter;
    return either != nullptr ? std::vector{either, either} : std::vector<const MeasuredCollective*>{};
  }
  for (const MeasuredCollective* other : {gather, scatter, table(Collective::all_reduce)})
    if (other != nullptr) return {other};
  return {};
}

} // namespace

std::vector<const MeasuredCollective*> measured_for(const LinkSheet& link, Collective collective, std::int64_t ranks) {
  const std::vector<const MeasuredCollective*> tables = measured_for(link, true, collective, ranks);
  return tables.empty() ? measured_for(link, false, collective, ranks) : tables;
}

Duration collective_time(const LinkSheet& link, Collective collective, std::int64_t ranks, Bytes bytes) {
  if (ranks <= 1 || bytes.count() == 0) return Duration{0};
  const std::vector<const MeasuredCollective*> tables = measured_for(link, collective, ranks);
  if (tables.empty()) return (collective == Collective::all_reduce ? 2 : 1) * exchange_time(link, ranks, bytes);
  Duration time{0};
  for (const MeasuredCollective* table : tables) {
    const bool is_half = collective != Collective::all_reduce && table->collective == Collective::all_reduce;
    time += measured_time(*table, ranks, bytes) / (is_half ? 2 : 1);
  }
  return time;
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

Duration checked_time(const LinkSheet& link, Collective collective, std::int64_t ranks, Int128 bytes) {
  return in_range(collective_time(link, collective, ranks, Bytes{in_range(bytes)}));
}

/// The expected number of `nodes` nodes that a token is sent to, in millionths, if its experts are drawn uniformly from
/// the nodes that the model's routing allows: nodes times the probability that at least one of its experts is on a
/// node.
Int128 nodes_of_token(const Model& model, std::int64_t nodes) {
  const std::int64_t groups = std::max<std::int64_t>(model.expert_groups, 1);
  const std::int64_t allowed = model.expert_groups == 0 ? nodes
                               : nodes <= groups        ? std::min(nodes, model.expert_groups_per_token)
                                                        : (nodes * model.expert_groups_per_token + groups - 1) / groups;
  const Int128 on_node = model.experts / nodes;
  Int128 elsewhere = whole_share;
  for (std::int64_t expert = 0; expert < model.experts_per_token; ++expert) {
    const Int128 left = on_node * allowed - expert;
    if (left <= on_node) return Int128{allowed} * whole_share;
    elsewhere = elsewhere * (left - on_node) / left;
  }
  return allowed * (whole_share - elsewhere);
}

} // namespace

Duration tensor_collective(const Sizes& sizes, Collective collective, Int128 elements) {
  return checked_time(sizes.tensor_link, collective, sizes.tensor_ranks, elements * sizes.element);
}

/// Without a given link, the ranks are neighbours: as many as fit share a node, and data for other nodes uses the
/// network while the node's link transfers the rest. If tokens are sent to a node once, the node's link transfers all
/// of them.
Duration expert_exchange(const Sizes& sizes, Int128 bytes) {
  const std::int64_t ranks = sizes.expert_ranks;
  const auto exchange = [&](const LinkSheet& link, std::int64_t between, Int128 exchanged) {
    return checked_time(link, Collective::all_to_all, between, exchanged);
  };
  if (sizes.expert_link) return exchange(*sizes.expert_link, ranks, bytes);
  const std::int64_t near = sizes.near_expert_ranks;
  if (near == ranks) return exchange(sizes.node_link, near, bytes);
  // collective_time() omits data that stays on the rank; between nodes, data that stays on the node.
  const std::int64_t nodes = (ranks + near - 1) / near;
  if (!sizes.once_to_a_node)
    return std::max(exchange(sizes.node_link, near, bytes * near / ranks), exchange(sizes.network, nodes, bytes));
  const Int128 once =
      bytes * nodes_of_token(sizes.model, nodes) / (Int128{whole_share} * sizes.model.experts_per_token);
  return std::max(exchange(sizes.node_link, near, bytes), exchange(sizes.network, nodes, std::min(once, bytes)));
}

void add_expert_tensor_collectives(Block& block, const Sizes& sizes, Int128 elements) {
  const auto time = [&](Collective collective) {
    return checked_time(sizes.expert_tensor_link, collective, sizes.expert_tensor_ranks, elements * sizes.element);
  };
  const Duration scattered = time(Collective::reduce_scatter);
  const Duration both = time(Collective::all_gather) + scattered;
  block.forward.collective += both;
  block.input_grad.collective += both;
  if (sizes.async_collective) block.input_grad.behind_weight_grad += scattered;
}

void add_context_exchange(Block& block, const Sizes& sizes, Int128 queries_and_results, Int128 keys_and_values) {
  const std::int64_t ranks = sizes.context_ranks;
  if (ranks == 1) return;
  const LinkSheet& link = sizes.context_link;
  const auto time = [&](Collective collective, Int128 bytes) { return checked_time(link, collective, ranks, bytes); };
  const auto around = [&](Int128 bytes) {
    return in_range((ranks - 1) * (link.latency + link.reached_bandwidth().time_for(Bytes{in_range(bytes)})));
  };
  switch (sizes.context_exchange) {
  case ContextExchange::p2p:
    block.forward.beside_attention += around(keys_and_values);
    block.input_grad.beside_attention += around(2 * keys_and_values);
    break;
  case ContextExchange::all_gather:
    block.forward.collective += time(Collective::all_gather, ranks * keys_and_values);
    block.input_grad.collective += time(Collective::all_gather, ranks * keys_and_values) +
                                   time(Collective::reduce_scatter, ranks * keys_and_values);
    break;
  case ContextExchange::a2a:
    const Duration there_and_back = time(Collective::all_to_all, queries_and_results + keys_and_values);
    block.forward.collective += there_and_back;
    block.input_grad.collective += there_and_back;
    break;
  }
}

void add_tensor_collectives(Block& block, const Sizes& sizes, Int128 in, Int128 out) {
  if (sizes.tensor_ranks == 1) return;
  const auto time = [&](Collective collective, Int128 elements) {
    return tensor_collective(sizes, collective, elements);
  };
  if (sizes.sequence_parallel) {
    block.forward.collective += time(Collective::all_gather, in) + time(Collective::reduce_scatter, out);
    // Gathers the output's gradient and scatters the input's: overlaps the weight gradient.
    const Duration scattered = time(Collective::reduce_scatter, in);
    block.input_grad.collective += time(Collective::all_gather, out) + scattered;
    if (sizes.async_collective) block.input_grad.behind_weight_grad += scattered;
  } else {
    block.forward.collective += time(Collective::all_reduce, out);
    const Duration reduced = time(Collective::all_reduce, in);
    block.input_grad.collective += reduced;
    if (sizes.async_collective) block.input_grad.behind_weight_grad += reduced;
  }
  block.launch(sizes.sequence_parallel ? 2 : 1, sizes.sequence_parallel ? 2 : 1);
}

} // namespace model
} // namespace ppsim
