#include "check.hpp"

#include "ppsim/base/detail/wide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace ppsim {
namespace {

/// A size of a model by its key in a model file, with its range.
struct Size {
  std::string_view key;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

std::vector<Size> sizes_of(const Model& model) {
  const std::int64_t moe = model.experts > 0 ? 1 : 0;
  const std::int64_t latent = model.has_latent_attention() ? 1 : 0;
  return {{"layers", model.layers, 1, ModelLimits::layers},
          {"hidden", model.hidden, 1, ModelLimits::width},
          {"ffn-hidden", model.ffn_hidden, 1, ModelLimits::width},
          {"heads", model.heads, 1, ModelLimits::width},
          {"kv-heads", model.kv_heads, 1, ModelLimits::width},
          {"head-dim", model.head_dim, 1, ModelLimits::width},
          {"vocab", model.vocab, 1, ModelLimits::tokens},
          {"sequence-length", model.sequence_length, 1, ModelLimits::tokens},
          {"learned-positions", model.learned_positions, 0, ModelLimits::tokens},
          {"experts", model.experts, 0, ModelLimits::width},
          {"experts-per-token", model.experts_per_token, moe, ModelLimits::width},
          {"expert-groups", model.expert_groups, 0, ModelLimits::width},
          {"expert-groups-per-token", model.expert_groups_per_token, model.expert_groups > 0 ? 1 : 0,
           model.expert_groups > 0 ? model.expert_groups : ModelLimits::width},
          {"shared-experts", model.shared_experts, 0, ModelLimits::width},
          {"expert-ffn-hidden", model.expert_ffn_hidden, moe, ModelLimits::width},
          {"dense-layers", model.dense_layers, 0, ModelLimits::layers},
          {"q-lora-rank", model.q_lora_rank, 0, ModelLimits::width},
          {"kv-lora-rank", model.kv_lora_rank, 0, ModelLimits::width},
          {"qk-nope-head-dim", model.qk_nope_head_dim, 0, ModelLimits::width},
          {"qk-rope-head-dim", model.qk_rope_head_dim, latent, ModelLimits::width},
          {"v-head-dim", model.v_head_dim, latent, ModelLimits::width},
          {"mtp-layers", model.mtp_layers, 0, ModelLimits::layers}};
}

/// The nearest values below and above `wanted` for which `works` is true; searched from 1 to `most`.
template <class Works>
std::string nearest_that_work(std::int64_t wanted, std::int64_t most, const Works& works) {
  std::int64_t below = std::min(wanted, most);
  while (below > 0 && !works(below)) --below;
  std::int64_t above = wanted + 1;
  while (above <= most && !works(above)) ++above;
  if (below > 0 && above <= most) return fmt::format("give {} or {}", below, above);
  if (below > 0) return fmt::format("give {}", below);
  return above <= most ? fmt::format("give {}", above) : "leave it out";
}

/// Whether everything that tensor parallelism splits is divisible by `ranks`; few key-value heads are copied instead.
bool splits_over(const Model& model, std::int64_t ranks) {
  const bool kv_heads = model.has_latent_attention() || model.kv_heads % ranks == 0 || ranks % model.kv_heads == 0;
  const bool experts = model.experts == 0 || model.expert_ffn_hidden % ranks == 0;
  return model.heads % ranks == 0 && kv_heads && model.ffn_hidden % ranks == 0 && experts && model.hidden % ranks == 0;
}

void check_ranges(const Training& training, Problems& problems) {
  const std::array sizes{
      Size{"`microbatch-size`", training.microbatch_size, 1, ModelLimits::ranks},
      Size{"`sequence-length`", training.sequence_length, 0, ModelLimits::tokens},
      Size{"`tensor-parallel`", training.tensor_parallel, 1, ModelLimits::ranks},
      Size{"`context-parallel`", training.context_parallel, 1, ModelLimits::ranks},
      Size{"`expert-parallel`", training.expert_parallel, 1, ModelLimits::ranks},
      Size{"`expert-tensor-parallel`", training.expert_tensor_parallel.value_or(1), 1, ModelLimits::ranks},
      Size{"`zero-stage`", training.zero_stage.value_or(1), 1, 3},
      Size{"`gpus-per-node`", training.gpus_per_node.value_or(1), 1, ModelLimits::ranks},
      Size{"`data-parallel`", training.data_parallel, 1, ModelLimits::ranks},
      Size{"`gradient-bytes-per-parameter`", training.gradient_bytes, 1, ModelLimits::gradient_bytes},
      Size{"`optimizer-bytes-per-parameter`", training.optimizer_bytes.value_or(0), 0, ModelLimits::optimizer_bytes}};
  for (const auto& [key, value, least, most] : sizes)
    if (value < least || value > most)
      problems.add(std::string{key}, fmt::format("must be from {} to {}, got {}", least, most, value),
                   "give a number in this range");
  if (const Share share = training.efficiency_ppm.value_or(whole_share); share < 1000 || share > whole_share)
    problems.add("`efficiency`", fmt::format("is {:g}", static_cast<double>(share) / 1e6),
                 "a share of the datasheet's rates from 0.001 to 1: 0.7");
}

void check_tensor_parallel(const Model& model, const Training& training, Problems& problems) {
  const std::int64_t ranks = training.tensor_parallel;
  if (!splits_over(model, ranks))
    problems.add("`tensor-parallel`",
                 fmt::format("{} ranks do not divide the {} heads, {} key-value heads and FFN of {} of {}", ranks,
                             model.heads, model.kv_heads, model.ffn_hidden, model.name),
                 nearest_that_work(ranks, model.heads, [&](std::int64_t some) { return splits_over(model, some); }));
  if (model.experts > 0 && ranks > 1 && !training.sequence_parallel)
    problems.add("`sequence-parallel`", "experts with tensor parallelism need sequence parallelism",
                 "leave it on, or give `tensor-parallel` 1");
}

void check_context_exchange(const Model& model, const Training& training, Problems& problems) {
  if (!training.context_exchange) return;
  const std::int64_t ranks = training.context_parallel;
  if (ranks == 1) problems.add("`cp-comm-type`", "`context-parallel` 1 has nothing to exchange", "leave it out");
  if (*training.context_exchange != ContextExchange::a2a) return;
  const std::int64_t heads = model.heads / training.tensor_parallel;
  const std::int64_t kv_heads =
      model.has_latent_attention() ? heads : std::max<std::int64_t>(model.kv_heads / training.tensor_parallel, 1);
  if (heads % ranks != 0 || kv_heads % ranks != 0)
    problems.add(
        "`cp-comm-type`",
        fmt::format("{} ranks do not divide the {} heads and {} key-value heads of a rank", ranks, heads, kv_heads),
        "give p2p or all_gather, or another `context-parallel`");
}

void check_sequence(const Model& model, const Training& training, std::int64_t sequence, Problems& problems) {
  if (model.learned_positions > 0 && sequence > model.learned_positions)
    problems.add(
        "`sequence-length`",
        fmt::format("{} tokens, but {} has learned {} positions", sequence, model.name, model.learned_positions),
        fmt::format("give at most {}", model.learned_positions));
  const std::int64_t context = training.context_parallel;
  if (sequence % context != 0) {
    problems.add("`context-parallel`", fmt::format("{} ranks do not divide a sequence of {}", context, sequence),
                 nearest_that_work(context, std::min(sequence, ModelLimits::ranks),
                                   [&](std::int64_t some) { return sequence % some == 0; }));
  } else if (const std::int64_t share = sequence / context;
             training.sequence_parallel && share % training.tensor_parallel != 0) {
    problems.add("`tensor-parallel`",
                 fmt::format("{} ranks do not divide the {} tokens of a sequence that each holds",
                             training.tensor_parallel, share),
                 "give another `sequence-length`, or switch `sequence-parallel` off");
  }
}

void check_expert_parallel(const Model& model, const Training& training, Problems& problems) {
  const std::int64_t ranks = training.expert_parallel;
  const std::int64_t split = training.expert_tensor_ranks();
  const auto refuse_without_experts = [&](const char* field, bool given) {
    if (given && model.experts == 0) problems.add(field, fmt::format("{} has no experts", model.name), "leave it out");
  };
  refuse_without_experts("`expert-tensor-parallel`", training.expert_tensor_parallel.has_value());
  if (training.gpus_per_node && training.devices_of_stage() == 1)
    problems.add("`gpus-per-node`",
                 "a stage is one device: `tensor-parallel`, `context-parallel` and `data-parallel` are 1",
                 "leave it out");
  refuse_without_experts("`moe-token-dispatcher`", training.token_dispatcher.has_value());
  refuse_without_experts("`moe-dispatch-data-type`", training.dispatch_data_type.has_value());
  const auto refuse_without_exchange = [&](const char* field, bool given) {
    if (given && model.experts > 0 && ranks == 1)
      problems.add(field, "tokens are sent nowhere: `expert-parallel` is 1", "leave it out");
  };
  refuse_without_exchange("`moe-token-dispatcher`", training.token_dispatcher.has_value());
  refuse_without_exchange("`moe-dispatch-data-type`", training.dispatch_data_type.has_value());
  if (model.experts > 0 && training.token_dispatcher && training.expert_link)
    problems.add("`moe-token-dispatcher`", "nodes do not matter when `expert-link` is one link for all",
                 "leave one of them out");
  if (model.experts > 0 && training.expert_tensor_parallel &&
      (model.expert_ffn_hidden % split != 0 || training.tensor_parallel % split != 0))
    problems.add("`expert-tensor-parallel`",
                 fmt::format("{} ranks do not divide the {} of `tensor-parallel` and an expert's FFN of {}", split,
                             training.tensor_parallel, model.expert_ffn_hidden),
                 nearest_that_work(split, training.tensor_parallel, [&](std::int64_t some) {
                   return model.expert_ffn_hidden % some == 0 && training.tensor_parallel % some == 0;
                 }));
  if (ranks == 1) return;
  const std::int64_t all = training.data_parallel * training.context_parallel * training.tensor_parallel;
  Training other = training;
  const auto has_room = [&](std::int64_t data_parallel) {
    other.data_parallel = data_parallel;
    return data_parallel * other.context_parallel * other.tensor_parallel % (ranks * other.expert_tensor_ranks()) == 0;
  };
  if (model.experts == 0)
    problems.add("`expert-parallel`", fmt::format("{} has no experts", model.name), "leave it out");
  else if (model.experts % ranks != 0)
    problems.add("`expert-parallel`", fmt::format("{} ranks do not divide {} experts", ranks, model.experts),
                 nearest_that_work(ranks, model.experts, [&](std::int64_t some) { return model.experts % some == 0; }));
  else if (!has_room(training.data_parallel))
    problems.add("`expert-parallel`",
                 fmt::format("{} ranks{} do not divide the {} of `data-parallel` times `context-parallel` times "
                             "`tensor-parallel`",
                             ranks, split > 1 ? fmt::format(", with each expert split over {},", split) : "", all),
                 "experts are spread over the ranks of a stage: " +
                     nearest_that_work(training.data_parallel, training.data_parallel + ranks, has_room) +
                     " as `data-parallel`");
}

void check_expert_groups(const Model& model, std::string_view where, Problems& problems) {
  const auto add = [&](std::string what, std::string hint) {
    problems.add(std::string{where}, std::move(what), std::move(hint));
  };
  if (model.expert_groups <= 0) {
    if (model.expert_groups_per_token > 0)
      add("has expert-groups-per-token but no expert-groups", "give expert-groups too, or leave it out");
    return;
  }
  const std::int64_t experts = model.experts / model.expert_groups;
  if (model.experts % model.expert_groups != 0)
    add(fmt::format("{} experts are not divided evenly into {} groups", model.experts, model.expert_groups),
        "expert-groups must divide experts");
  else if (Int128{experts} * model.expert_groups_per_token < model.experts_per_token)
    add(fmt::format("{} groups of {} experts do not hold the {} of a token", model.expert_groups_per_token, experts,
                    model.experts_per_token),
        "give more expert-groups-per-token");
}

} // namespace

void check_model(const Model& model, std::string_view where, Problems& problems) {
  const auto add = [&](std::string what, std::string hint) {
    problems.add(std::string{where}, std::move(what), std::move(hint));
  };
  for (const auto& [key, value, least, most] : sizes_of(model))
    if (value < least || value > most)
      add(value == 0 ? fmt::format("has no {}", key)
                     : fmt::format("{} must be from {} to {}, got {}", key, least, most, value),
          fmt::format("give {} as a whole number from {} to {}", key, least, most));
  if (model.kv_heads > 0 && model.heads % model.kv_heads != 0)
    add(fmt::format("{} heads cannot share {} key-value heads evenly", model.heads, model.kv_heads),
        "kv-heads must divide heads");
  if (model.experts_per_token > model.experts)
    add(fmt::format("a token has {} experts of {}", model.experts_per_token, model.experts),
        model.experts == 0 ? "give experts too" : "give experts-per-token up to experts");
  check_expert_groups(model, where, problems);
  if (model.experts == 0 &&
      (model.expert_groups > 0 || model.shared_experts > 0 || model.expert_ffn_hidden > 0 || model.dense_layers > 0))
    add("has sizes of experts but no experts", "give experts too, or leave them out");
  if (model.dense_layers > model.layers)
    add(fmt::format("{} of {} layers are dense", model.dense_layers, model.layers), "give dense-layers up to layers");
  if (!model.has_latent_attention() &&
      (model.q_lora_rank > 0 || model.qk_nope_head_dim > 0 || model.qk_rope_head_dim > 0 || model.v_head_dim > 0))
    add("has sizes of latent attention but no kv-lora-rank", "give kv-lora-rank too, or leave them out");
}

namespace model {

void check(const Model& model, const DeviceSheet& device, const Training& training) {
  Problems problems;
  check_model(model, "`model`", problems);
  check_ranges(training, problems);
  problems.throw_if_any(); // the following checks divide by these
  const std::int64_t sequence = training.sequence_length > 0 ? training.sequence_length : model.sequence_length;
  check_tensor_parallel(model, training, problems);
  check_sequence(model, training, sequence, problems);
  check_expert_parallel(model, training, problems);
  if (training.overlap_param_gather.value_or(false) && !training.distributed_optimizer)
    problems.add("`overlap-param-gather`", "parameters are gathered only with a distributed optimizer",
                 "leave it out, or `distributed-optimizer` on");
  check_context_exchange(model, training, problems);
  if (training.zero_stage.value_or(1) > 1 && !training.distributed_optimizer)
    problems.add("`zero-stage`", "gradients are divided only if the optimizer's state is",
                 "leave it out, or `distributed-optimizer` on");
  if (training.overlap_param_gather && training.shards_parameters())
    problems.add("`overlap-param-gather`", "divided parameters are gathered for each pass",
                 "leave it out, or `zero-stage` 2");
  if (training.async_tensor_collective && training.tensor_parallel == 1)
    problems.add("`async-tensor-model-parallel-allreduce`", "`tensor-parallel` 1 has no collectives", "leave it out");
  if (device.flops_per_second(training.data_type) <= 0)
    problems.add("`data-type`", fmt::format("{} has no rate for {}", device.name, to_string(training.data_type)),
                 "give bf16");
  problems.throw_if_any();
}

} // namespace model
} // namespace ppsim
