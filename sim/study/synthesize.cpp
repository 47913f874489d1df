#include "ppsim/study/synthesize.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/candidates.hpp"
#include "ppsim/study/copies.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/synthesis/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "find_split.hpp"
#include "link_stages.hpp"
#include "named_orders.hpp"
#include "pair_pieces.hpp"
#include "splits.hpp"
#include "synthesis_checks.hpp"
#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

RunSpec with_order(const RunSpec& spec, Schedule schedule, std::string name) {
  RunSpec ordered = for_given_order(spec);
  ordered.order = std::make_shared<GivenOrder>(GivenOrder{std::move(schedule), std::move(name), "", {}});
  return ordered;
}

/// "F0", "I0", "W0", ... "F0>1"
std::vector<std::string> sequence_names(std::size_t chunks, std::span<const Pass> passes,
                                        const synthesis::Instance& instance) {
  std::vector<std::string> names;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    for (const Pass pass : passes) names.push_back(fmt::format("{}{}", letter(pass), chunk));
  name_transfers(instance, passes.size(), names);
  return names;
}

std::optional<synthesis::Order> search_makespan(const synthesis::SearchOptions& options,
                                                const synthesis::Durations& durations, SynthesizedOrder& result) {
  result.found = result.by_microbatch ? search_by_microbatch(result.instance, durations, options)
                                      : search(result.instance, options);
  if (!result.found.plan) return std::nullopt;
  result.makespan = Duration{result.found.plan->makespan};
  result.length = result.makespan;
  result.bound = Duration{result.found.bound};
  return result.found.plan->order;
}

std::optional<synthesis::Order> search_with_pairs(const synthesis::Pieces& pieces,
                                                  std::vector<synthesis::PiecePlan> known,
                                                  synthesis::SearchOptions options, SynthesizedOrder& result) {
  synthesis::FoundPieces found =
      synthesis::search_pieces(pieces, result.instance, std::move(known), std::move(options));
  if (!found.order) return std::nullopt;
  result.found = std::move(found.found);
  result.makespan = result.length = Duration{result.found.plan->makespan};
  result.bound = Duration{result.found.bound};
  return std::move(found.order);
}

std::optional<synthesis::Order> search_interval(const RunSpec& spec, const synthesis::SearchOptions& options,
                                                SynthesizedOrder& result) {
  for (std::uint32_t stage = 0; stage < result.instance.stages(); ++stage)
    if (const auto fault = fault_of(span_instance(result.instance, stage).instance))
      throw cannot_be_searched(spec, *fault);
  synthesis::FoundInterval found = synthesis::search_interval(result.instance, options);
  if (!found.order) return std::nullopt;
  result.makespan = Duration{run(result.instance, *found.order).value().makespan};
  result.length = Duration{found.interval};
  result.bound = Duration{found.bound};
  result.span_of = found.stage;
  result.found = std::move(found.found);
  return std::move(found.order);
}

/// What each task takes, if microbatches differ; else nothing.
synthesis::Durations uneven_durations(const TaskGraph& plain) {
  if (!plain.scenario().costs.differ_by_microbatch()) return {};
  synthesis::Durations durations = durations_of(plain);
  if (!synthesis::first_uneven(plain.schedule().shape().microbatches, durations)) return {};
  return durations;
}

/// Gives the instance mean durations.
void use_means(const RunSpec& spec, const SynthesisRequest& request, bool by_interval,
               const synthesis::Durations& durations, SynthesizedOrder& result) {
  const std::size_t m = result.instance.microbatches;
  const std::size_t uneven = synthesis::first_uneven(m, durations).value();
  check_by_microbatch(spec, request, by_interval, result.sequence_names[uneven],
                      std::span{durations}.subspan(uneven * m, m));
  result.instance = with_means(std::move(result.instance), durations);
  result.by_microbatch = true;
}

Sought sought(const RunSpec& spec, const SynthesisRequest& request, const ChunkPlacement& placement) {
  const Shape shape{.stages = *spec.stages, .microbatches = *spec.microbatches, .vpp = placement.vpp};
  const std::span<const Pass> passes = sequence_passes(request.splits_backward);
  BuiltRun built =
      build_run(with_order(spec, plain_order(shape, placement.place(shape), request.splits_backward), "synthesis"));
  check_scenario(spec, built.scenario);
  const bool by_interval =
      request.objective == Objective::step_time && built.scenario.update.step == OptimizerStep::per_stage;
  const bool has_links = built.scenario.network.model == TransferModel::link;
  built.scenario.network.model = TransferModel::latency;
  TaskGraph plain = lower(built.schedule, built.scenario, "synthesis");
  synthesis::Durations durations = uneven_durations(plain);
  const bool pairs = pairs_overlap(built.scenario);
  if (pairs) check_pairs(spec, by_interval, !durations.empty(), shape.vpp);
  synthesis::Pieces pieces{make_instance(plain, spec.activation_limit), {}};
  if (pairs) pieces = pieces_of(plain, passes, std::move(pieces.instance));
  if (has_links && durations.empty() && !by_interval && !pairs) { // on a link the transfers of two steps may alternate
    built.scenario.network.model = TransferModel::link;
    plain = lower(std::move(built.schedule), std::move(built.scenario), "synthesis");
    pieces.instance = make_instance(plain, spec.activation_limit);
  }
  return {std::move(plain), std::move(durations), std::move(pieces), passes, by_interval};
}

/// The orders that a search covers.
Backwards backwards_of(bool splits, const Scenario& scenario) {
  if (!splits) return Backwards::whole;
  const bool restores_less = scenario.recompute.is_on() && !scenario.recompute.restored.empty();
  const bool gains_by_whole = scenario.costs.overhead > Duration{0} || (restores_less && scenario.memory.limit);
  return gains_by_whole ? Backwards::split : Backwards::any;
}

/// Under the run's own transfer model; the longest there is where it deadlocks.
Duration simulated_length(Objective objective, const RunSpec& ordered) {
  try {
    return length_of(objective, evaluate(ordered).report);
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return Duration::max();
  }
}

/// The shortest of what was found and what fits under the run's own transfer model, if the search used another.
void run_shortest(const RunSpec& spec, std::vector<FittingSchedule> fitting, SynthesizedOrder& result) {
  if (own_transfers(spec) == result.transfers) return;
  result.simulated = simulated_length(result.objective, result.spec);
  result.best_named.reset();
  for (FittingSchedule& each : fitting) {
    RunSpec ordered = with_order(spec, std::move(each.schedule), "synthesized order");
    const Duration length = simulated_length(result.objective, ordered);
    const bool is_named = !each.name.empty() && length < Duration::max();
    if (is_named && (!result.best_named || length < result.best_named->length)) result.best_named = {each.name, length};
    if (length >= *result.simulated) continue;
    if (!result.found_schedule) result.found_schedule = result.spec.order->schedule;
    result.simulated = length;
    result.spec = std::move(ordered);
  }
}

SynthesizedOrder synthesize_split(const RunSpec& spec, const SynthesisRequest& request,
                                  const ChunkPlacement& placement) {
  const Sought of = sought(spec, request, placement);
  const auto& [plain, durations, pieces, passes, by_interval] = of;
  const Shape& shape = plain.schedule().shape();
  SynthesizedOrder result{.placement = placement,
                          .spec = {},
                          .objective = request.objective,
                          .transfers = plain.scenario().network.model,
                          .best_named = std::nullopt,
                          .instance = relaxed(pieces),
                          .pairs = of.pairs(),
                          .bound_of = backwards_of(request.splits_backward, plain.scenario()),
                          .found = {},
                          .sequence_names = {}};
  result.sequence_names = sequence_names(shape.chunks(), passes, result.instance);
  check_room(spec, placement, plain, passes.size(), result.instance); // first: static bytes may be beyond the limit
  if (!durations.empty()) use_means(spec, request, by_interval, durations, result);
  if (const auto fault = fault_of(result.instance)) throw cannot_be_searched(spec, *fault, result.transfers);
  const auto go_on = [&](Duration best) {
    return !request.go_on || request.go_on(placement, {.makespan = best.count(), .bound = 0});
  };
  NamedOrders named = named_orders(spec, of, go_on);
  result.best_named = std::move(named.best);
  add_starts(spec, request, of, named);
  synthesis::SearchOptions options{.effort = request.effort,
                                   .seed = request.seed,
                                   .gap_ppm = request.gap_ppm,
                                   .starts = std::move(named.orders),
                                   .threads = request.threads,
                                   .go_on = {}};
  if (request.go_on)
    options.go_on = [&](const synthesis::Progress& progress) { return request.go_on(placement, progress); };
  if (of.pairs()) {
    const auto order = search_with_pairs(pieces, std::move(named.pieces), std::move(options), result);
    if (order)
      result.spec = with_order(spec, as_schedule("synthesized", shape, *order, passes, pieces), "synthesized order");
    if (order) run_shortest(spec, std::move(named.fitting), result);
    return result;
  }
  if (result.instance.stages() > shape.stages)
    options.as_run = [&](synthesis::Plan plan) {
      plan.order.resize(of.plain.schedule().shape().stages);
      return run(result.instance, with_transfers(of.plain, result.instance, of.passes, std::move(plan.order)).value())
          .value();
    };
  std::optional<synthesis::Order> order =
      by_interval ? search_interval(spec, options, result) : search_makespan(options, durations, result);
  if (!order) return result;
  order->resize(shape.stages);
  result.spec = with_order(spec, as_schedule("synthesized", shape, *order, passes), "synthesized order");
  run_shortest(spec, std::move(named.fitting), result);
  return result;
}

/// The order of the split as it is; nothing where none fits.
std::optional<SynthesizedOrder> synthesize_start(const RunSpec& spec, const SynthesisRequest& request,
                                                 const ChunkPlacement& placement) {
  try {
    SynthesizedOrder start = synthesize_split(spec, request, placement);
    if (start.found.plan) return start;
  } catch (const Error& error) { // another split may fit, where activations have a size
    if (error.code() != ExitCode::no || spec.activation_limit) throw;
  }
  return std::nullopt;
}

/// The better one of the split as it is, and of the one that is found from there.
SynthesizedOrder balance_synthesis(const RunSpec& spec, SynthesisRequest request, const ChunkPlacement& placement) {
  const Shape shape{.stages = *spec.stages, .microbatches = *spec.microbatches, .vpp = placement.vpp};
  Schedule plain = plain_order(shape, placement.place(shape), request.splits_backward);
  const BuiltRun built = build_run(with_order(spec, std::move(plain), "synthesis"));
  check_scenario(spec, built.scenario);
  if (pairs_overlap(built.scenario))
    throw Error{ExitCode::bad_input, Problem{spec.place_of("balance"), "splits are compared without overlapped pairs",
                                             "leave it or `pair` out"}};
  check_layers(spec, built);
  std::optional<SynthesizedOrder> start = synthesize_start(spec, request, placement);
  std::optional<synthesis::Order> first;
  if (start) first = start->found.plan->order;
  auto [balance, order] = find_split(spec, built, request, placement, std::move(first));
  balance.start_fits = start.has_value();
  const Duration start_length = start ? simulated_length(start->objective, start->spec) : Duration::max();
  Duration length = start_length;
  RunSpec fixed = spec;
  fixed.layers.reset();
  fixed.layout = balance.layout;
  if (order) request.starts.push_back(as_schedule("", shape, *order, sequence_passes(request.splits_backward)));
  std::optional<SynthesizedOrder> found;
  if (!start || balance.changed()) found = synthesize_split(fixed, request, placement);
  if (found && found->found.plan) length = simulated_length(found->objective, found->spec);
  if (start && length >= start_length) {
    found = std::move(start);
    balance.layout = balance.start.layout;
    length = start_length;
  }
  const auto unless_deadlock = [](Duration time) { return time == Duration::max() ? Duration{0} : time; };
  balance.start_step_time = unless_deadlock(start_length);
  balance.step_time = unless_deadlock(length);
  balance.fits = true;
  found->balance = std::move(balance);
  return *std::move(found);
}

SynthesizedOrder synthesize_on(const RunSpec& spec, const SynthesisRequest& request, const ChunkPlacement& placement) {
  if (request.begins) request.begins(placement);
  if (!spec.balance) return synthesize_split(spec, request, placement);
  RunSpec fixed = spec;
  fixed.balance = false;
  return balance_synthesis(fixed, request, placement);
}

std::vector<std::string> notes_on(const RunSpec& spec, const SynthesisRequest& request) {
  std::vector<std::string> notes;
  if (request.splits_backward && assumes_halves(spec))
    notes.push_back(fmt::format("{}: the halves of the backward are not given, assuming equal halves; "
                                "`input-grad` gives one of them, `no-split` keeps backwards whole",
                                spec.place_of("backward")));
  const auto has_other_chunks = [&](const ChunkPlacement& each) { return each.vpp != request.placements.front().vpp; };
  if (spec.activation_limit && std::ranges::any_of(request.placements, has_other_chunks))
    notes.push_back(
        fmt::format("{}: counts activations of a chunk, so placements with fewer chunks per stage have more "
                    "memory; `activation-bytes` and `memory-limit` compare all in the same memory",
                    spec.place_of("activation-limit")));
  if (spec.optimizer_step == OptimizerStep::per_stage && request.objective == Objective::makespan)
    notes.push_back(
        fmt::format("{}: stages do not meet between steps, but this search minimizes the makespan of one step; "
                    "`objective` step-time minimizes the time of a step in the long run",
                    spec.place_of("optimizer-step")));
  return notes;
}

} // namespace

std::string_view to_string(Objective objective) {
  return objective == Objective::step_time ? "step-time" : "makespan";
}

std::string_view to_string(Backwards backwards) {
  switch (backwards) {
  case Backwards::split:
    return "split";
  case Backwards::whole:
    return "whole";
  case Backwards::any:
    break;
  }
  return "any";
}

std::string_view in_words(Objective objective) {
  return objective == Objective::step_time ? "step time" : "makespan";
}

std::optional<ChunkPlacement> find_chunk_placement(std::string_view name) {
  if (name == "linear") return ChunkPlacement{"linear", 1, loop_placement};
  if (name == "v") return ChunkPlacement{"v", 2, wave_placement};
  constexpr std::string_view loop = "loop:";
  if (!name.starts_with(loop)) return std::nullopt;
  std::size_t vpp = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + loop.size(), end, vpp);
  if (error != std::errc{} || rest != end || vpp < 2 || vpp > Limits::chunks) return std::nullopt;
  return ChunkPlacement{std::string{name}, vpp, loop_placement};
}

Duration length_of(Objective objective, const RunReport& simulated) {
  return objective == Objective::step_time ? simulated.step_time : simulated.makespan;
}

Certificate certificate_of(const SynthesizedOrder& order) {
  const synthesis::Instance instance =
      order.span_of ? span_instance(order.instance, *order.span_of).instance : order.instance;
  Certificate certificate;
  certificate.instance.microbatches = instance.microbatches;
  for (const std::int64_t capacity : instance.capacity)
    certificate.instance.capacity.push_back(capacity == synthesis::unlimited ? std::nullopt : std::optional{capacity});
  for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
    const synthesis::Sequence& sequence = instance.sequences[i];
    certificate.instance.sequences.push_back(
        {.name = i < order.sequence_names.size() ? order.sequence_names[i] : "start",
         .stage = sequence.stage,
         .duration = Duration{sequence.duration},
         .take = sequence.take,
         .give = sequence.give,
         .tail = Duration{sequence.tail}});
  }
  for (const synthesis::Arc& arc : instance.arcs)
    certificate.instance.arcs.push_back({arc.from, arc.to, Duration{arc.lag}});
  if (!order.pairs) { // else the bound is one for shorter durations
    certificate.order.emplace();
    for (const std::vector<std::uint16_t>& stage : order.found.plan->order)
      certificate.order->emplace_back(stage.begin(), stage.end());
    certificate.makespan = Duration{order.found.plan->makespan};
  }
  certificate.lower_bound = Duration{order.found.bound};
  for (const synthesis::Case& each : order.found.cases)
    certificate.cases.push_back(
        {each.view, each.sequence, each.index, Duration{each.time}, {each.among.first, each.among.count}});
  return certificate;
}

Synthesis synthesize(const RunSpec& spec, const SynthesisRequest& request) {
  if (const auto slowest = spec.names_copies() ? slowest_copy(spec) : std::nullopt) {
    Synthesis synthesis = synthesize(slowest->spec, request);
    synthesis.notes.insert(
        synthesis.notes.begin(),
        fmt::format("{}: the order is for copy {}, the slowest on every stage: its time is the time of all copies",
                    spec.place_of("slow"), slowest->number));
    return synthesis;
  }
  check_synthesis(spec, request);
  Synthesis synthesis;
  synthesis.notes = notes_on(spec, request);
  std::optional<Error> refusal;
  for (const ChunkPlacement& placement : request.placements) {
    try {
      SynthesizedOrder order = synthesize_on(spec, request, placement);
      if (order.found.plan) synthesis.orders.push_back(std::move(order));
    } catch (const Error& error) { // another placement may have room
      if (error.code() != ExitCode::no) throw;
      synthesis.notes.push_back(fmt::format("{}: {}", error.problems().front().where, error.problems().front().what));
      if (!refusal) refusal = error;
    }
  }
  if (synthesis.orders.empty() && refusal) throw Error{*refusal};
  if (std::ranges::any_of(synthesis.orders, &SynthesizedOrder::by_microbatch))
    synthesis.notes.emplace_back(
        "costs differ by microbatch: the orders run microbatches in order; bounds cover any order of microbatches");
  if (std::ranges::count(synthesis.orders, Backwards::split, &SynthesizedOrder::bound_of) > 0)
    synthesis.notes.emplace_back("the bound is of orders with split backwards; whole ones, which `no-split` searches, "
                                 "can be shorter with `overhead`, and hold less with `recompute`");
  std::ranges::stable_sort(synthesis.orders, {}, [](const SynthesizedOrder& order) {
    return std::pair{order.run_length(), order.length};
  });
  return synthesis;
}

std::vector<FrontPoint> synthesize_along(const RunSpec& spec, SynthesisRequest request, const Axis& axis,
                                         std::size_t points) {
  RunSpec fixed = spec;
  fixed.vary.reset();
  const RunField& field = *find_run_field(axis.option);
  std::vector<FrontPoint> front;
  for (const std::int64_t value : points_of(axis, {.points = points, .precision = 1})) {
    FrontPoint& point = front.emplace_back(FrontPoint{.value = value, .synthesis = {}, .refusal = {}});
    try {
      point.synthesis = synthesize(with_value(fixed, field, value), request);
      request.starts.clear();
      for (const SynthesizedOrder& order : point.synthesis.orders) {
        request.starts.push_back(order.spec.order->schedule);
        if (order.found_schedule) request.starts.push_back(*order.found_schedule);
      }
    } catch (const Error& error) {
      if (error.code() != ExitCode::no) throw;
      point.refusal = error.problems().front().what;
    }
  }
  return front;
}

} // namespace ppsim
