#include "candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace ppsim::cli {
namespace {

/// How an option that only some schedules take is made unsaid.
struct Unsaid {
  std::string_view option;
  void (*reset)(Inputs&);
};
constexpr std::array unsaid{
    Unsaid{"group-size", [](Inputs& inputs) { inputs.group_size.reset(); }},
    Unsaid{"gpipe-backward", [](Inputs& inputs) { inputs.descending_backward.reset(); }},
    Unsaid{"activation-limit", [](Inputs& inputs) { inputs.activation_limit.reset(); }},
    Unsaid{"replicas", [](Inputs& inputs) { inputs.replicas.reset(); }},
};

/// Leaves out the options of single schedules that are not for this one; a schedule file (null) takes none.
void drop_options_of_others(const Generator* generator, Inputs& inputs) {
  for (const ScheduleOption& option : schedule_options()) {
    if (generator != nullptr && generator->takes(option.name)) continue;
    const auto* const found = std::ranges::find(unsaid, option.name, &Unsaid::option);
    PPSIM_ASSERT(found != unsaid.end());
    found->reset(inputs);
    inputs.where.erase(std::string{option.name});
  }
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

/// The inputs of a schedule file beside others: what chooses among those is not said to it.
Inputs of_file_only(const Inputs& inputs) {
  Inputs own = inputs;
  own.schedule.reset();
  own.vpp.reset();
  for (const std::string_view option : {"schedule", "vpp"}) own.where.erase(std::string{option});
  drop_options_of_others(nullptr, own);
  return own;
}

bool chooses_chunks(const Generator& generator) {
  return generator.vpp.multiple > 0 && generator.vpp.matters;
}

/// The number of chunks per stage that a layout says.
std::size_t chunks_by_layout(const Inputs& inputs) {
  return std::max<std::size_t>(inputs.layout->size() / std::max<std::size_t>(*inputs.stages, 1), 1);
}

/// Throws Error where a flag says what no schedule that takes part makes use of, or the same thing twice. What a
/// scenario file says is for any schedule, and void for others.
void check_flags(const Inputs& inputs, const std::vector<const Generator*>& parts) {
  Problems problems;
  const auto is_flag = [&](std::string_view option) {
    return inputs.where.contains(option) && inputs.place_of(option) == fmt::format("--{}", option);
  };
  for (const ScheduleOption& option : schedule_options()) {
    const auto takes = [&](const Generator* generator) { return generator->takes(option.name); };
    if (is_flag(option.name) && std::ranges::none_of(parts, takes))
      problems.add(inputs.place_of(option.name), "none of the schedules compared takes it", "leave it out");
  }
  if (is_flag("vpp") && std::ranges::none_of(parts, [](const Generator* part) { return chooses_chunks(*part); }))
    problems.add(inputs.place_of("vpp"), "none of the schedules compared can choose its chunks per stage",
                 "leave it out");
  if (inputs.vpp)
    for (const std::size_t vpp : std::set<std::size_t>{inputs.vpp->begin(), inputs.vpp->end()})
      if (std::ranges::count(*inputs.vpp, vpp) > 1)
        problems.add(inputs.place_of("vpp"), fmt::format("{} is there twice", vpp), "name each number once");
  if (inputs.vpp && inputs.layout && inputs.stages && *inputs.vpp != std::vector{chunks_by_layout(inputs)})
    problems.add(inputs.place_of("vpp"), fmt::format("the layout has {} chunks per stage", chunks_by_layout(inputs)),
                 "leave --vpp or the layout out");
  problems.throw_if_any();
}

/// Where nothing is said: 2 and 4, or where the layers of a stage are known up to three numbers that divide them.
std::vector<std::size_t> standard_counts(const Generator& generator, const Inputs& inputs) {
  constexpr std::size_t most = 3;
  const std::size_t model_layers = inputs.model_shape ? static_cast<std::size_t>(inputs.model_shape->layers) : 0;
  const std::size_t layers = inputs.layers.value_or(model_layers);
  const std::size_t stages = inputs.stages.value_or(1);
  std::vector<std::size_t> counts;
  if (stages > 0 && layers % stages == 0)
    for (std::size_t count = 2; count <= layers / stages && counts.size() < most; ++count)
      if (layers / stages % count == 0 && count % generator.vpp.multiple == 0) counts.push_back(count);
  return counts.empty() ? std::vector<std::size_t>{2, 4} : counts;
}

/// How many chunks per stage to try.
std::vector<std::size_t> chunk_counts(const Generator& generator, const Inputs& inputs) {
  if (!chooses_chunks(generator)) return {generator.vpp.standard};
  if (inputs.layout && inputs.stages) return {chunks_by_layout(inputs)};
  return inputs.vpp ? *inputs.vpp : standard_counts(generator, inputs);
}

void add_candidates(const Generator& generator, const Inputs& inputs, std::vector<Candidate>& list) {
  const std::vector<std::size_t> counts = chunk_counts(generator, inputs);
  const bool says_chunks = chooses_chunks(generator) || inputs.vpp; // which may be others'
  for (const std::size_t vpp : counts) {
    Candidate candidate{std::string{generator.name}, fmt::format("--schedule {}", generator.name), inputs};
    candidate.inputs.schedule = generator.name;
    candidate.inputs.where.erase("schedule"); // a file's is another one
    candidate.inputs.vpp = {vpp};
    if (inputs.layout) candidate.inputs.vpp.reset(); // it says so
    drop_options_of_others(&generator, candidate.inputs);
    if (counts.size() > 1) candidate.name += fmt::format(" v={}", vpp);
    if (says_chunks) candidate.flags += fmt::format(" --vpp {}", vpp);
    list.push_back(std::move(candidate));
  }
}

} // namespace

std::vector<Candidate> candidates(const Inputs& inputs) {
  std::vector<const Generator*> parts;
  for (const Generator* generator : generators())
    if (!inputs.schedules || std::ranges::find(*inputs.schedules, generator->name) != inputs.schedules->end())
      parts.push_back(generator);
  check_flags(inputs, parts);
  std::vector<Candidate> list;
  Inputs others = inputs;
  if (inputs.schedule_file) {
    const Inputs own = of_file_only(inputs);
    const Run run = resolve(own);
    others = without_file(inputs, run.schedule.shape());
    list.push_back({run.schedule_place, fmt::format("--schedule-file {}", *inputs.schedule_file), own});
  }
  for (const Generator* generator : parts) add_candidates(*generator, others, list);
  return list;
}

} // namespace ppsim::cli
