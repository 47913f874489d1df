// Models and trainings that do not fit together, and the remedy that is named.

#include "ppsim/scenario/model.hpp"
#include "support/models.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::model_check_test {

using namespace std::chrono_literals;

TEST_CASE("Values that do not fit together are refused with the nearest ones that do") {
  const auto refused = [](const Model& model, const Training& training) {
    return refusal_of([&] { static_cast<void>(model_costs(model, find_device("a100"), training)); }).lines;
  };
  using Lines = std::vector<std::string>;
  CHECK(refused(find_model("llama-3-70b"), {.tensor_parallel = 6}) ==
        Lines{"`tensor-parallel`: 6 ranks do not divide the 64 heads, 8 key-value heads and FFN of 28672 of "
              "llama-3-70b -- give 4 or 8",
              "`tensor-parallel`: 6 ranks do not divide the 8192 tokens of a sequence that each holds -- give another "
              "`sequence-length`, or switch `sequence-parallel` off"});
  CHECK(refused(find_model("gpt3-175b"), {.sequence_length = 4096, .context_parallel = 3}) ==
        Lines{"`sequence-length`: 4096 tokens, but gpt3-175b has learned 2048 positions -- give at most 2048",
              "`context-parallel`: 3 ranks do not divide a sequence of 4096 -- give 2 or 4"});
  CHECK(refused(find_model("gpt3-175b"), {.expert_parallel = 2, .data_type = DataType::fp8}) ==
        Lines{"`expert-parallel`: gpt3-175b has no experts -- leave it out",
              "`data-type`: a100 has no rate for fp8 -- give bf16"});
  CHECK(refused(find_model("deepseek-v3"), {.expert_parallel = 48}) ==
        Lines{"`expert-parallel`: 48 ranks do not divide 256 experts -- give 32 or 64"});
  CHECK(refused(find_model("deepseek-v3"), {.expert_parallel = 64, .data_parallel = 96}) ==
        Lines{"`expert-parallel`: 64 ranks do not divide the 96 of `data-parallel` times `context-parallel` times "
              "`tensor-parallel` -- experts are spread over the ranks of a stage: give 64 or 128 as `data-parallel`"});
  // 16 ranks of 2 are 32, over which experts are spread whole.
  CHECK(refused(find_model("deepseek-v3"), {.tensor_parallel = 2, .expert_parallel = 32, .data_parallel = 8}) ==
        Lines{"`expert-parallel`: 32 ranks do not divide the 16 of `data-parallel` times `context-parallel` times "
              "`tensor-parallel` -- experts are spread over the ranks of a stage: give 16 as `data-parallel`"});
  CHECK(refused(find_model("deepseek-v3"), {.tensor_parallel = 2, .sequence_parallel = false}) ==
        Lines{"`sequence-parallel`: experts with tensor parallelism need sequence parallelism -- leave it on, or give "
              "`tensor-parallel` 1"});
  CHECK(refused(find_model("llama-3-8b"), {.expert_tensor_parallel = 1, .gpus_per_node = 4}) ==
        Lines{"`expert-tensor-parallel`: llama-3-8b has no experts -- leave it out",
              "`gpus-per-node`: a stage is one device: `tensor-parallel`, `context-parallel` and `data-parallel` are 1 "
              "-- leave it out"});
  CHECK(refused(find_model("deepseek-v3"), {.dispatch_data_type = DataType::fp8}) ==
        Lines{"`moe-dispatch-data-type`: tokens are sent nowhere: `expert-parallel` is 1 -- leave it out"});
  CHECK(refused(find_model("llama-3-8b"), {.distributed_optimizer = false, .zero_stage = 2}) ==
        Lines{"`zero-stage`: gradients are divided only if the optimizer's state is -- leave it out, or "
              "`distributed-optimizer` on"});
  CHECK(
      refused(find_model("llama-3-8b"), {.overlap_param_gather = false, .zero_stage = 3}) ==
      Lines{
          "`overlap-param-gather`: divided parameters are gathered for each pass -- leave it out, or `zero-stage` 2"});
  CHECK(refused(find_model("llama-3-8b"), {.zero_stage = 4}) ==
        Lines{"`zero-stage`: must be from 1 to 3, got 4 -- give a number in this range"});
  CHECK(refused(find_model("llama-3-8b"), {.context_exchange = ContextExchange::a2a}) ==
        Lines{"`cp-comm-type`: `context-parallel` 1 has nothing to exchange -- leave it out"});
  CHECK(refused(find_model("llama-3-8b"),
                {.tensor_parallel = 8, .context_parallel = 2, .context_exchange = ContextExchange::a2a}) ==
        Lines{"`cp-comm-type`: 2 ranks do not divide the 4 heads and 1 key-value heads of a rank -- give p2p or "
              "all_gather, or another `context-parallel`"});
  Model groups = find_model("deepseek-v3");
  groups.expert_groups = 256; // of one expert, and a token has eight experts of one group
  groups.expert_groups_per_token = 1;
  CHECK(refused(groups, {}) == Lines{"`model`: 1 groups of 1 experts do not hold the 8 of a token -- give more "
                                     "expert-groups-per-token"});
  groups.expert_groups = 0;
  CHECK(refused(groups, {}) == Lines{"`model`: has expert-groups-per-token but no expert-groups -- give expert-groups "
                                     "too, or leave it out"});
  CHECK(refused(find_model("llama-3-8b"), {.async_tensor_collective = true,
                                           .token_dispatcher = TokenDispatcher::flex,
                                           .dispatch_data_type = DataType::fp8}) ==
        Lines{"`moe-token-dispatcher`: llama-3-8b has no experts -- leave it out",
              "`moe-dispatch-data-type`: llama-3-8b has no experts -- leave it out",
              "`async-tensor-model-parallel-allreduce`: `tensor-parallel` 1 has no collectives -- leave it out"});
  CHECK(refused(find_model("deepseek-v3"), {.expert_parallel = 2,
                                            .data_parallel = 2,
                                            .token_dispatcher = TokenDispatcher::alltoall,
                                            .expert_link = find_link("ib-ndr")}) ==
        Lines{"`moe-token-dispatcher`: nodes do not matter when `expert-link` is one link for all -- leave one of them "
              "out"});
  CHECK(
      refused(find_model("deepseek-v3"), {.tensor_parallel = 4, .expert_tensor_parallel = 3}) ==
      Lines{"`expert-tensor-parallel`: 3 ranks do not divide the 4 of `tensor-parallel` and an expert's FFN of 2048 -- "
            "give 2 or 4"});
  CHECK(refused(find_model("llama-3-8b"), {.distributed_optimizer = false, .overlap_param_gather = true}) ==
        Lines{"`overlap-param-gather`: parameters are gathered only with a distributed optimizer -- leave it out, or "
              "`distributed-optimizer` on"});
  CHECK(refused(find_model("llama-3-8b"), {.microbatch_size = 0, .efficiency_ppm = 1'500'000}) ==
        Lines{"`microbatch-size`: must be from 1 to 1048576, got 0 -- give a number in this range",
              "`efficiency`: is 1.5 -- a share of the datasheet's rates from 0.001 to 1: 0.7"});
}

TEST_CASE("The largest sizes in range overflow nothing: they are refused") {
  Model model = small_moe();
  model.hidden = model.ffn_hidden = model.heads = model.kv_heads = model.head_dim = ModelLimits::width;
  model.vocab = model.sequence_length = ModelLimits::tokens;
  model.experts = model.experts_per_token = model.shared_experts = model.expert_ffn_hidden = ModelLimits::width;
  const Training training{.microbatch_size = ModelLimits::ranks};
  const auto refusal = refusal_of([&] { static_cast<void>(model_costs(model, find_device("a100"), training)); });
  REQUIRE(refusal.lines.size() == 1);
  CHECK(refusal.lines[0].starts_with("`microbatch-size`: a layer has more operations or bytes than 4e18"));
  Training slow{.tensor_parallel = 8};
  slow.tensor_link = LinkSheet{.name = "slow", .latency = 0ns, .bandwidth = Bandwidth{1}};
  CHECK(refusal_of([&] { static_cast<void>(model_costs(find_model("gpt3-175b"), find_device("a100"), slow)); })
            .lines[0]
            .starts_with("`microbatch-size`: a layer takes longer than a day"));
}

TEST_CASE("An unknown name gets the nearest one as hint, or the list") {
  CHECK(refusal_of([] { static_cast<void>(find_model("lama-3-70b")); }).lines ==
        std::vector<std::string>{"`model`: unknown model 'lama-3-70b' -- did you mean 'llama-3-70b'? 'ppsim list "
                                 "models' lists them; a model of your own is a .toml file"});
  CHECK(refusal_of([] { static_cast<void>(find_device("h100", "here")); }).lines.empty());
  CHECK(refusal_of([] { static_cast<void>(find_link("nvlink44")); })
            .lines[0]
            .starts_with("`link`: unknown link 'nvlink44' -- did you mean 'nvlink4'?"));
  for (const DeviceSheet& device : devices()) CHECK(find_link(device.link).name == device.link);
}

} // namespace ppsim::test::model_check_test
