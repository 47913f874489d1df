#include "ppsim/study/candidates.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace ppsim {
namespace {

/// How to reset an option that only some schedules accept.
struct OptionReset {
  std::string_view option;
  void (*reset)(RunSpec&);
};
constexpr std::array resets{
    OptionReset{"overlap-moe-expert-parallel-comm", [](RunSpec& spec) { spec.overlap_expert_exchange = false; }},
    OptionReset{"group-size", [](RunSpec& spec) { spec.group_size.reset(); }},
    OptionReset{"gpipe-backward", [](RunSpec& spec) { spec.descending_backward.reset(); }},
    OptionReset{"activation-limit", [](RunSpec& spec) { spec.activation_limit.reset(); }},
    OptionReset{"replicas", [](RunSpec& spec) { spec.replicas.reset(); }},
};

/// Resets options of single schedules that do not apply to this one; a schedule file (null) accepts none.
void drop_options_of_others(const Generator* generator, RunSpec& spec) {
  for (const ScheduleOption& option : schedule_options()) {
    if (generator != nullptr && generator->takes(option.name)) continue;
    const auto* const found = std::ranges::find(resets, option.name, &OptionReset::option);
    PPSIM_ASSERT(found != resets.end());
    found->reset(spec);
    spec.where.erase(std::string{option.name});
  }
}

/// The spec of the other candidates with a schedule file: its shape, without the order.
RunSpec without_file(const RunSpec& spec, const Shape& shape) {
  RunSpec others = spec;
  others.stages = shape.stages;
  others.microbatches = shape.microbatches;
  others.order.reset();
  return others;
}

bool chooses_chunks(const Generator& generator) {
  return generator.vpp.multiple > 0 && generator.vpp.matters;
}

/// The number of chunks per stage of a layout.
std::size_t chunks_by_layout(const RunSpec& spec) {
  return std::max<std::size_t>(spec.layout->size() / std::max<std::size_t>(*spec.stages, 1), 1);
}

/// Throws Error if no candidate accepts a flag, or if a value is repeated. Options in a scenario file apply to some
/// schedules and are ignored by others.
void check_flags(const RunSpec& spec, const std::vector<const Generator*>& parts) {
  Problems problems;
  const auto is_flag = [&](std::string_view option) { return spec.is_asked(option); };
  for (const ScheduleOption& option : schedule_options()) {
    const auto takes = [&](const Generator* generator) { return generator->takes(option.name); };
    if (is_flag(option.name) && std::ranges::none_of(parts, takes))
      problems.add(spec.place_of(option.name), "none of the schedules compared takes it", "leave it out");
  }
  if (is_flag("vpp") && std::ranges::none_of(parts, [](const Generator* part) { return chooses_chunks(*part); }))
    problems.add(spec.place_of("vpp"), "none of the schedules compared can choose its chunks per stage",
                 "leave it out");
  if (spec.vpp)
    for (const std::size_t vpp : std::set<std::size_t>{spec.vpp->begin(), spec.vpp->end()})
      if (std::ranges::count(*spec.vpp, vpp) > 1)
        problems.add(spec.place_of("vpp"), fmt::format("{} appears twice", vpp), "name each number once");
  if (spec.vpp && spec.layout && spec.stages && *spec.vpp != std::vector{chunks_by_layout(spec)})
    problems.add(spec.place_of("vpp"), fmt::format("the layout has {} chunks per stage", chunks_by_layout(spec)),
                 "leave `vpp` or the layout out");
  problems.throw_if_any();
}

/// The default: 2 and 4, or up to three numbers that divide the layers of a stage, if known.
std::vector<std::size_t> standard_counts(const Generator& generator, const RunSpec& spec) {
  constexpr std::size_t most = 3;
  const std::size_t model_layers = spec.model_shape ? static_cast<std::size_t>(spec.model_shape->layers) : 0;
  const std::size_t layers = spec.layers.value_or(model_layers);
  const std::size_t stages = spec.stages.value_or(1);
  std::vector<std::size_t> counts;
  if (stages > 0 && layers % stages == 0)
    for (std::size_t count = 2; count <= layers / stages && counts.size() < most; ++count)
      if (layers / stages % count == 0 && count % generator.vpp.multiple == 0) counts.push_back(count);
  return counts.empty() ? std::vector<std::size_t>{2, 4} : counts;
}

/// The numbers of chunks per stage to try.
std::vector<std::size_t> chunk_counts(const Generator& generator, const RunSpec& spec) {
  if (!chooses_chunks(generator)) return {generator.vpp.standard};
  if (spec.layout && spec.stages) return {chunks_by_layout(spec)};
  return spec.vpp ? *spec.vpp : standard_counts(generator, spec);
}

void add_candidates(const Generator& generator, const RunSpec& spec, std::vector<Candidate>& list) {
  const std::vector<std::size_t> counts = chunk_counts(generator, spec);
  const bool says_chunks = chooses_chunks(generator) || spec.vpp; // which may differ from the others'
  for (const std::size_t vpp : counts) {
    Candidate candidate{std::string{generator.name}, fmt::format("`schedule` {}", generator.name), spec};
    candidate.spec.schedule = generator.name;
    candidate.spec.where.erase("schedule"); // a file's refers to another one
    candidate.spec.vpp = {vpp};
    if (spec.layout) candidate.spec.vpp.reset(); // the layout has it
    drop_options_of_others(&generator, candidate.spec);
    if (counts.size() > 1) candidate.name += fmt::format(" v={}", vpp);
    if (says_chunks) candidate.fields += fmt::format(" `vpp` {}", vpp);
    list.push_back(std::move(candidate));
  }
}

} // namespace

RunSpec for_given_order(const RunSpec& spec) {
  RunSpec own = spec;
  own.schedule.reset();
  own.vpp.reset();
  for (const std::string_view option : {"schedule", "vpp"}) own.where.erase(std::string{option});
  drop_options_of_others(nullptr, own);
  return own;
}

std::vector<Candidate> candidates(const RunSpec& spec) {
  if (spec.schedules && spec.schedules->empty())
    throw Error{ExitCode::bad_input, Problem{spec.place_of("schedules"), "names none", "name some, or leave it out"}};
  for (const std::string& name : spec.schedules.value_or(std::vector<std::string>{})) (void)find_generator(name);
  std::vector<const Generator*> parts;
  for (const Generator* generator : generators())
    if (!spec.schedules || std::ranges::find(*spec.schedules, generator->name) != spec.schedules->end())
      parts.push_back(generator);
  check_flags(spec, parts);
  std::vector<Candidate> list;
  RunSpec others = spec;
  others.copies_apart = true; // evaluate() checks them
  if (spec.order != nullptr) {
    const RunSpec own = for_given_order(others);
    const BuiltRun run = build_run(own);
    others = without_file(others, run.schedule.shape());
    list.push_back({run.schedule_place, spec.order->fields, own});
  }
  for (const Generator* generator : parts) add_candidates(*generator, others, list);
  return list;
}

} // namespace ppsim
