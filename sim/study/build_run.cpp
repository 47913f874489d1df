#include "ppsim/study/build_run.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ppsim {
namespace {

/// The number of chunks per stage, if given. Throws Error if there are several.
std::optional<std::size_t> one_vpp(const RunSpec& spec) {
  if (!spec.vpp) return std::nullopt;
  if (spec.vpp->size() > 1)
    throw Error{ExitCode::bad_input, Problem{spec.place_of("vpp"), fmt::format("{} values", spec.vpp->size()),
                                             "give one; 'ppsim compare' tries several"}};
  return spec.vpp->front();
}

/// A file defines the shape; other options may repeat it but not change it.
void check_against_file(const RunSpec& spec, const Shape& shape) {
  Problems problems;
  const auto check = [&](std::string_view option, const std::optional<std::size_t>& given, std::size_t found) {
    if (given && *given != found)
      problems.add(spec.place_of(option), fmt::format("{}, but the schedule file has {}", *given, found),
                   fmt::format("leave `{}` out", option));
  };
  check("stages", spec.stages, shape.stages);
  check("mb", spec.microbatches, shape.microbatches);
  check("vpp", one_vpp(spec), shape.vpp);
  std::vector<std::string_view> fixed{"schedule"};
  for (const ScheduleOption& option : schedule_options()) fixed.push_back(option.name);
  for (const std::string_view option : fixed)
    if (spec.has(option))
      problems.add(spec.place_of(option), "given together with a schedule file, which sets the order",
                   fmt::format("leave `{}` or `schedule-file` out", option));
  problems.throw_if_any();
}

void use_given_order(const RunSpec& spec, const GivenOrder& order, BuiltRun& run) {
  check_against_file(spec, order.schedule.shape());
  if (order.schedule.asynchronous())
    throw Error{ExitCode::bad_input,
                Problem{order.name, "an order without a flush: only its generator can make its later steps",
                        "use `schedule` instead"}};
  const bool drops_backwards = spec.forward_only && !order.schedule.forward_only();
  Schedule schedule = drops_backwards ? order.schedule.forwards() : order.schedule;
  run.schedule = std::move(schedule).with_origin(nullptr);
  run.schedule_place = order.name;
  run.scenario = make_scenario(spec, run.schedule.shape(), placement_of(run.schedule), ends_share_stage(run.schedule));
  run.notes = order.notes;
  const CommOrder* const own = run.schedule.communications();
  run.scenario.network.streams.lowering = lowering_in(spec, own != nullptr);
  if (own != nullptr && spec.lowering)
    run.notes.push_back(fmt::format("{}: {} replaces the file's {} sends and receives", spec.place_of("lowering"),
                                    *spec.lowering, own->size()));
  else if (own != nullptr && run.scenario.network.model != TransferModel::streams && !spec.writes_operations)
    run.notes.push_back(fmt::format("{}: its {} send and receive cells are ignored; `transfer` streams simulates them",
                                    order.name, own->size()));
}

/// The number of chunks per stage; with a layout, that of the layout. Throws Error if options contradict it.
std::optional<std::size_t> chunks_per_stage(const RunSpec& spec) {
  const std::optional<std::size_t> vpp = one_vpp(spec);
  if (!spec.layout || !spec.stages) return vpp;
  const std::size_t chunks = spec.layout->size();
  const std::size_t stages = spec.replicas ? spec.replicas->size() : *spec.stages; // positions of the pipeline
  if (chunks % stages != 0)
    throw Error{ExitCode::bad_input, Problem{"`layout`",
                                             fmt::format("{} chunk{} cannot be divided over {} stages", chunks,
                                                         chunks == 1 ? "" : "s", stages),
                                             fmt::format("describe a multiple of {} chunks", stages)}};
  if (vpp && *vpp * stages != chunks)
    throw Error{ExitCode::bad_input, Problem{"`layout`",
                                             fmt::format("{} chunks, but {} stages with `vpp` {} have {}", chunks,
                                                         stages, *vpp, *vpp * stages),
                                             "leave `vpp` out: it follows from the layout"}};
  return chunks / stages;
}

/// Checks the layout against a schedule with a fixed number of chunks.
void check_against_layout(const RunSpec& spec, const Generator& generator, const Shape& shape) {
  if (!spec.layout || generator.vpp.multiple > 0 || shape.vpp == generator.vpp.standard) return;
  const std::size_t needed = shape.positions() * generator.vpp.standard;
  throw Error{ExitCode::bad_input,
              Problem{"`layout`",
                      fmt::format("{} chunks, but '{}' on {} stages has {}", spec.layout->size(), generator.name,
                                  shape.positions(), needed),
                      fmt::format("describe {} chunks{}", needed,
                                  generator.vpp.standard == 1 ? ", or use `schedule` interleaved" : "")}};
}

/// The longest there is where it deadlocks.
Duration step_time_of(const Schedule& schedule, const Scenario& scenario) {
  try {
    return step_time(lower(schedule, scenario));
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return Duration::max();
  }
}

bool is_made_by(const Schedule* known, const Generator& generator, const ScheduleRequest& request, bool forward_only) {
  return known != nullptr && known->origin() != nullptr && known->origin()->generator == &generator &&
         known->origin()->request == request && known->forward_only() == forward_only;
}

void generate_schedule(const RunSpec& spec, const Schedule* known, BuiltRun& run) {
  Problems problems;
  if (!spec.stages)
    problems.add("`stages`", "missing", "how many pipeline stages (devices) are there? for example `stages` 4");
  if (!spec.microbatches) problems.add("`mb`", "missing", "how many microbatches make a step? for example `mb` 8");
  problems.throw_if_any();
  const std::optional<std::size_t> vpp = chunks_per_stage(spec);
  const Generator& generator = find_generator(spec.schedule.value_or(vpp.value_or(1) > 1 ? "interleaved" : "1f1b"));
  ScheduleRequest request{.shape = {.stages = *spec.stages,
                                    .microbatches = *spec.microbatches,
                                    .vpp = vpp.value_or(generator.vpp.standard)},
                          .group_size = spec.group_size,
                          .descending_backward = spec.descending_backward,
                          .activation_limit = spec.activation_limit,
                          .overlap_expert_exchange = spec.overlap_expert_exchange,
                          .replicas = spec.replicas.value_or(std::vector<std::size_t>{})};
  if (spec.replicas && spec.replicas->size() < request.shape.stages)
    request.shape.shared = request.shape.stages - spec.replicas->size();
  check_against_layout(spec, generator, request.shape);
  check_request(generator, request);
  const std::vector<StageId> placement = generator.place(request);
  const bool both_ways = generator.placement == "bidirectional"; // then each end is also on the other's stage
  run.scenario = make_scenario(spec, request.shape, placement, both_ways || placement.front() == placement.back());
  if (is_made_by(known, generator, request, spec.forward_only)) {
    run.schedule = *known;
  } else {
    run.schedule = spec.forward_only ? make_schedule(generator, request, run.scenario).forwards()
                                     : make_for_transfers(generator, request, run.scenario);
  }
  run.schedule_place = fmt::format("schedule '{}'", generator.name);
}

/// Replaces a field as place by the place where its value was set, possibly in a scenario file; also for the name of a
/// schedule set there.
Error placed(const RunSpec& spec, const Error& error) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems)
    if (const auto field = as_field(problem.where)) problem.where = spec.place_of(std::string{*field});
  if (spec.schedule && !spec.is_asked("schedule")) {
    const std::string name = fmt::format("'{}'", *spec.schedule);
    for (Problem& problem : problems)
      if (const std::size_t at = problem.what.find(name); at != std::string::npos)
        problem.what.insert(at + name.size(), fmt::format(" ({})", spec.place_of("schedule")));
  }
  return {error.code(), std::move(problems)};
}

} // namespace

Schedule make_for_transfers(const Generator& generator, const ScheduleRequest& request, const Scenario& scenario) {
  if (scenario.network.model == TransferModel::latency) return make_schedule(generator, request, scenario);
  std::vector<Schedule> schedules = make_with_rivals(generator, request, scenario);
  if (schedules.size() == 1) return std::move(schedules.front());
  std::vector<Duration> lengths;
  lengths.reserve(schedules.size());
  for (const Schedule& schedule : schedules) lengths.push_back(step_time_of(schedule, scenario));
  return std::move(schedules[static_cast<std::size_t>(std::ranges::min_element(lengths) - lengths.begin())]);
}

void fit_update(const RunSpec& spec, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes) {
  if (!schedule.asynchronous()) return;
  Problems problems;
  for (const std::string_view option :
       {"reduce", "overlap-grad-reduce", "tied-embedding-reduce", "optimizer", "optimizer-step"})
    if (spec.is_asked(option))
      problems.add(spec.place_of(option), fmt::format("'{}' has no flush, so nothing follows one", schedule.name()),
                   "put an update after every microbatch into `weight-grad`");
  problems.throw_if_any();
  if (scenario.update.is_free()) return;
  scenario.update = {};
  notes.push_back(fmt::format("'{}' has no flush: reductions and optimizer steps are left out", schedule.name()));
}

BuiltRun build_run(const RunSpec& spec, const Schedule* known) {
  BuiltRun run;
  try {
    if (spec.order != nullptr)
      use_given_order(spec, *spec.order, run);
    else
      generate_schedule(spec, known, run);
  } catch (const Error& error) {
    throw placed(spec, error);
  }
  fit_update(spec, run.schedule, run.scenario, run.notes);
  std::ranges::move(cautions(spec, run), std::back_inserter(run.notes));
  return run;
}

} // namespace ppsim
