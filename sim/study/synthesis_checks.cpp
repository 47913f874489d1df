#include "synthesis_checks.hpp"

#include "ppsim/report/detail/memory.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

/// What belongs to an order that there is.
void refuse_orders(const RunSpec& spec, Problems& problems) {
  if (spec.order != nullptr)
    problems.add(spec.order->name, "synthesize searches for an order, but this gives one", "leave `schedule-file` out");
  if (spec.schedule && spec.is_asked("schedule"))
    problems.add(spec.place_of("schedule"), "synthesize searches for an order, but this names one",
                 "leave it out; `placement` says where chunks are");
  for (const ScheduleOption& option : schedule_options())
    if (option.name != "activation-limit" && spec.is_asked(option.name) && spec.has(option.name))
      problems.add(spec.place_of(option.name), "belongs to schedules by name", "leave it out");
}

} // namespace

void check_synthesis(const RunSpec& spec, const SynthesisRequest& request) {
  Problems problems;
  if (!spec.stages)
    problems.add("`stages`", "missing", "how many pipeline stages (devices) are there? for example `stages` 4");
  if (!spec.microbatches) problems.add("`mb`", "missing", "how many microbatches make a step? for example `mb` 8");
  refuse_orders(spec, problems);
  if (spec.balance && spec.optimizer_step == OptimizerStep::per_stage)
    problems.add(spec.place_of("balance"), "splits are compared by makespan, but stages do not meet between steps",
                 "leave one of them out, or give the split as `layout`");
  if (spec.forward_only) problems.add(spec.place_of("forward-only"), "forwards have only one order", "leave it out");
  if (spec.release_outputs)
    problems.add(spec.place_of("release-outputs"), "the search does not cover when transfers free outputs",
                 "leave it out: outputs then count as kept");
  if (spec.send_slices.value_or(1) > 1)
    problems.add(spec.place_of("send-slices"), "the search does not cover sending before a task has ended",
                 "leave it out");
  for (const ChunkPlacement& placement : request.placements)
    if (spec.vpp && *spec.vpp != std::vector{placement.vpp})
      problems.add(spec.place_of("vpp"),
                   fmt::format("placement {} has {} chunk{} per stage", placement.name, placement.vpp,
                               placement.vpp == 1 ? "" : "s"),
                   "leave `vpp` out: it follows from the placement");
  problems.throw_if_any();
}

void check_scenario(const RunSpec& spec, const Scenario& scenario) {
  const bool knows_sizes = std::ranges::any_of(scenario.memory.activation, [](Bytes each) { return each > Bytes{}; });
  if (spec.activation_limit && scenario.memory.limit && knows_sizes)
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("activation-limit"),
                        "given together with a memory limit and sizes, but only one limit can hold",
                        "leave it out: activations then count in bytes"}};
  if (scenario.recompute.is_on() && scenario.recompute.microbatches_without > 0)
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("microbatches-without-recompute"),
                        "these microbatches depend on the order, which is not known yet", "leave it out"}};
}

void check_room(const RunSpec& spec, const ChunkPlacement& placement, const TaskGraph& plain, std::size_t passes,
                const synthesis::Instance& instance) {
  std::optional<StageId> fullest;
  std::int64_t most_over = 0;
  for (const StageId stage : plain.schedule().stage_ids()) {
    const std::int64_t over = least_capacity(instance, index(stage), passes) - instance.capacity[index(stage)];
    if (over <= most_over) continue;
    most_over = over;
    fullest = stage;
  }
  if (!fullest) return;
  const std::int64_t least = least_capacity(instance, index(*fullest), passes);
  if (spec.activation_limit)
    throw Error{
        ExitCode::no,
        Problem{spec.place_of("activation-limit"),
                fmt::format("allows {} on stage {}, but one microbatch alone has {} activations in placement {}",
                            *spec.activation_limit, index(*fullest), least, placement.name),
                fmt::format("give at least {}", least)}};
  const Bytes needed = static_bytes(plain, *fullest, 1) + Bytes{least};
  throw Error{ExitCode::no, Problem{spec.place_of("memory-limit"),
                                    fmt::format("{}, but stage {} needs {} for one microbatch alone in placement {}",
                                                format_bytes(*plain.scenario().memory.limit), index(*fullest),
                                                format_closely(needed), placement.name),
                                    "recompute activations, or spread the model over more devices"}};
}

void check_by_microbatch(const RunSpec& spec, const SynthesisRequest& request, bool by_interval,
                         std::string_view sequence, std::span<const std::int64_t> times) {
  const auto [least, most] = std::ranges::minmax(times);
  const std::string differ = fmt::format("costs differ by microbatch ({} takes {} to {})", sequence,
                                         format_duration(Duration{least}), format_duration(Duration{most}));
  Problems problems;
  if (request.certifies)
    problems.add(spec.place_of("certificate"),
                 fmt::format("{}, but a certificate has one duration for all tasks of a sequence", differ),
                 "leave it out, or give the mean costs of each chunk");
  if (by_interval)
    problems.add(spec.place_of("objective"),
                 fmt::format("{}, but a step time per stage is bounded only if they are equal", differ),
                 "use `objective` makespan, or give the mean costs of each chunk");
  problems.throw_if_any();
}

void check_pairs(const RunSpec& spec, bool by_interval, bool by_microbatch, std::size_t vpp) {
  Problems problems;
  if (by_interval)
    problems.add(spec.place_of("pair"), "orders with overlapped pairs are not searched for a step time per stage",
                 "leave it out, or use `objective` makespan");
  if (by_microbatch)
    problems.add(spec.place_of("pair"), "orders with overlapped pairs are searched only if microbatches cost the same",
                 "leave it out, or give the mean costs of each chunk");
  constexpr std::size_t most_chunks = 64; // of a stage: pairs of chunks are numbered
  if (vpp > most_chunks)
    problems.add(spec.place_of("pair"),
                 fmt::format("orders with overlapped pairs are searched for up to {} chunks per stage, not {}",
                             most_chunks, vpp),
                 "leave it out, or use another `placement`");
  problems.throw_if_any();
}

Error cannot_be_searched(const RunSpec& spec, std::string_view fault, TransferModel transfers) {
  if (transfers == TransferModel::link)
    return Error{ExitCode::bad_input,
                 Problem{spec.place_of("transfer"), fmt::format("cannot be searched with a stage per link: {}", fault),
                         "search with `transfer` latency, or give fewer microbatches"}};
  return Error{ExitCode::bad_input, Problem{spec.place_of("mb"), fmt::format("cannot be searched: {}", fault),
                                            "give fewer microbatches, up to 32767, or smaller costs"}};
}

} // namespace ppsim
