#include "inputs.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "doubts.hpp"
#include "files/files.hpp"
#include "scenario_inputs.hpp"

namespace ppsim::cli {
namespace {

/// The number of chunks per stage, where it was given. Throws Error if there are several.
std::optional<std::size_t> one_vpp(const Inputs& inputs) {
  if (!inputs.vpp) return std::nullopt;
  if (inputs.vpp->size() > 1)
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("vpp"), fmt::format("{} values", inputs.vpp->size()),
                                             "give one; 'ppsim compare' tries several"}};
  return inputs.vpp->front();
}

/// A file sets the shape; flags may repeat it, not change it.
void check_against_file(const Inputs& inputs, const Shape& shape) {
  Problems problems;
  const auto check = [&](std::string_view option, const std::optional<std::size_t>& given, std::size_t found) {
    if (given && *given != found)
      problems.add(inputs.place_of(option), fmt::format("{}, but the schedule file has {}", *given, found),
                   fmt::format("leave --{} out", option));
  };
  check("stages", inputs.stages, shape.stages);
  check("mb", inputs.microbatches, shape.microbatches);
  check("vpp", one_vpp(inputs), shape.vpp);
  std::vector<std::string_view> fixed{"schedule"};
  for (const ScheduleOption& option : schedule_options()) fixed.push_back(option.name);
  for (const std::string_view option : fixed)
    if (inputs.where.contains(option))
      problems.add(inputs.place_of(option), "given together with a schedule file, which sets the order",
                   fmt::format("leave --{} or --schedule-file out", option));
  problems.throw_if_any();
}

void read_schedule_file(const Inputs& inputs, const std::string& path, Run& run) {
  traces::ScheduleFile file =
      traces::read_schedule(read_file(path, inputs.place_of("schedule-file")), display_name(path), inputs.forward_only);
  check_against_file(inputs, file.schedule.shape());
  run.schedule = std::move(file.schedule);
  run.scenario =
      make_scenario(inputs, run.schedule.shape(), placement_of(run.schedule), ends_share_stage(run.schedule));
  run.notes = std::move(file.notes);
  const CommOrder* const own = run.schedule.communications();
  run.scenario.network.streams.lowering = lowering_in(inputs, own != nullptr);
  if (own != nullptr && inputs.lowering)
    run.notes.push_back(fmt::format("{}: {} takes the place of the file's {} sends and receives",
                                    inputs.place_of("lowering"), *inputs.lowering, own->size()));
  else if (own != nullptr && run.scenario.network.model != TransferModel::streams && !inputs.csv_comms)
    run.notes.push_back(fmt::format("{}: its {} send and receive cells are not used; --transfer streams simulates them",
                                    display_name(path), own->size()));
  run.schedule_place = display_name(path);
}

/// The number of chunks per stage: with a layout that of the layout. Throws Error where what is given contradicts it.
std::optional<std::size_t> chunks_per_stage(const Inputs& inputs) {
  const std::optional<std::size_t> vpp = one_vpp(inputs);
  if (!inputs.layout || !inputs.stages) return vpp;
  const std::size_t chunks = inputs.layout->size();
  const std::size_t stages = inputs.replicas ? inputs.replicas->size() : *inputs.stages; // positions of the pipeline
  if (chunks % stages != 0)
    throw Error{ExitCode::bad_input, Problem{"--layout",
                                             fmt::format("{} chunk{} can not be divided over {} stages", chunks,
                                                         chunks == 1 ? "" : "s", stages),
                                             fmt::format("describe a multiple of {} chunks", stages)}};
  if (vpp && *vpp * stages != chunks)
    throw Error{ExitCode::bad_input, Problem{"--layout",
                                             fmt::format("{} chunks, but {} stages with --vpp {} have {}", chunks,
                                                         stages, *vpp, *vpp * stages),
                                             "leave --vpp out: it follows from the layout"}};
  return chunks / stages;
}

/// A schedule that fixes the number of chunks says how many the layout should have.
void check_against_layout(const Inputs& inputs, const Generator& generator, const Shape& shape) {
  if (!inputs.layout || generator.vpp.multiple > 0 || shape.vpp == generator.vpp.standard) return;
  const std::size_t needed = shape.positions() * generator.vpp.standard;
  throw Error{ExitCode::bad_input,
              Problem{"--layout",
                      fmt::format("{} chunks, but '{}' on {} stages has {}", inputs.layout->size(), generator.name,
                                  shape.positions(), needed),
                      fmt::format("describe {} chunks{}", needed,
                                  generator.vpp.standard == 1 ? ", or use --schedule interleaved" : "")}};
}

void generate_schedule(const Inputs& inputs, Run& run) {
  Problems problems;
  if (!inputs.stages)
    problems.add("--stages", "missing", "how many pipeline stages (devices) are there? for example --stages 4");
  if (!inputs.microbatches) problems.add("--mb", "missing", "how many microbatches make a step? for example --mb 8");
  problems.throw_if_any();
  const std::optional<std::size_t> vpp = chunks_per_stage(inputs);
  run.generator = &find_generator(inputs.schedule.value_or(vpp.value_or(1) > 1 ? "interleaved" : "1f1b"));
  run.request.shape = {.stages = inputs.stages.value_or(1),
                       .microbatches = inputs.microbatches.value_or(1),
                       .vpp = vpp.value_or(run.generator->vpp.standard)};
  run.request.group_size = inputs.group_size;
  run.request.descending_backward = inputs.descending_backward;
  run.request.activation_limit = inputs.activation_limit;
  run.request.replicas = inputs.replicas.value_or(std::vector<std::size_t>{});
  if (inputs.replicas && inputs.replicas->size() < run.request.shape.stages)
    run.request.shape.shared = run.request.shape.stages - inputs.replicas->size();
  check_against_layout(inputs, *run.generator, run.request.shape);
  check_request(*run.generator, run.request);
  const std::vector<StageId> placement = run.generator->place(run.request);
  const bool both_ways = run.generator->placement == "bidirectional"; // then each end is on the other's stage as well
  run.scenario =
      make_scenario(inputs, run.request.shape, placement, both_ways || placement.front() == placement.back());
  run.schedule = make_schedule(*run.generator, run.request, run.scenario);
  if (inputs.forward_only) run.schedule = run.schedule.forwards();
  run.schedule_place = fmt::format("schedule '{}'", run.generator->name);
}

/// What names a flag names the place where its value was given, which may be a scenario file; so does the name of a
/// schedule that was not given on the command line.
Error placed(const Inputs& inputs, const Error& error) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems)
    if (problem.where.starts_with("--")) problem.where = inputs.place_of(std::string_view{problem.where}.substr(2));
  if (inputs.schedule && inputs.where.contains("schedule") && !inputs.has_flag("schedule")) {
    const std::string name = fmt::format("'{}'", *inputs.schedule);
    for (Problem& problem : problems)
      if (const std::size_t at = problem.what.find(name); at != std::string::npos)
        problem.what.insert(at + name.size(), fmt::format(" ({})", inputs.place_of("schedule")));
  }
  return {error.code(), std::move(problems)};
}

/// Without a flush there is no end of a step for these to follow. Throws Error with each that is asked for; those of a
/// scenario, which may be for other schedules as well, are left out.
void refuse_update(const Inputs& inputs, const Schedule& schedule) {
  if (!schedule.asynchronous()) return;
  Problems problems;
  for (const std::string_view option : {"reduce", "tied-embedding-reduce", "optimizer", "optimizer-step"})
    if (inputs.has_flag(option))
      problems.add(inputs.place_of(option), fmt::format("'{}' has no flush that it could follow", schedule.name()),
                   "put an update after every microbatch into --weight-grad");
  problems.throw_if_any();
}

} // namespace

std::string Inputs::place_of(std::string_view option) const {
  const auto found = where.find(option);
  return found == where.end() ? fmt::format("--{}", option) : found->second;
}

bool Inputs::has_flag(std::string_view option) const {
  const auto found = where.find(option);
  return found != where.end() && found->second.starts_with("--");
}

std::optional<Communicators> communicators_in(const Inputs& inputs) {
  if (!inputs.p2p) return std::nullopt;
  switch (*inputs.p2p) {
  case P2p::edge:
    return Communicators::edge;
  case P2p::pair:
    return Communicators::pair;
  case P2p::direction:
    return Communicators::direction;
  case P2p::group:
  case P2p::batched:
    break;
  }
  return Communicators::group;
}

Overlap overlap_in(const Inputs& inputs) {
  return inputs.overlap_p2p.value_or(inputs.p2p == P2p::batched ? Overlap::none : Overlap::steady);
}

void check_overlap(const Inputs& inputs, Problems& problems) {
  if (inputs.p2p == P2p::batched && overlap_in(inputs) != Overlap::none)
    problems.add(inputs.place_of("overlap-p2p"), "Megatron-LM overlaps only what it does not launch in batches",
                 "leave it out, or leave out --p2p batched");
}

std::string_view lowering_in(const Inputs& inputs, bool has_own) {
  if (inputs.lowering) return *inputs.lowering;
  return inputs.p2p == P2p::batched && !has_own ? "megatron" : "";
}

void fit_update(const Inputs& inputs, const Schedule& schedule, Scenario& scenario, std::vector<std::string>& notes) {
  refuse_update(inputs, schedule);
  if (!schedule.asynchronous() || scenario.update.is_free()) return;
  scenario.update = {};
  notes.push_back(fmt::format("'{}' has no flush: reductions and optimizer steps are left out", schedule.name()));
}

Run resolve(const Inputs& inputs) {
  Run run;
  try {
    if (inputs.schedule_file)
      read_schedule_file(inputs, *inputs.schedule_file, run);
    else
      generate_schedule(inputs, run);
  } catch (const Error& error) {
    throw placed(inputs, error);
  }
  fit_update(inputs, run.schedule, run.scenario, run.notes);
  std::ranges::move(doubts(inputs, run), std::back_inserter(run.notes));
  return run;
}

} // namespace ppsim::cli
