// Shipped models.

#include "ppsim/scenario/model.hpp"

#include <fmt/format.h>

#include <vector>

namespace ppsim {
namespace {

/// The common properties of models after GPT-2: LayerNorm, biases, dropout, a tied embedding with learned positions, an
/// FFN of four times the width, and unfused attention, as in the papers that print their activations.
Model gpt(std::string name, std::string source, std::int64_t layers, std::int64_t heads, std::int64_t hidden,
          std::int64_t sequence_length, std::int64_t vocab) {
  return {.name = std::move(name),
          .source = std::move(source),
          .layers = layers,
          .hidden = hidden,
          .ffn_hidden = 4 * hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .vocab = vocab,
          .sequence_length = sequence_length,
          .tied_embedding = true,
          .learned_positions = sequence_length,
          .bias = true,
          .dropout = true,
          .norm = Norm::layernorm,
          .attention = Attention::unfused};
}

/// The four models of the Zero Bubble paper. It prints no vocabulary: with 32000 tokens, counted once, the sizes match
/// their names.
Model zero_bubble(std::string name, std::int64_t layers, std::int64_t heads, std::int64_t hidden) {
  return gpt(std::move(name), "Qi et al., arXiv 2401.10241, Table 3; vocabulary assumed", layers, heads, hidden, 1024,
             32000);
}

/// The GPTs of Korthikanti et al.
Model megatron(std::string name, std::int64_t layers, std::int64_t heads, std::int64_t hidden) {
  return gpt(std::move(name), "Korthikanti et al., arXiv 2205.05198, Table 3", layers, heads, hidden, 2048, 51200);
}

struct LlamaShape {
  std::int64_t layers, hidden, ffn_hidden, heads, kv_heads;
};

Model llama(std::string name, std::string source, const LlamaShape& shape, std::int64_t vocab,
            std::int64_t sequence_length) {
  return {.name = std::move(name),
          .source = std::move(source),
          .layers = shape.layers,
          .hidden = shape.hidden,
          .ffn_hidden = shape.ffn_hidden,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .head_dim = shape.hidden / shape.heads,
          .vocab = vocab,
          .sequence_length = sequence_length,
          .gated = true};
}

Model llama_2(std::string name, const LlamaShape& shape) {
  return llama(std::move(name), "Touvron et al., arXiv 2307.09288; Meta's config.json", shape, 32000, 4096);
}

Model llama_3(std::string name, const LlamaShape& shape) {
  return llama(std::move(name), "Llama team, arXiv 2407.21783, Table 3", shape, 128256, 8192);
}

Model deepseek_v3() {
  return {.name = "deepseek-v3",
          .source = "DeepSeek-AI, arXiv 2412.19437, section 4.2; its config.json",
          .layers = 61,
          .hidden = 7168,
          .ffn_hidden = 18432,
          .heads = 128,
          .kv_heads = 128,
          .head_dim = 128,
          .vocab = 129280,
          .sequence_length = 4096,
          .gated = true,
          .experts = 256,
          .experts_per_token = 8,
          .expert_groups = 8,
          .expert_groups_per_token = 4,
          .shared_experts = 1,
          .expert_ffn_hidden = 2048,
          .dense_layers = 3,
          .q_lora_rank = 1536,
          .kv_lora_rank = 512,
          .qk_nope_head_dim = 128,
          .qk_rope_head_dim = 64,
          .v_head_dim = 128,
          .mtp_layers = 1};
}

} // namespace

std::span<const Model> models() {
  static const std::vector<Model> all{
      gpt("gpt2-xl", "Radford et al. 2019; OpenAI's hparams of 1558M", 48, 25, 1600, 1024, 50257),
      gpt("gpt3-175b", "Brown et al., arXiv 2005.14165, Table 2.1", 96, 96, 12288, 2048, 50257),
      megatron("gpt-22b", 48, 64, 6144),
      megatron("gpt-175b", 96, 96, 12288),
      megatron("gpt-530b", 105, 128, 20480),
      megatron("gpt-1t", 128, 160, 25600),
      zero_bubble("zero-bubble-1.5b", 22, 24, 2304),
      zero_bubble("zero-bubble-6.2b", 30, 32, 4096),
      zero_bubble("zero-bubble-14.6b", 46, 40, 5120),
      zero_bubble("zero-bubble-28.3b", 62, 48, 6144),
      llama_2("llama-2-7b", {32, 4096, 11008, 32, 32}),
      llama_2("llama-2-13b", {40, 5120, 13824, 40, 40}),
      llama_2("llama-2-70b", {80, 8192, 28672, 64, 8}),
      llama_3("llama-3-8b", {32, 4096, 14336, 32, 8}),
      llama_3("llama-3-70b", {80, 8192, 28672, 64, 8}),
      llama_3("llama-3-405b", {126, 16384, 53248, 128, 8}),
      deepseek_v3()};
  return all;
}

const Model& find_model(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const Model& model : models()) {
    if (model.name == name) return model;
    names.emplace_back(model.name);
  }
  throw Error{
      ExitCode::bad_input,
      Problem{std::string{where}, fmt::format("unknown model {}", in_quotes(name)),
              did_you_mean(name, names, "'ppsim list models' lists them; a model of your own is a .toml file")}};
}

std::string_view to_string(Attention attention) {
  return attention == Attention::flash ? "flash" : "unfused";
}

std::string_view to_string(Norm norm) {
  return norm == Norm::layernorm ? "layernorm" : "rmsnorm";
}

std::string_view to_string(RecomputeModule module) {
  switch (module) {
  case RecomputeModule::core_attn:
    return "core_attn";
  case RecomputeModule::layernorm:
    return "layernorm";
  case RecomputeModule::mla_up_proj:
    return "mla_up_proj";
  case RecomputeModule::mlp_act:
    return "mlp_act";
  case RecomputeModule::moe_act:
    break;
  }
  return "moe_act";
}

std::string_view to_string(LayerKind kind) {
  return kind == LayerKind::moe ? "moe" : "dense";
}

} // namespace ppsim
