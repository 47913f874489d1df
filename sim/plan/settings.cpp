#include "ppsim/plan/settings.hpp"

#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim {
namespace {

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
  const auto chunks = static_cast<std::int64_t>(configuration.chunks);
  const bool ends = !configuration.layout.empty();
  add(chunks > 1, "num-layers-per-virtual-pipeline-stage", (model.layers + (ends ? 2 : 0)) / (degrees.stages * chunks));
  add_word(ends, "account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
  add(degrees.context > 1, "context-parallel-size", degrees.context);
  add(degrees.expert > 1, "expert-model-parallel-size", degrees.expert);
  add(true, "micro-batch-size", degrees.microbatch_size);
  add(true, "global-batch-size", request.global_batch);
  add_word(degrees.tensor > 1 && degrees.sequence_parallel, "sequence-parallel");
  add_word(degrees.zero_stage > 0, "use-distributed-optimizer");
  add_word(degrees.zero_stage > 0 && degrees.data > 1, "overlap-grad-reduce --overlap-param-gather");
  const Keeping& keeping = configuration.keeping;
  add_word(keeping.kind == RecomputeKind::selective, "recompute-granularity selective");
  if (keeping.kind == RecomputeKind::full) {
    const bool blocks = keeping.block_layers > 0;
    text += fmt::format(" --recompute-granularity full --recompute-method {} --recompute-num-layers {}",
                        blocks ? "block" : "uniform", blocks ? keeping.block_layers : 1);
  }
  return text + "\n";
}

struct TorchName {
  std::string_view schedule, name;
};
constexpr std::array torch_names{TorchName{"gpipe", "GPipe"},
                                 TorchName{"1f1b", "1F1B"},
                                 TorchName{"interleaved", "Interleaved1F1B"},
                                 TorchName{"looped-bfs", "LoopedBFS"},
                                 TorchName{"zb-interleaved", "InterleavedZeroBubble"},
                                 TorchName{"zb-v", "ZBVZeroBubble"},
                                 TorchName{"dualpipe-v", "DualPipeV"}};

std::string torchtitan(const PlanRequest& request, const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  const auto* const found = std::ranges::find(torch_names, configuration.schedule->name, &TorchName::schedule);
  if (found == torch_names.end()) return "";
  const Keeping& keeping = configuration.keeping;
  const std::string_view mode = keeping.kind == RecomputeKind::none   ? "none"
                                : keeping.kind == RecomputeKind::full ? "full"
                                                                      : "selective";
  return fmt::format("[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n\n[parallelism]\n"
                     "data_parallel_shard_degree = {}\nfsdp_reshard_after_forward = \"{}\"\n"
                     "tensor_parallel_degree = {}\ncontext_parallel_degree = {}\nexpert_parallel_degree = {}\n"
                     "pipeline_parallel_degree = {}\npipeline_parallel_schedule = \"{}\"\n"
                     "pipeline_parallel_microbatch_size = {}\n\n[activation_checkpoint]\nmode = \"{}\"\n",
                     degrees.microbatches * degrees.microbatch_size, request.global_batch, degrees.data,
                     degrees.zero_stage == 3 ? "always" : "never", degrees.tensor, degrees.context, degrees.expert,
                     degrees.stages, found->name, degrees.microbatch_size, mode);
}

std::string deepspeed(const PlanRequest& request, const Configuration& configuration) {
  const Degrees& degrees = configuration.degrees;
  return fmt::format("{{\n  \"train_batch_size\": {},\n  \"train_micro_batch_size_per_gpu\": {},\n"
                     "  \"gradient_accumulation_steps\": {},\n  \"bf16\": {{\"enabled\": true}},\n"
                     "  \"zero_optimization\": {{\"stage\": {}}}\n}}\n",
                     request.global_batch, degrees.microbatch_size, degrees.microbatches, degrees.zero_stage);
}

} // namespace

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
