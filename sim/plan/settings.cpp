#include "ppsim/plan/settings.hpp"

#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim {
namespace {

/// Empty if the framework derives it from the number of chunks.
struct FrameworkName {
  Framework framework;
  std::string_view schedule, name;
};
constexpr std::array framework_names{FrameworkName{Framework::megatron, "1f1b", ""},
                                     FrameworkName{Framework::megatron, "interleaved", ""},
                                     FrameworkName{Framework::torchtitan, "gpipe", "GPipe"},
                                     FrameworkName{Framework::torchtitan, "1f1b", "1F1B"},
                                     FrameworkName{Framework::torchtitan, "interleaved", "Interleaved1F1B"},
                                     FrameworkName{Framework::torchtitan, "looped-bfs", "LoopedBFS"},
                                     FrameworkName{Framework::torchtitan, "zb-interleaved", "InterleavedZeroBubble"},
                                     FrameworkName{Framework::torchtitan, "zb-v", "ZBVZeroBubble"},
                                     FrameworkName{Framework::torchtitan, "dualpipe-v", "DualPipeV"},
                                     FrameworkName{Framework::deepspeed, "1f1b", ""}};

/// Tokens of a sample.
std::int64_t sequence_of(const PlanRequest& request) {
  const std::int64_t given = request.run.training.sequence_length;
  return given > 0 ? given : model_of(request.run).sequence_length;
}

/// Megatron-LM's own default is another.
std::string_view token_dispatcher(const Training& training) {
  return training.token_dispatcher == TokenDispatcher::alltoall ? "moe-token-dispatcher-type alltoall"
                                                                : "moe-token-dispatcher-type flex";
}

std::string context_exchange(const Training& training) {
  constexpr std::array<std::string_view, 3> names{"p2p", "all_gather", "a2a"};
  const ContextExchange exchange = training.context_exchange.value_or(ContextExchange::p2p);
  return fmt::format("cp-comm-type {}", names[static_cast<std::size_t>(exchange)]);
}

std::string megatron(const PlanRequest& request, const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  std::string text =
      fmt::format("--tensor-model-parallel-size {} --pipeline-model-parallel-size {}", degrees.tensor, degrees.stages);
  const auto add = [&](bool given, std::string_view option, std::int64_t value) {
    if (given) text += fmt::format(" --{} {}", option, value);
  };
  const auto add_word = [&](bool given, std::string_view words) {
    if (given) text += fmt::format(" --{}", words);
  };
  const Model model = model_of(request.run);
  const Training training = spec_of(request, configuration).training;
  const auto chunks = static_cast<std::int64_t>(configuration.chunks);
  const bool ends = configuration.split == LayerSplit::ends;
  const bool by_work = configuration.split == LayerSplit::work;
  add(chunks > 1 && !by_work, "num-layers-per-virtual-pipeline-stage",
      (model.layers + (ends ? 2 : 0)) / (degrees.stages * chunks));
  add_word(ends, "account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
  add_word(by_work, fmt::format("pipeline-model-parallel-layout '{}'", configuration.layout));
  add(degrees.context > 1, "context-parallel-size", degrees.context);
  add_word(degrees.context > 1, context_exchange(training));
  add(degrees.expert > 1, "expert-model-parallel-size", degrees.expert);
  add(degrees.expert > 1 && degrees.tensor > 1, "expert-tensor-parallel-size", training.expert_tensor_ranks());
  add_word(degrees.expert > 1, token_dispatcher(training));
  add(true, "seq-length", sequence_of(request));
  add(true, "micro-batch-size", degrees.microbatch_size);
  add(true, "global-batch-size", request.global_batch);
  add_word(degrees.tensor > 1 && degrees.sequence_parallel, "sequence-parallel");
  add_word(degrees.zero_stage > 0, "use-distributed-optimizer");
  const bool divides = degrees.zero_stage > 0 && degrees.data * degrees.context > 1;
  add_word(divides && request.run.overlap_grad_reduce.value_or(true), "overlap-grad-reduce");
  add_word(divides && training.overlap_param_gather.value_or(true), "overlap-param-gather");
  const Keeping& keeping = configuration.keeping;
  add_word(keeping.kind == RecomputeKind::selective, "recompute-granularity selective");
  if (keeping.kind == RecomputeKind::selective && training.recompute_modules) {
    text += " --recompute-modules";
    for (const RecomputeModule module : *training.recompute_modules) text += fmt::format(" {}", to_string(module));
  }
  if (keeping.kind == RecomputeKind::full) {
    const bool blocks = keeping.block_layers > 0;
    text += fmt::format(" --recompute-granularity full --recompute-method {} --recompute-num-layers {}",
                        blocks ? "block" : "uniform", blocks ? keeping.block_layers : 1);
  }
  return text + "\n";
}

std::string torchtitan(const PlanRequest& request, const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  const auto name = name_in(Framework::torchtitan, configuration.schedule->name);
  if (!name) return "";
  const bool ends = configuration.split == LayerSplit::ends;
  const std::int64_t layers = model_of(request.run).layers + (ends ? 2 : 0);
  const std::int64_t chunks = degrees.stages * static_cast<std::int64_t>(configuration.chunks);
  const bool has_pipeline = degrees.stages > 1;
  std::string text = fmt::format(
      "[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\n\n[parallelism]\n"
      "data_parallel_shard_degree = {}\nfsdp_reshard_after_forward = \"{}\"\n"
      "tensor_parallel_degree = {}\ncontext_parallel_degree = {}\n",
      (has_pipeline ? degrees.microbatches : 1) * degrees.microbatch_size, request.global_batch, sequence_of(request),
      degrees.data, degrees.zero_stage == 3 ? "always" : "never", degrees.tensor, degrees.context);
  if (degrees.expert > 1)
    text += fmt::format("expert_parallel_degree = {}\nexpert_tensor_parallel_degree = {}\n", degrees.expert,
                        spec_of(request, configuration).training.expert_tensor_ranks());
  text += fmt::format("pipeline_parallel_degree = {}\n", degrees.stages);
  if (has_pipeline)
    text += fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n"
                        "pipeline_parallel_layers_per_stage = {}\npipeline_parallel_first_stage_less_layers = {}\n"
                        "pipeline_parallel_last_stage_less_layers = {}\n",
                        *name, degrees.microbatch_size, layers / chunks, ends ? 1 : 0, ends ? 1 : 0);
  return text + fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n",
                            configuration.keeping.kind == RecomputeKind::none ? "none" : "full");
}

std::string deepspeed(const PlanRequest& request, const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  return fmt::format("{{\n  \"train_batch_size\": {},\n  \"train_micro_batch_size_per_gpu\": {},\n"
                     "  \"gradient_accumulation_steps\": {},\n  \"bf16\": {{\"enabled\": true}},\n"
                     "  \"zero_optimization\": {{\"stage\": {}}}\n}}\n",
                     request.global_batch, degrees.microbatch_size, degrees.microbatches, degrees.zero_stage);
}

} // namespace

std::optional<std::string_view> name_in(Framework framework, std::string_view schedule) {
  for (const FrameworkName& each : framework_names)
    if (each.framework == framework && each.schedule == schedule) return each.name;
  return std::nullopt;
}

std::string settings_for(Framework framework, const PlanRequest& request, const Configuration& configuration) {
  switch (framework) {
  case Framework::megatron:
    return megatron(request, configuration);
  case Framework::torchtitan:
    return torchtitan(request, configuration);
  case Framework::deepspeed:
    return deepspeed(request, configuration);
  case Framework::any:
    break;
  }
  return "";
}

} // namespace ppsim
