#include "ppsim/schedule/generators.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "generator_list.hpp"

namespace ppsim {
namespace {

constexpr std::array table{
#define PPSIM_GENERATOR(name) &generator::name::definition,
#include "generators.def"
#undef PPSIM_GENERATOR
};

void check_vpp(const Generator& generator, std::size_t vpp, Problems& problems) {
  const std::size_t standard = generator.vpp.standard;
  const std::size_t multiple = generator.vpp.multiple;
  if (multiple == 0 && vpp != standard)
    problems.add("`vpp`",
                 standard == 1 ? fmt::format("'{}' runs one chunk per stage, got {}", generator.name, vpp)
                               : fmt::format("'{}' runs {} chunks per stage, got {}", generator.name, standard, vpp),
                 standard == 1 ? "leave `vpp` out, or use `schedule` interleaved" : "leave `vpp` out");
  if (multiple > 1 && vpp % multiple != 0)
    problems.add("`vpp`", fmt::format("must be a multiple of {} here, got {}", multiple, vpp),
                 vpp < multiple ? fmt::format("{} is the least", multiple)
                                : fmt::format("{} and {} are the nearest", vpp / multiple * multiple,
                                              (vpp / multiple + 1) * multiple));
}

void check_shape(const Generator& generator, const ScheduleRequest& request, Problems& problems) {
  const Shape& shape = request.shape;
  if (shape.stages < 1 || shape.stages > Limits::stages)
    problems.add("`stages`", fmt::format("must be 1 to {}, got {}", Limits::stages, shape.stages),
                 "give the number of pipeline stages (devices)");
  if (shape.microbatches < 1)
    problems.add("`mb`", "must be at least 1, got 0", "give the number of microbatches per step");
  if (shape.vpp < 1)
    problems.add("`vpp`", "must be at least 1, got 0", "give the number of chunks per stage");
  else
    check_vpp(generator, shape.vpp, problems);
  if (shape.vpp > Limits::chunks || shape.stages * shape.vpp > Limits::chunks)
    problems.add("`vpp`",
                 fmt::format("{} stages x {} chunks are more than {} chunks", shape.stages, shape.vpp, Limits::chunks),
                 "use a smaller `vpp`");
  else if (shape.microbatches > Limits::tasks || std::uint64_t{2} * shape.chunks() * shape.microbatches > Limits::tasks)
    problems.add("`mb`",
                 fmt::format("{} microbatches on {} chunks make more than {} tasks", shape.microbatches, shape.chunks(),
                             Limits::tasks),
                 "a step of the same shape with fewer microbatches has the same steady state");
}

constexpr std::array options{
    ScheduleOption{"group-size", [](const ScheduleRequest& request) { return request.group_size.has_value(); },
                   "has no microbatch groups"},
    ScheduleOption{"overlap-moe-expert-parallel-comm",
                   [](const ScheduleRequest& request) { return request.overlap_expert_exchange; },
                   "does not run forwards together with backwards for this option"},
    ScheduleOption{"gpipe-backward",
                   [](const ScheduleRequest& request) { return request.descending_backward.has_value(); },
                   "fixes the order of its backwards"},
    ScheduleOption{"activation-limit",
                   [](const ScheduleRequest& request) { return request.activation_limit.has_value(); },
                   "does not choose how many activations it holds"},
    ScheduleOption{"replicas", [](const ScheduleRequest& request) { return !request.replicas.empty(); },
                   "has no replicated stages"},
};

void check_options(const Generator& generator, const ScheduleRequest& request, Problems& problems) {
  for (const ScheduleOption& option : options) {
    if (!option.is_given(request) || generator.takes(option.name)) continue;
    std::vector<std::string_view> takers;
    for (const Generator* other : table)
      if (other->takes(option.name)) takers.push_back(other->name);
    problems.add(fmt::format("`{}`", option.name), fmt::format("'{}' {}", generator.name, option.refusal),
                 takers.empty() ? "leave it out"
                                : fmt::format("leave it out, or use `schedule` {}", joined(takers, " or ")));
  }
}

template <class Value>
bool all_equal(const std::vector<Value>& values) {
  return std::ranges::adjacent_find(values, std::ranges::not_equal_to{}) == values.end();
}

/// The scenario's costs if they are equal everywhere and nothing contends.
std::optional<UniformCosts> uniform_costs(const Scenario& scenario) {
  const Costs& costs = scenario.costs;
  const Network& network = scenario.network;
  if (costs.differ_by_microbatch()) return std::nullopt;
  if (!all_equal(costs.forward) || !all_equal(costs.input_grad) || !all_equal(costs.weight_grad)) return std::nullopt;
  if (!all_equal(network.latency) || !all_equal(network.boundary_bytes)) return std::nullopt;
  // Stages meet even if transfers are free, and operations are serialised.
  if (network.model == TransferModel::blocking || network.model == TransferModel::streams) return std::nullopt;
  const bool plain = network.model == TransferModel::latency && network.stages_per_node == 0 && network.slices == 1;
  if (!plain && !network.is_free()) return std::nullopt;
  if (!scenario.update.is_free()) return std::nullopt; // closed forms cover only the tasks
  const Recompute& recompute = scenario.recompute;
  if (!costs.stage_ppm.empty() || !network.unusual_links.empty()) return std::nullopt;
  if (recompute.is_on() && (!all_equal(recompute.time) || recompute.microbatches_without > 0)) return std::nullopt;
  const Duration again = recompute.is_on() ? recompute.time[0] : Duration{0};
  const auto v = static_cast<std::int64_t>(scenario.shape.vpp);
  UniformCosts uniform;
  uniform.forward = v * (costs.forward[0] + costs.overhead);
  uniform.backward = v * (again + costs.input_grad[0] + costs.weight_grad[0] + costs.overhead);
  uniform.input_grad = v * (again + costs.input_grad[0] + costs.overhead);
  uniform.weight_grad = v * (costs.weight_grad[0] + costs.overhead);
  uniform.pair = scenario.pair;
  if (!network.is_free() && scenario.shape.stages > 1) uniform.comm = network.transfer_time(0, true);
  return uniform;
}

/// Lower case, without separators.
std::string bare_word(std::string_view text) {
  std::string word;
  for (const char character : text)
    if (character != '-' && character != '_' && character != ' ')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  return word;
}

/// Names of schedules in other programs and papers, for "did you mean". `name` is ours; a word may have several rows.
struct OtherName {
  std::string_view word; ///< in small letters, without dashes, underscores and spaces
  std::string_view name;
};

constexpr std::array other_names{
    OtherName{"naive", "sequential"},
    OtherName{"gpipefilldrain", "gpipe"}, // Megatron-LM's and DeepSpeed's documents
    OtherName{"filldrain", "gpipe"},
    OtherName{"afab", "gpipe"},   // all forwards, all backwards
    OtherName{"fthenb", "gpipe"}, // PaddlePaddle
    OtherName{"dapple", "1f1b"},
    OtherName{"pipedreamflush", "1f1b"},
    OtherName{"interleaved1f1b", "interleaved"}, // PyTorch: ScheduleInterleaved1F1B
    OtherName{"1f1binterleaved", "interleaved"},
    OtherName{"virtualpipeline", "interleaved"},
    OtherName{"vpp", "interleaved"}, // PaddlePaddle, Megatron-LM's flag
    OtherName{"breadthfirst", "looped-bfs"},
    OtherName{"zb", "zb-auto"},
    OtherName{"zb", "zb-h1"},
    OtherName{"zb", "zb-v"},
    OtherName{"zerobubble", "zb-auto"},
    OtherName{"zerobubble", "zb-h1"},
    OtherName{"zerobubble", "zb-v"},
    OtherName{"zb1p", "zb-auto"}, // Qi et al., arXiv 2401.10241: searched, with the memory of 1F1B; ZB-H1 is by hand
    OtherName{"zb1p", "zb-h1"},
    OtherName{"zb2p", "zb-auto"},
    OtherName{"zb2p", "zb-h2"},
    OtherName{"interleavedzerobubble", "zb-interleaved"}, // PyTorch
    OtherName{"zbvzerobubble", "zb-v"},                   // PyTorch
    OtherName{"zbvpp", "zb-v"},                           // PaddlePaddle
    OtherName{"vzb", "v-auto"},                           // Qi et al., arXiv 2405.15362
    OtherName{"vschedule", "v-auto"},
    OtherName{"wave", "hanayo"},
    OtherName{"bidirectional", "chimera"},
};

/// "'zb-auto' or 'zb-h1'": our names for a foreign `name`, or ours with another spelling. Empty if there are none.
std::string names_meant(std::string_view name) {
  const std::string word = bare_word(name);
  // PyTorch's classes are called ScheduleX.
  const std::string_view without_prefix = word.starts_with("schedule") ? std::string_view{word}.substr(8) : word;
  std::string meant;
  const auto add = [&](std::string_view known) { meant += fmt::format("{}'{}'", meant.empty() ? "" : " or ", known); };
  for (const Generator* generator : table)
    if (bare_word(generator->name) == without_prefix) add(generator->name);
  for (const OtherName& other : other_names)
    if (other.word == without_prefix) add(other.name);
  return meant;
}

} // namespace

bool Generator::takes(std::string_view option) const {
  return fmt::format(",{},", options).find(fmt::format(",{},", option)) != std::string::npos;
}

std::span<const ScheduleOption> schedule_options() {
  return options;
}

std::span<const Generator* const> generators() {
  return table;
}

const Generator& find_generator(std::string_view name) {
  constexpr std::string_view otherwise = "'ppsim list schedules' lists all; `schedule-file` reads other orders";
  std::vector<std::string_view> names;
  for (const Generator* generator : table) {
    if (generator->name == name) return *generator;
    names.push_back(generator->name);
  }
  const std::string meant = names_meant(name);
  throw Error{ExitCode::bad_input,
              Problem{"`schedule`", fmt::format("unknown schedule {}", in_quotes(name)),
                      meant.empty() ? did_you_mean(name, names, otherwise) : fmt::format("did you mean {}?", meant)}};
}

void check_request(const Generator& generator, const ScheduleRequest& request) {
  Problems problems;
  check_shape(generator, request, problems);
  check_options(generator, request, problems);
  if (problems.empty() && generator.refuse != nullptr) generator.refuse(request, problems);
  problems.throw_if_any();
}

Schedule make_schedule(const Generator& generator, const ScheduleRequest& request, const Scenario& scenario) {
  check_request(generator, request);
  const auto made = [&] {
    if (generator.searches()) return std::move(generator.search(request, scenario, false).front());
    if (generator.make != nullptr) return generator.make(request, scenario);
    ScheduleBuilder builder{std::string{generator.name}, request.shape};
    for (std::size_t stage = 0; stage < request.shape.stages; ++stage) {
      generator.add_stage(builder, request, stage);
      builder.end_stage();
    }
    return builder.build();
  };
  return made().with_origin(std::make_shared<const Origin>(Origin{&generator, request}));
}

std::vector<Schedule> make_with_rivals(const Generator& generator, const ScheduleRequest& request,
                                       const Scenario& scenario) {
  if (!generator.searches()) return {make_schedule(generator, request, scenario)};
  check_request(generator, request);
  std::vector<Schedule> schedules = generator.search(request, scenario, true);
  const auto origin = std::make_shared<const Origin>(Origin{&generator, request});
  for (Schedule& schedule : schedules) schedule = std::move(schedule).with_origin(origin);
  return schedules;
}

Schedule make_schedule(const Generator& generator, const ScheduleRequest& request) {
  check_request(generator, request); // before a scenario is made for it
  return make_schedule(generator, request,
                       uniform_scenario(request.shape, std::chrono::milliseconds{1}, std::chrono::milliseconds{2}));
}

const Generator* generator_of(const Schedule& schedule) {
  if (schedule.shape().shared > 0) return nullptr; // which stages share a position is an option
  for (const Generator* generator : generators()) {
    if (generator->searches() || generator->name == "sequential")
      continue; // with one microbatch all orders are sequential
    try {
      const Schedule made = make_schedule(*generator, {.shape = schedule.shape()});
      if (!made.asynchronous() && (schedule.forward_only() ? made.forwards() : made) == schedule) return generator;
    } catch (const Error&) {
      continue; // it does not support this shape
    }
  }
  return nullptr;
}

std::optional<ClosedForm> closed_form(const Generator& generator, const ScheduleRequest& request,
                                      const Scenario& scenario) {
  if (generator.closed_form == nullptr) return std::nullopt;
  const std::optional<UniformCosts> uniform = uniform_costs(scenario);
  if (!uniform || uniform->forward + uniform->backward == Duration{0}) return std::nullopt;
  return generator.closed_form(request, *uniform);
}

} // namespace ppsim
