#include "named_orders.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/synthesis/interval.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "link_stages.hpp"
#include "pair_pieces.hpp"
#include "search_call.hpp"
#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// Nothing where tasks wait for each other in a circle.
std::optional<Duration> length_of(bool by_interval, const synthesis::Instance& instance, const synthesis::Order& order,
                                  const synthesis::Durations& durations) {
  if (by_interval) {
    const std::optional<synthesis::Interval> interval = synthesis::interval_of(instance, order);
    return interval ? std::optional{Duration{interval->length}} : std::nullopt;
  }
  const std::optional<synthesis::Plan> plan = run(instance, order, durations);
  return plan ? std::optional{Duration{plan->makespan}} : std::nullopt;
}

/// Whether each chunk's passes run by rising microbatch.
bool is_by_microbatch(const Schedule& schedule) {
  std::map<std::pair<std::size_t, Pass>, std::size_t> next;
  for (const StageId stage : schedule.stage_ids())
    for (const Task& task : schedule.stage(stage))
      if (index(task.microbatch) != next[{task.chunk_index, task.pass}]++) return false;
  return true;
}

/// `made`: what that schedule is by name.
void add_named(const Sought& sought, std::string_view name, const Schedule& made, std::span<const StageId> placement,
               NamedOrders& named) {
  if (made.asynchronous()) return;
  if (sought.pairs()) {
    if (named.add(made, placement, sought.passes, sought.pieces))
      named.name(name, Duration{named.pieces.back().plan.makespan});
    return;
  }
  const synthesis::Instance& instance = sought.pieces.instance;
  const Schedule schedule = made.taken_apart();
  std::optional<synthesis::Order> order = as_order(schedule, placement, sought.passes);
  if (!order || !fits(instance, *order)) return;
  if (!sought.durations.empty() && !is_by_microbatch(schedule)) return; // it is not the order that would be timed
  const bool is_as_made = as_schedule("", made.shape(), *order, sought.passes) == made; // no backward or pair was split
  order = with_transfers(sought.plain, instance, sought.passes, *std::move(order));
  if (!order) return;
  const std::optional<Duration> length = length_of(sought.by_interval, instance, *order, sought.durations);
  if (!length) return;
  if (is_as_made) named.name(name, *length);
  named.orders.push_back(std::move(*order));
}

/// If it fits.
void add_fitting(const Sought& sought, std::string_view name, const Schedule& schedule, NamedOrders& named) {
  if (schedule.asynchronous() || schedule.shape() != sought.plain.schedule().shape()) return;
  const std::vector<StageId> placement = placement_of(sought.plain.schedule());
  const std::optional<synthesis::Order> order = as_order(schedule.taken_apart(), placement, sought.passes);
  if (order && fits(sought.pieces.instance, *order)) named.fitting.push_back({std::string{name}, schedule});
}

ScheduleRequest request_for(const Generator& generator, const RunSpec& spec, const Shape& shape) {
  ScheduleRequest request{.shape = shape};
  if (generator.takes("activation-limit")) request.activation_limit = spec.activation_limit;
  return request;
}

/// Its schedule; if the run has other transfers than the search, then its rivals under its name. Nothing where it has
/// another placement, refuses the request, or has no room.
std::vector<Schedule> make_named(const Generator& generator, const RunSpec& spec, const Sought& sought) {
  const Schedule& plain = sought.plain.schedule();
  const Scenario& scenario = sought.plain.scenario();
  const ScheduleRequest request = request_for(generator, spec, plain.shape());
  try {
    check_request(generator, request);
    if (generator.place(request) != placement_of(plain)) return {};
    if (sought.runs_otherwise(spec)) return make_with_rivals(generator, request, scenario);
    return {make_schedule(generator, request, scenario)};
  } catch (const Error&) {
    return {};
  }
}

} // namespace

TransferModel own_transfers(const RunSpec& spec) {
  return spec.transfer.value_or(TransferModel::latency);
}

void NamedOrders::name(std::string_view name, Duration length) {
  if (!best || length < best->length) best = {std::string{name}, length};
}

bool NamedOrders::add(const Schedule& schedule, std::span<const StageId> placement, std::span<const Pass> passes,
                      const synthesis::Pieces& of) {
  std::optional<synthesis::Order> order = as_pieces(schedule, placement, passes, of);
  std::optional<synthesis::PiecePlan> plan = order ? run(of, *std::move(order)) : std::nullopt;
  if (!plan) return false;
  orders.push_back(plan->plan.order);
  pieces.push_back(*std::move(plan));
  return true;
}

NamedOrders named_orders(const RunSpec& spec, const Sought& sought, const std::function<bool(Duration)>& go_on) {
  const std::vector<StageId> placement = placement_of(sought.plain.schedule());
  std::vector<std::vector<Schedule>> made(generators().size());
  const auto make_all = [&](bool searching) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      check_stop();
      if (const Generator& generator = *generators()[i]; generator.searches() == searching)
        made[i] = make_named(generator, spec, sought);
    }
  };
  make_all(false);
  NamedOrders soon;
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!made[i].empty()) add_named(sought, generators()[i]->name, made[i].front(), placement, soon);
  SearchCall call{[&] { return go_on(soon.best ? soon.best->length : Duration{0}); }};
  try {
    const CallScope scope{&call};
    make_all(true);
  } catch (const Stopped&) {
    if (!call.has_ended()) throw;
  }
  NamedOrders named;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].empty()) continue;
    const std::string_view name = generators()[i]->name;
    add_named(sought, name, made[i].front(), placement, named);
    if (sought.runs_otherwise(spec))
      for (const Schedule& schedule : made[i]) add_fitting(sought, name, schedule, named);
  }
  return named;
}

void add_starts(const RunSpec& spec, const SynthesisRequest& request, const Sought& sought, NamedOrders& named) {
  const Schedule& plain = sought.plain.schedule();
  const std::vector<StageId> placement = placement_of(plain);
  for (const Schedule& start : request.starts) {
    if (sought.runs_otherwise(spec)) add_fitting(sought, "", start, named);
    if (start.shape() != plain.shape()) continue;
    if (sought.pairs()) {
      named.add(start, placement, sought.passes, sought.pieces);
      continue;
    }
    std::optional<synthesis::Order> order = as_order(start, placement, sought.passes);
    if (order) order = with_transfers(sought.plain, sought.pieces.instance, sought.passes, *std::move(order));
    if (order) named.orders.push_back(*std::move(order));
  }
}

} // namespace ppsim
