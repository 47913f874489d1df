#include "ppsim/scenario/scenario.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace ppsim {
namespace {

constexpr double largest_sum = 4.0e18; // below 2^62: every sum of a run stays in range

void check_shape(const Shape& shape, Problems& problems) {
  if (shape.stages < 1 || shape.stages > Limits::stages)
    problems.add("`stages`", fmt::format("must be 1 to {}, got {}", Limits::stages, shape.stages));
  if (shape.vpp < 1 || shape.chunks() > Limits::chunks)
    problems.add("`vpp`", fmt::format("stages x vpp must be 1 to {} chunks, got {}", Limits::chunks, shape.chunks()));
  if (shape.microbatches < 1 || shape.microbatches > Limits::tasks)
    problems.add("`mb`", fmt::format("must be 1 to {}, got {}", Limits::tasks, shape.microbatches));
}

template <class Value>
void check_list(std::string_view where, const std::vector<Value>& values, std::size_t expected, Problems& problems) {
  if (values.size() != expected)
    problems.add(std::string{where}, fmt::format("{} values, but {} are needed", values.size(), expected),
                 "one value per chunk (or per boundary between chunks), by global id");
  for (const Value& value : values)
    if (value < Value{0}) problems.add(std::string{where}, fmt::format("negative value {}", value.count()));
}

/// A list of sizes per chunk, with its name.
struct SizeList {
  std::string_view name;
  const std::vector<Bytes>& values;
};

/// Each chunk's part must not exceed its whole.
void check_parts(std::string_view where, const SizeList& part, const SizeList& whole, Problems& problems) {
  for (std::size_t chunk = 0; chunk < std::min(part.values.size(), whole.values.size()); ++chunk) {
    if (part.values[chunk] <= whole.values[chunk]) continue;
    problems.add(std::string{where},
                 fmt::format("chunk {}: {} of {} is more than its {} of {}", chunk, part.name,
                             format_bytes(part.values[chunk]), whole.name, format_bytes(whole.values[chunk])),
                 fmt::format("it must be part of the {}", whole.name));
    return; // the other chunks have the same error
  }
}

void check_parts(const Scenario& scenario, Problems& problems) {
  const SizeList activation{"activation", scenario.memory.activation};
  const SizeList checkpoint{"checkpoint (by default the input)", scenario.recompute.checkpoint};
  const SizeList output{"output", scenario.network.boundary_bytes};
  check_parts("`weight-activation-bytes`", {"part for W", scenario.memory.activation_for_weight}, activation, problems);
  if (scenario.memory.release_outputs) check_parts("`boundary-bytes`", output, activation, problems);
  if (!scenario.recompute.is_on()) return;
  check_parts("`checkpoint-bytes`", checkpoint, activation, problems);
  if (scenario.memory.release_outputs && scenario.recompute.kind == RecomputeKind::selective)
    check_parts("`boundary-bytes`", output, checkpoint, problems);
}

/// Empty: not given.
void check_optional_list(std::string_view where, const std::vector<Duration>& values, std::size_t expected,
                         Problems& problems) {
  if (!values.empty()) check_list(where, values, expected, problems);
}

void check_factors(const Scenario& scenario, Problems& problems) {
  const auto in_range = [](std::int64_t ppm) { return ppm > 0 && ppm <= 100 * unchanged_ppm; };
  const std::vector<std::int64_t>& factors = scenario.costs.stage_ppm;
  if (!factors.empty() && factors.size() != scenario.shape.stages)
    problems.add("stage factors", fmt::format("{} for {} stages", factors.size(), scenario.shape.stages));
  if (!std::ranges::all_of(factors, in_range)) problems.add("stage factors", "must be above 0 and at most 100");
  const std::vector<UnusualLink>& links = scenario.network.unusual_links;
  if (!std::ranges::all_of(links, in_range, &UnusualLink::ppm))
    problems.add("link factors", "must be above 0 and at most 100");
  if (links.size() > Network::max_unusual_links)
    problems.add("link factors", fmt::format("{} links, at most {}", links.size(), Network::max_unusual_links));
}

/// The largest product of slowdown factors.
double largest_factor(const Scenario& scenario) {
  std::int64_t largest = unchanged_ppm;
  for (const std::int64_t ppm : scenario.costs.stage_ppm) largest = std::max(largest, ppm);
  for (const UnusualLink& link : scenario.network.unusual_links) largest = std::max(largest, link.ppm);
  return factor_of(largest) * std::max(1.0, factor_of(scenario.network.streams.slowdown_ppm));
}

void check_slices(const Network& network, Problems& problems) {
  if (network.slices < 1 || network.slices > Limits::slices)
    problems.add("`send-slices`", fmt::format("must be 1 to {}, got {}", Limits::slices, network.slices));
  if (network.slices > 1 && network.model == TransferModel::streams)
    problems.add("`send-slices`", "with 'streams' each send is one operation, in one piece",
                 "leave it out, or use `transfer` latency or link");
  if (network.slices > 1 && network.model == TransferModel::blocking)
    problems.add("`send-slices`", "with 'blocking' a stage sends when its task has ended, in one piece",
                 "leave it out, or use `transfer` latency or link");
}

void check_streams(const Streams& streams, Problems& problems) {
  if (streams.eager_below < Bytes{0}) problems.add("`eager-below`", "negative");
  constexpr std::int64_t most = 100;
  if (streams.slowdown_ppm < unchanged_ppm || streams.slowdown_ppm > most * unchanged_ppm)
    problems.add("`comm-slowdown`", fmt::format("must be 1 to {}, got {}", most, factor_of(streams.slowdown_ppm)),
                 "give the factor on compute time while a transfer runs on its stage");
}

/// `part` is contained in `whole`; empty: not given.
void check_part(std::string_view where, const std::vector<Duration>& part, std::string_view whole_name,
                const std::vector<Duration>& whole, Problems& problems) {
  check_optional_list(where, part, whole.size(), problems);
  if (part.size() != whole.size()) return;
  for (std::size_t chunk = 0; chunk < part.size(); ++chunk)
    if (part[chunk] > whole[chunk])
      return problems.add(std::string{where},
                          fmt::format("chunk {}: {} is longer than the whole {} of {}", chunk,
                                      format_duration(part[chunk]), whole_name, format_duration(whole[chunk])),
                          "it is the communication part of that time");
}

/// Times per task: a value for each, and a collective must be part of each.
void check_by_microbatch(std::string_view where, const std::vector<Duration>& values, const Shape& shape,
                         const std::vector<Duration>& collective, Problems& problems) {
  check_optional_list(where, values, shape.chunks() * shape.microbatches, problems);
  if (values.size() != shape.chunks() * shape.microbatches || collective.size() != shape.chunks()) return;
  for (std::size_t task = 0; task < values.size(); ++task)
    if (const Duration part = collective[task / shape.microbatches]; part > values[task])
      return problems.add(std::string{where},
                          fmt::format("chunk {}, microbatch {}: {} is less than the collective of {}",
                                      task / shape.microbatches, task % shape.microbatches,
                                      format_duration(values[task]), format_duration(part)),
                          "a collective is part of the time of each of its tasks");
}

template <class Value>
double largest(const std::vector<Value>& values) {
  return values.empty() ? 0.0 : static_cast<double>(std::ranges::max(values).count());
}

/// Longest transfer of the scenario, in nanoseconds.
double longest_transfer(const Network& network) {
  Duration longest{0};
  for (std::size_t boundary = 0; boundary < network.latency.size(); ++boundary)
    longest = std::max({longest, network.transfer_time(boundary, true), network.transfer_time(boundary, false)});
  return static_cast<double>(longest.count());
}

/// Every sum in a run is at most (longest task + longest transfer) x tasks; the same for sizes.
void check_sums(const Scenario& scenario, Problems& problems) {
  const double tasks =
      3.0 * static_cast<double>(scenario.shape.chunks()) * static_cast<double>(scenario.shape.microbatches);
  const Costs& costs = scenario.costs;
  const double task = std::max(largest(costs.forward), largest(costs.forward_by_microbatch)) +
                      std::max(largest(costs.input_grad), largest(costs.input_grad_by_microbatch)) +
                      std::max(largest(costs.weight_grad), largest(costs.weight_grad_by_microbatch)) +
                      largest(scenario.recompute.time) + 2.0 * static_cast<double>(costs.overhead.count());
  const double pair_factor = std::max(1.0, static_cast<double>(scenario.pair.factor_ppm) / 1e6);
  // The accounts add up to p times the makespan.
  const auto stages = static_cast<double>(scenario.shape.stages);
  const Update& update = scenario.update;
  const double after =
      (largest(update.reduce) + largest(update.optimizer) + static_cast<double>(update.tied_embedding_reduce.count())) *
      static_cast<double>(scenario.shape.chunks());
  const double steps = update.step == OptimizerStep::per_stage ? 8.0 : 1.0; // the steady state spans several steps
  if (((task * pair_factor + longest_transfer(scenario.network)) * tasks + after) * stages * steps *
          largest_factor(scenario) >
      largest_sum)
    problems.add("costs", "the stages together could run longer than 2^62 ns", "are the units right?");
  const Memory& memory = scenario.memory;
  const double bytes =
      largest(memory.activation) * tasks + largest(scenario.network.boundary_bytes) * tasks +
      (largest(memory.parameters) + largest(memory.gradients) + largest(memory.optimizer)) *
          static_cast<double>(scenario.shape.chunks()) +
      largest(memory.parameters) * static_cast<double>(scenario.shape.vpp * scenario.shape.microbatches);
  if (bytes > largest_sum) problems.add("sizes", "the run would hold more than 2^62 bytes", "are the units right?");
}

} // namespace

std::int64_t Network::link_ppm(StageId a, StageId b) const {
  const auto joins = [a, b](const UnusualLink& link) { return link.joins(a, b); };
  const auto found = std::ranges::find_if(unusual_links, joins);
  return found == unusual_links.end() ? unchanged_ppm : found->ppm;
}

void Network::slow_link(StageId a, StageId b, std::int64_t ppm) {
  for (UnusualLink& link : unusual_links)
    if (link.joins(a, b)) {
      link.ppm = scale_rounded(link.ppm, ppm, unchanged_ppm);
      return;
    }
  unusual_links.push_back({a, b, ppm});
}

bool Network::same_node(StageId a, StageId b) const {
  return stages_per_node == 0 || index(a) / stages_per_node == index(b) / stages_per_node;
}

std::optional<std::size_t> Network::uplink(StageId a, StageId b) const {
  return same_node(a, b) ? std::nullopt : std::optional{index(a) / stages_per_node};
}

Duration Network::time(std::size_t boundary, bool same_node, std::size_t parts) const {
  const Duration fixed = same_node ? latency[boundary] : inter_node_latency.value_or(latency[boundary]);
  const std::optional<Bandwidth>& rate = same_node || !inter_node_bandwidth ? bandwidth : inter_node_bandwidth;
  return rate ? fixed + rate->time_for(boundary_bytes[boundary], static_cast<std::int64_t>(parts)) : fixed;
}

bool Network::is_free() const {
  for (std::size_t boundary = 0; boundary < latency.size(); ++boundary)
    if (transfer_time(boundary, true) > Duration{0} || transfer_time(boundary, false) > Duration{0}) return false;
  return true;
}

bool Update::is_free() const {
  const auto none = [](const std::vector<Duration>& values) {
    return std::ranges::all_of(values, [](Duration value) { return value == Duration{0}; });
  };
  return none(reduce) && none(optimizer) && tied_embedding_reduce == Duration{0};
}

void validate(const Scenario& scenario) {
  Problems problems;
  check_shape(scenario.shape, problems);
  problems.throw_if_any();
  const std::size_t chunks = scenario.shape.chunks();
  check_list("`forward`", scenario.costs.forward, chunks, problems);
  check_list("`input-grad`", scenario.costs.input_grad, chunks, problems);
  check_list("`weight-grad`", scenario.costs.weight_grad, chunks, problems);
  check_list("`latency`", scenario.network.latency, chunks - 1, problems);
  check_list("`boundary-bytes`", scenario.network.boundary_bytes, chunks - 1, problems);
  check_list("`activation-bytes`", scenario.memory.activation, chunks, problems);
  check_list("`weight-activation-bytes`", scenario.memory.activation_for_weight, chunks, problems);
  check_list("`parameter-bytes`", scenario.memory.parameters, chunks, problems);
  check_list("`gradient-bytes`", scenario.memory.gradients, chunks, problems);
  check_list("`optimizer-bytes`", scenario.memory.optimizer, chunks, problems);
  if (scenario.costs.overhead < Duration{0}) problems.add("`overhead`", "negative");
  check_slices(scenario.network, problems);
  check_factors(scenario, problems);
  check_streams(scenario.network.streams, problems);
  check_part("`forward-collective`", scenario.costs.forward_collective, "forward", scenario.costs.forward, problems);
  check_part("`backward-collective`", scenario.costs.input_grad_collective, "input gradient", scenario.costs.input_grad,
             problems);
  check_by_microbatch("`forward`", scenario.costs.forward_by_microbatch, scenario.shape,
                      scenario.costs.forward_collective, problems);
  check_by_microbatch("`input-grad`", scenario.costs.input_grad_by_microbatch, scenario.shape,
                      scenario.costs.input_grad_collective, problems);
  check_by_microbatch("`weight-grad`", scenario.costs.weight_grad_by_microbatch, scenario.shape, {}, problems);
  check_optional_list("`reduce`", scenario.update.reduce, chunks, problems);
  check_optional_list("`optimizer`", scenario.update.optimizer, chunks, problems);
  if (scenario.update.tied_embedding_reduce < Duration{0}) problems.add("`tied-embedding-reduce`", "negative");
  if (scenario.recompute.is_on()) {
    check_list("`recompute-time`", scenario.recompute.time, chunks, problems);
    check_list("`checkpoint-bytes`", scenario.recompute.checkpoint, chunks, problems);
    if (!scenario.recompute.restored.empty())
      check_list("`recompute-num-layers`", scenario.recompute.restored, chunks, problems);
  }
  check_parts(scenario, problems);
  problems.throw_if_any();
  check_sums(scenario, problems);
  problems.throw_if_any();
}

std::string_view to_string(TransferModel model) {
  switch (model) {
  case TransferModel::latency:
    return "latency";
  case TransferModel::link:
    return "link";
  case TransferModel::streams:
    return "streams";
  case TransferModel::blocking:
    return "blocking";
  }
  return "?";
}

std::string_view to_string(OptimizerStep step) {
  return step == OptimizerStep::synchronous ? "synchronous" : "per-stage";
}

std::string to_string(const PairRule& rule) {
  switch (rule.kind) {
  case PairRule::Kind::sum:
    return "sum";
  case PairRule::Kind::max:
    return "max";
  case PairRule::Kind::serial:
    return "serial";
  case PairRule::Kind::hide:
    return "hide";
  case PairRule::Kind::factor:
    return fmt::format("{}", static_cast<double>(rule.factor_ppm) / 1e6);
  }
  return "?";
}

std::int64_t divide_rounded(std::int64_t whole, std::int64_t parts) {
  return (whole + parts / 2) / parts;
}

Scenario uniform_scenario(const Shape& shape, Duration forward, Duration backward, Duration comm) {
  const std::size_t chunks = shape.chunks();
  const auto v = static_cast<std::int64_t>(shape.vpp);
  const Duration chunk_backward{divide_rounded(backward.count(), v)};
  const Duration chunk_weight{chunk_backward.count() / 2};
  Scenario scenario;
  scenario.shape = shape;
  scenario.costs.forward.assign(chunks, Duration{divide_rounded(forward.count(), v)});
  scenario.costs.input_grad.assign(chunks, chunk_backward - chunk_weight);
  scenario.costs.weight_grad.assign(chunks, chunk_weight);
  scenario.network.latency.assign(chunks - 1, comm);
  scenario.network.boundary_bytes.assign(chunks - 1, Bytes{});
  for (auto* sizes : {&scenario.memory.activation, &scenario.memory.activation_for_weight, &scenario.memory.parameters,
                      &scenario.memory.gradients, &scenario.memory.optimizer})
    sizes->assign(chunks, Bytes{});
  return scenario;
}

} // namespace ppsim
