#include "ppsim/plan/space.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/plan/settings.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/jitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace ppsim {
namespace {

constexpr std::int64_t most_microbatch_size = 8;
constexpr std::int64_t least_context_tokens = 1024; // of a sequence, on each rank

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    found.push_back(i);
    if (i != number / i) found.push_back(number / i);
  }
  std::ranges::sort(found);
  return found;
}

/// The chosen values, otherwise those of `all` that pass.
template <class Passes>
std::vector<std::int64_t> chosen(const std::vector<std::int64_t>& choice, const std::vector<std::int64_t>& all,
                                 Passes passes) {
  if (!choice.empty()) return choice;
  std::vector<std::int64_t> result;
  std::ranges::copy_if(all, std::back_inserter(result), passes);
  return result;
}

bool allows(const std::vector<std::int64_t>& choice, std::int64_t value) {
  return choice.empty() || std::ranges::find(choice, value) != choice.end();
}

bool has_order(Framework framework, std::string_view schedule) {
  return framework == Framework::any || name_in(framework, schedule).has_value();
}

/// The ZeRO stages that a framework supports with a pipeline.
std::vector<std::int64_t> zero_stages(Framework framework) {
  switch (framework) {
  case Framework::megatron:
  case Framework::deepspeed:
    return {0, 1};
  case Framework::torchtitan:
    return {2, 3};
  case Framework::any:
    break;
  }
  return {0, 1, 2, 3};
}

} // namespace

std::string_view to_string(Framework framework) {
  constexpr std::array<std::string_view, 4> names{"any", "megatron", "torchtitan", "deepspeed"};
  return names[static_cast<std::size_t>(framework)];
}

std::string_view to_string(LayerSplit split) {
  constexpr std::array<std::string_view, 3> names{"even", "ends", "work"};
  return names[static_cast<std::size_t>(split)];
}

std::vector<std::pair<std::string_view, std::string>> Configuration::options() const {
  std::vector<std::pair<std::string_view, std::string>> list;
  const auto add = [&](std::string_view name, auto value) { list.emplace_back(name, fmt::format("{}", value)); };
  const auto add_if = [&](bool given, std::string_view name, auto value) {
    if (given) add(name, value);
  };
  add("stages", degrees.stages);
  add("mb", degrees.microbatches);
  add("microbatch-size", degrees.microbatch_size);
  add_if(degrees.tensor > 1, "tensor-parallel", degrees.tensor);
  add_if(degrees.tensor > 1 && !degrees.sequence_parallel, "sequence-parallel", "off");
  add_if(degrees.context > 1, "context-parallel", degrees.context);
  add_if(degrees.expert > 1, "expert-parallel", degrees.expert);
  add_if(degrees.data > 1, "data-parallel", degrees.data);
  add_if(degrees.zero_stage == 0, "distributed-optimizer", "off");
  add_if(degrees.zero_stage > 1, "zero-stage", degrees.zero_stage);
  if (schedule != nullptr) {
    add("schedule", schedule->name);
    add_if(schedule->vpp.multiple > 0 && layout.empty(), "vpp", chunks);
  }
  add_if(!layout.empty(), "layout", layout);
  add_if(keeping.kind != RecomputeKind::none, "recompute", keeping.kind == RecomputeKind::full ? "full" : "selective");
  add_if(keeping.block_layers > 0, "recompute-method", "block");
  add_if(keeping.block_layers > 0, "recompute-num-layers", keeping.block_layers);
  return list;
}

std::vector<std::string_view> void_options(const Configuration& configuration) {
  std::vector<std::string_view> list;
  const Degrees& degrees = configuration.degrees;
  if (degrees.context == 1) list.emplace_back("cp-comm-type");
  if (degrees.tensor == 1 && degrees.context == 1 && degrees.data == 1) list.emplace_back("gpus-per-node");
  if (configuration.keeping.kind != RecomputeKind::selective) list.emplace_back("recompute-modules");
  if (degrees.expert == 1) {
    list.emplace_back("moe-token-dispatcher");
    list.emplace_back("moe-dispatch-data-type");
  }
  return list;
}

std::optional<std::size_t> samples_of(const PlanRequest& request, const Degrees& degrees) {
  if (!request.run.varies_by_chance()) return std::nullopt;
  const std::size_t asked = request.run.samples.value_or(Jitter{}.samples);
  return std::max(asked, JitterLimits::samples_per_copy * static_cast<std::size_t>(degrees.data));
}

namespace {

/// The common options, without those that do not apply to this configuration.
RunSpec without_void_options(const PlanRequest& request, const Configuration& configuration) {
  RunSpec spec = request.run;
  for (const std::string_view option : void_options(configuration)) {
    if (const auto said = spec.where.find(option); said != spec.where.end()) spec.where.erase(said);
    if (option == "cp-comm-type") spec.training.context_exchange.reset();
    if (option == "recompute-modules") spec.training.recompute_modules.reset();
    if (option == "gpus-per-node") spec.training.gpus_per_node.reset();
    if (option == "moe-token-dispatcher") spec.training.token_dispatcher.reset();
    if (option == "moe-dispatch-data-type") spec.training.dispatch_data_type.reset();
  }
  return spec;
}

} // namespace

RunSpec spec_of(const PlanRequest& request, const Configuration& configuration) {
  RunSpec spec = without_void_options(request, configuration);
  const Degrees& degrees = configuration.degrees;
  if (const auto samples = samples_of(request, degrees)) spec.samples = samples;
  Training& training = spec.training;
  spec.stages = static_cast<std::size_t>(degrees.stages);
  spec.microbatches = static_cast<std::size_t>(degrees.microbatches);
  training.microbatch_size = degrees.microbatch_size;
  training.tensor_parallel = degrees.tensor;
  training.sequence_parallel = degrees.sequence_parallel;
  training.context_parallel = degrees.context;
  training.expert_parallel = degrees.expert;
  training.data_parallel = degrees.data;
  training.distributed_optimizer = degrees.zero_stage > 0;
  if (degrees.zero_stage > 1) training.zero_stage = degrees.zero_stage;
  if (configuration.schedule != nullptr) {
    spec.schedule = configuration.schedule->name;
    if (configuration.schedule->vpp.multiple > 0 && configuration.layout.empty()) spec.vpp = {configuration.chunks};
  }
  if (!configuration.layout.empty()) spec.layout = parse_layout(configuration.layout);
  const Keeping& keeping = configuration.keeping;
  if (keeping.kind != RecomputeKind::none) spec.recompute = keeping.kind;
  if (keeping.block_layers > 0) {
    spec.recompute_method = RecomputeUnits::Method::block;
    spec.recompute_num_layers = keeping.block_layers;
  }
  return spec;
}

ScheduleTraits traits_of(const Generator& generator) {
  static const std::map<const Generator*, ScheduleTraits> known = [] {
    std::map<const Generator*, ScheduleTraits> traits;
    constexpr std::size_t small = 4; // number of stages; every schedule supports it
    for (const Generator* each : generators()) {
      const Shape shape{.stages = small, .microbatches = 2 * small, .vpp = each->vpp.standard};
      const Schedule schedule = make_schedule(*each, {.shape = shape});
      ScheduleTraits of{.splits_backward = each->searches(), .asynchronous = schedule.asynchronous()};
      for (const Task& task : schedule.tasks()) {
        of.splits_backward |= task.pass == Pass::weight_grad;
        of.pairs |= task.pairing != Pairing::alone;
      }
      traits.emplace(each, of);
    }
    return traits;
  }();
  return known.at(&generator);
}

std::vector<const Generator*> planned_schedules(const PlanRequest& request) {
  const std::vector<std::string>& named = request.choices.schedules;
  std::vector<const Generator*> schedules;
  for (const Generator* generator : generators()) {
    // one device at a time is pointless with several
    const bool is_meant =
        named.empty() ? generator->name != "sequential" : std::ranges::find(named, generator->name) != named.end();
    if (is_meant && !traits_of(*generator).asynchronous && has_order(request.framework, generator->name))
      schedules.push_back(generator);
  }
  return schedules;
}

namespace {

PlanRequest without_schedules(PlanRequest request) {
  request.choices.schedules.clear();
  return request;
}

std::vector<std::string_view> names_of(const std::vector<const Generator*>& schedules) {
  std::vector<std::string_view> names;
  names.reserve(schedules.size());
  for (const Generator* generator : schedules) names.push_back(generator->name);
  return names;
}

} // namespace

PlanSpace::PlanSpace(const PlanRequest& request)
    : request_{request}, model_{model_of(request.run)}, schedules_{planned_schedules(request)} {
  for (const std::string& name : request.choices.schedules) (void)find_generator(name);
  if (schedules_.empty())
    throw Error{
        ExitCode::bad_input,
        Problem{"`schedules`",
                fmt::format("'{1}' runs none of {0} that flushes", fmt::join(request.choices.schedules, ", "),
                            to_string(request.framework)),
                fmt::format("it runs {}", fmt::join(names_of(planned_schedules(without_schedules(request))), ", "))}};
  find_degrees();
  find_layouts();
  count();
  if (size_ == 0)
    throw Error{ExitCode::bad_input,
                Problem{"`fixed`", "no schedule takes any of the remaining numbers of stages, chunks and microbatches",
                        "fix less, or give another `global-batch`"}};
}

namespace {

/// "tp of 1, 2, 4".
std::string listed(std::string_view name, const std::vector<std::int64_t>& values) {
  return values.empty() ? fmt::format("no {}", name) : fmt::format("{} of {}", name, joined(values, ", "));
}

constexpr std::size_t most_degrees = 2'000'000; // about 200 bytes each

bool is_taken(const Generator& generator, const Shape& shape) {
  try {
    check_request(generator, {.shape = shape});
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Megatron-LM wants groups of at least as many microbatches as stages (microbatch_group_size_per_vp_stage, from
/// pipeline_model_parallel_size to the number of microbatches), where ppsim and PyTorch run a smaller one.
bool is_refused(Framework framework, const Shape& shape) {
  return framework == Framework::megatron && shape.vpp > 1 && shape.microbatches < shape.stages;
}

} // namespace

void PlanSpace::check_framework() const {
  const PlanChoices& choices = request_.choices;
  const std::string_view framework = to_string(request_.framework);
  Problems problems;
  if (!runs_layouts(request_.framework) && std::ranges::count(choices.split, LayerSplit::work) > 0)
    problems.add("`fixed`", fmt::format("split: {} spreads layers evenly, or counts the ends as layers", framework),
                 "name even or ends, or leave it out");
  const bool is_torchtitan = request_.framework == Framework::torchtitan;
  if (is_torchtitan && std::ranges::count(choices.recompute, RecomputeKind::selective) > 0)
    problems.add("`recompute`", "torchtitan cannot recompute single modules of a layer",
                 "name none or full, or leave it out");
  if (!choices.sequence_parallel.value_or(true) && (is_torchtitan || model_.experts > 0))
    problems.add("`sequence-parallel`",
                 is_torchtitan ? "torchtitan's tensor parallelism needs it" : "experts with tensor parallelism need it",
                 "leave it out");
  problems.throw_if_any();
}

PlanSpace::Values PlanSpace::values() const {
  const PlanChoices& choices = request_.choices;
  const Training& training = request_.run.training;
  const std::int64_t sequence = training.sequence_length > 0 ? training.sequence_length : model_.sequence_length;
  const std::vector<std::int64_t> parts = divisors(request_.gpus);
  const auto splits = [&](std::int64_t ranks) { return model_.heads % ranks == 0 && ranks <= training.node_ranks(); };
  const auto shares = [&](std::int64_t ranks) {
    return ranks == 1 || (sequence % (2 * ranks) == 0 && sequence / ranks >= least_context_tokens);
  };
  const auto has_layers = [&](std::int64_t stages) { return stages <= model_.layers; };
  const auto any = [](std::int64_t) { return true; };
  const bool has_contexts = request_.framework != Framework::deepspeed;
  const std::vector<std::int64_t> known = zero_stages(request_.framework);
  for (const std::int64_t stage : choices.zero_stage)
    if (std::ranges::find(known, stage) == known.end())
      throw Error{ExitCode::bad_input, Problem{"`zero-stage`",
                                               fmt::format("{} cannot use ZeRO stage {} with a pipeline",
                                                           to_string(request_.framework), stage),
                                               fmt::format("one of {}", joined(known, ", "))}};
  check_framework();
  std::vector<std::int64_t> sizes(most_microbatch_size);
  std::iota(sizes.begin(), sizes.end(), std::int64_t{1});
  const std::vector<std::int64_t> experts =
      model_.experts > 0 ? divisors(model_.experts) : std::vector<std::int64_t>{1};
  return {.tensor = chosen(choices.tensor, parts, splits),
          .context = chosen(choices.context, has_contexts ? parts : std::vector<std::int64_t>{1}, shares),
          .expert = chosen(choices.expert, has_contexts ? experts : std::vector<std::int64_t>{1}, any),
          .stages = chosen(choices.stages, parts, has_layers),
          .microbatch_size = chosen(choices.microbatch_size, sizes, any),
          .zero_stage = chosen(choices.zero_stage, known, any)};
}

void PlanSpace::check_divisors() const {
  const PlanChoices& choices = request_.choices;
  Problems problems;
  const auto check = [&](std::string_view field, const std::vector<std::int64_t>& named, auto divides,
                         std::string_view of) {
    if (named.empty() || std::ranges::any_of(named, divides)) return;
    std::vector<std::int64_t> others = divisors(request_.gpus);
    std::erase_if(others, [&](std::int64_t each) { return !divides(each); });
    problems.add(fmt::format("`{}`", field),
                 named.size() == 1 ? fmt::format("{} does not divide {}", named.front(), of)
                                   : fmt::format("none of {} divides {}", fmt::join(named, ", "), of),
                 fmt::format("one of {}", fmt::join(others, ", ")));
  };
  const auto divides_gpus = [&](std::int64_t ranks) { return request_.gpus % ranks == 0; };
  const std::string gpus = fmt::format("the {} devices", request_.gpus);
  check(
      "tensor-parallel", choices.tensor,
      [&](std::int64_t ranks) { return divides_gpus(ranks) && model_.heads % ranks == 0; },
      fmt::format("{} and the {} heads", gpus, model_.heads));
  check("context-parallel", choices.context, divides_gpus, gpus);
  check("stages", choices.stages, divides_gpus, gpus);
  check("data-parallel", choices.data, divides_gpus, gpus);
  problems.throw_if_any();
}

void PlanSpace::find_degrees() {
  const Values all = values();
  for (const std::int64_t tensor : all.tensor)
    for (const std::int64_t context : all.context)
      for (const std::int64_t stages : all.stages)
        if (const std::int64_t ranks = tensor * context * stages;
            request_.gpus % ranks == 0 && allows(request_.choices.data, request_.gpus / ranks))
          add_batches(all, {.tensor = tensor, .context = context, .data = request_.gpus / ranks, .stages = stages});
  if (!degrees_.empty()) return;
  check_divisors();
  throw Error{
      ExitCode::bad_input,
      Problem{
          "`gpus`",
          fmt::format(
              "{} devices cannot be divided as tp x cp x dp x pp, and {} samples over dp x mbs, with {}, {}, {} and {}",
              request_.gpus, request_.global_batch, listed("tp", all.tensor), listed("cp", all.context),
              listed("pp", all.stages), listed("mbs", all.microbatch_size)),
          "fix less, or give another number of devices or samples"}};
}

void PlanSpace::add_batches(const Values& all, Degrees degrees) {
  for (const std::int64_t expert : all.expert) {
    if (degrees.data * degrees.context * degrees.tensor % expert != 0) continue;
    degrees.expert = expert;
    for (const std::int64_t size : all.microbatch_size) {
      if (request_.global_batch % (degrees.data * size) != 0) continue;
      degrees.microbatch_size = size;
      degrees.microbatches = request_.global_batch / (degrees.data * size);
      add_divided(all, degrees);
    }
  }
  if (degrees_.size() > most_degrees)
    throw Error{ExitCode::bad_input, Problem{"`gpus`", fmt::format("more than {} ways to divide them", most_degrees),
                                             "fix some of it: `fixed` tp=8,cp=1"}};
}

void PlanSpace::add_divided(const Values& all, Degrees degrees) {
  const std::vector<std::int64_t>& stages = all.zero_stage;
  const bool has_usual = std::ranges::find(stages, 1) != stages.end();
  for (const std::int64_t stage : stages) {
    if (degrees.data * degrees.context == 1 && stage != (has_usual ? 1 : stages.front()))
      continue; // nothing to shard over
    degrees.zero_stage = stage;
    for (const bool sequence_parallel : {true, false}) {
      const bool can_be_off = degrees.tensor > 1 && model_.experts == 0 && request_.framework != Framework::torchtitan;
      if (!sequence_parallel && !can_be_off) continue;
      if (can_be_off && request_.choices.sequence_parallel.value_or(sequence_parallel) != sequence_parallel) continue;
      degrees.sequence_parallel = sequence_parallel;
      degrees_.push_back(degrees);
    }
  }
}

std::size_t PlanSpace::layers_of_chunk(const Degrees& degrees, const PlannedOrder& order) const {
  if (order.layout != nullptr) return std::ranges::max(*order.layout, {}, &ChunkBlocks::layers).layers;
  const std::size_t all = static_cast<std::size_t>(degrees.stages) * order.chunks;
  return (static_cast<std::size_t>(model_.layers) + all - 1) / all;
}

Configuration PlanSpace::configuration(const Degrees& degrees, const PlannedOrder& order, const Keeping& keeping) {
  Configuration configuration{degrees, order.schedule, order.chunks, keeping, order.split};
  if (order.layout != nullptr) configuration.layout = to_string(*order.layout);
  return configuration;
}

/// On one stage all orders do the same work, and none holds less than 1F1B.
bool PlanSpace::runs_alone(const Generator& generator) const {
  const Generator* const usual = &find_generator("1f1b");
  return &generator == usual || std::ranges::find(schedules_, usual) == schedules_.end();
}

/// The numbers of chunks to try for a schedule.
std::vector<std::size_t> PlanSpace::chunk_counts(const Generator& generator, std::size_t stages) const {
  const bool chooses = generator.vpp.multiple > 0 && generator.vpp.matters;
  if (stages == 1 && !runs_alone(generator)) return {};
  constexpr std::size_t fewest = 2; // with one chunk it equals another schedule
  const std::size_t most = (static_cast<std::size_t>(model_.layers) + 2) / stages;
  const std::vector<std::size_t>& choice = request_.choices.chunks;
  std::vector<std::size_t> counts;
  for (std::size_t count = chooses ? fewest : generator.vpp.standard;
       count <= std::min(most, chooses ? most : generator.vpp.standard); ++count)
    if (choice.empty() || std::ranges::find(choice, count) != choice.end()) counts.push_back(count);
  return counts;
}

std::vector<PlannedOrder> PlanSpace::orders(const Degrees& degrees) const {
  std::vector<PlannedOrder> list;
  const auto stages = static_cast<std::size_t>(degrees.stages);
  for (const Generator* generator : schedules_)
    for (const std::size_t count : chunk_counts(*generator, stages)) {
      const Shape shape{.stages = stages, .microbatches = static_cast<std::size_t>(degrees.microbatches), .vpp = count};
      if (!is_taken(*generator, shape) || is_refused(request_.framework, shape)) continue;
      const Layouts& layouts = layouts_.at({generator, stages, count, work_of(degrees)});
      if (layouts.even && (takes(LayerSplit::even) || stages == 1)) list.push_back({generator, count});
      if (layouts.ends && takes(LayerSplit::ends)) list.push_back({generator, count, LayerSplit::ends, &*layouts.ends});
      if (layouts.work && takes(LayerSplit::work)) list.push_back({generator, count, LayerSplit::work, &*layouts.work});
    }
  return list;
}

std::vector<Keeping> PlanSpace::keepings(std::size_t layers) const {
  const std::vector<RecomputeKind>& choice = request_.choices.recompute;
  const auto takes = [&](RecomputeKind kind) {
    return choice.empty() || std::ranges::find(choice, kind) != choice.end();
  };
  std::vector<Keeping> list;
  if (takes(RecomputeKind::none)) list.push_back({});
  const Training& training = request_.run.training;
  const bool keeps_scores = training.attention.value_or(model_.attention) == Attention::unfused;
  const bool can_select = request_.framework != Framework::torchtitan; // there it means every second layer
  if (takes(RecomputeKind::selective) && can_select && (keeps_scores || training.recompute_modules))
    list.push_back({RecomputeKind::selective});
  if (!takes(RecomputeKind::full)) return list;
  list.push_back({RecomputeKind::full});
  if (request_.framework == Framework::any || request_.framework == Framework::megatron)
    for (std::size_t some = 1; some < layers; ++some) list.push_back({RecomputeKind::full, some});
  return list;
}

void PlanSpace::count() {
  std::map<std::tuple<std::int64_t, std::int64_t, EndsWork>, std::uint64_t> known; // all inputs of orders
  for (const Degrees& degrees : degrees_) {
    const auto [found, is_new] = known.try_emplace({degrees.stages, degrees.microbatches, work_of(degrees)}, 0);
    if (is_new) found->second = size_of(degrees);
    size_ += found->second;
  }
}

std::uint64_t PlanSpace::size_of(const Degrees& degrees) const {
  std::uint64_t size = 0;
  for (const PlannedOrder& order : orders(degrees)) size += keepings(layers_of_chunk(degrees, order)).size();
  return size;
}

} // namespace ppsim
