#include "candidates.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim::cli {
namespace {

/// Leaves out what the schedule does not take; another one may.
void drop_options_of_others(const Generator& generator, Inputs& inputs) {
  if (!generator.takes("group-size")) inputs.group_size.reset();
  if (!generator.takes("gpipe-backward")) inputs.descending_backward.reset();
  if (!generator.takes("activation-limit")) inputs.activation_limit.reset();
  if (!generator.takes("replicas")) inputs.replicas.reset();
  for (const ScheduleOption& option : schedule_options())
    if (!generator.takes(option.name)) inputs.where.erase(std::string{option.name});
}

/// The inputs of the others beside a schedule file: its shape, and no order.
Inputs without_file(const Inputs& inputs, const Shape& shape) {
  Inputs others = inputs;
  others.stages = shape.stages;
  others.microbatches = shape.microbatches;
  others.schedule_file.reset();
  others.where.erase("schedule-file");
  return others;
}

/// How many chunks per stage to try.
std::vector<std::size_t> chunk_counts(const Generator& generator, const Inputs& inputs) {
  if (generator.vpp.multiple == 0 || !generator.vpp.matters) return {generator.vpp.standard};
  if (inputs.layout && inputs.stages) return {std::max<std::size_t>(inputs.layout->size() / *inputs.stages, 1)};
  return inputs.vpp.value_or(std::vector<std::size_t>{2, 4});
}

void add_candidates(const Generator& generator, const Inputs& inputs, std::vector<Candidate>& list) {
  const std::vector<std::size_t> counts = chunk_counts(generator, inputs);
  const bool chooses = generator.vpp.multiple > 0 && generator.vpp.matters;
  for (const std::size_t vpp : counts) {
    Candidate candidate{std::string{generator.name}, fmt::format("--schedule {}", generator.name), inputs};
    candidate.inputs.schedule = generator.name;
    candidate.inputs.vpp = {vpp};
    drop_options_of_others(generator, candidate.inputs);
    if (counts.size() > 1) candidate.name += fmt::format(" v={}", vpp);
    if (chooses) candidate.flags += fmt::format(" --vpp {}", vpp);
    list.push_back(std::move(candidate));
  }
}

} // namespace

std::vector<Candidate> candidates(const Inputs& inputs) {
  std::vector<Candidate> list;
  Inputs others = inputs;
  if (inputs.schedule_file) {
    const Run run = resolve(inputs);
    others = without_file(inputs, run.schedule.shape());
    list.push_back({run.schedule_place, fmt::format("--schedule-file {}", run.schedule_place), inputs});
  }
  for (const Generator* generator : generators())
    if (!inputs.schedules || std::ranges::find(*inputs.schedules, generator->name) != inputs.schedules->end())
      add_candidates(*generator, others, list);
  return list;
}

} // namespace ppsim::cli
