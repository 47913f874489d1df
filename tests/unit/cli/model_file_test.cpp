// Model and device files: their contents, and messages for invalid ones.

#include "support/golden.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "cli/files/model_file.hpp"

namespace ppsim::test::model_file_test {

namespace {

std::string example(const std::string& name) {
  std::ifstream file{source_path("docs/examples/" + name)};
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Refusal model_refusal(std::string_view text) {
  return refusal_of([&] {
    Problems problems;
    static_cast<void>(cli::read_model(text, "my.toml", problems));
    problems.throw_if_any();
  });
}

Refusal device_refusal(std::string_view text) {
  return refusal_of([&] {
    Problems problems;
    static_cast<void>(cli::read_device(text, "my.toml", problems));
    problems.throw_if_any();
  });
}

using Lines = std::vector<std::string>;

constexpr std::string_view smallest =
    "layers = 2\nhidden = 64\nffn-hidden = 256\nheads = 4\nvocab = 100\nsequence-length = 32\n";

} // namespace

TEST_CASE("The example of a model file has Mixtral's published number of parameters") {
  Problems problems;
  const Model model = cli::read_model(example("model.toml"), "model.toml", problems);
  REQUIRE(problems.empty());
  CHECK(model.name == "Mixtral 8x7B");
  CHECK(count_parameters(model).total == 46'702'792'704); // of the published weights
  CHECK(static_cast<double>(count_parameters(model).active) == Approx(12.9e9).epsilon(0.005));
}

TEST_CASE("The example of a device file is read") {
  Problems problems;
  const DeviceSheet device = cli::read_device(example("device.toml"), "device.toml", problems);
  REQUIRE(problems.empty());
  CHECK(device == DeviceSheet{.name = "L40S",
                              .flops_16_bit = 362'000'000'000'000,
                              .flops_fp8 = 733'000'000'000'000,
                              .flops_tf32 = 183'000'000'000'000,
                              .flops_fp32 = 91'600'000'000'000,
                              .memory = Bytes{48'000'000'000},
                              .memory_bandwidth = Bandwidth{864'000'000'000},
                              .link = "pcie4",
                              .source = "NVIDIA L40S datasheet, dense rates"});
}

TEST_CASE("A model file needs six keys; the others have defaults, and the file name is the model's name") {
  Problems problems;
  const Model model = cli::read_model(smallest, "runs/tiny.toml", problems);
  REQUIRE(problems.empty());
  CHECK(model == Model{.name = "tiny",
                       .layers = 2,
                       .hidden = 64,
                       .ffn_hidden = 256,
                       .heads = 4,
                       .kv_heads = 4,
                       .head_dim = 16,
                       .vocab = 100,
                       .sequence_length = 32});
}

TEST_CASE("Every key of a model file has an effect") {
  Problems problems;
  std::string text{smallest};
  text.append("norm = \"layernorm\"\nattention = \"unfused\"\nbias = true\ndropout = true\n"
              "tied-embedding = true\nlearned-positions = 40\nq-lora-rank = 3\n"
              "kv-lora-rank = 5\nqk-nope-head-dim = 6\nqk-rope-head-dim = 7\n"
              "v-head-dim = 8\nmtp-layers = 1\nexperts = 6\nexperts-per-token = 2\n"
              "shared-experts = 3\nexpert-ffn-hidden = 9\ndense-layers = 1\ngated = true\n");
  const Model model = cli::read_model(text, "tiny.toml", problems);
  REQUIRE(problems.empty());
  CHECK(model == Model{.name = "tiny",
                       .layers = 2,
                       .hidden = 64,
                       .ffn_hidden = 256,
                       .heads = 4,
                       .kv_heads = 4,
                       .head_dim = 16,
                       .vocab = 100,
                       .sequence_length = 32,
                       .gated = true,
                       .tied_embedding = true,
                       .learned_positions = 40,
                       .bias = true,
                       .dropout = true,
                       .norm = Norm::layernorm,
                       .attention = Attention::unfused,
                       .experts = 6,
                       .experts_per_token = 2,
                       .shared_experts = 3,
                       .expert_ffn_hidden = 9,
                       .dense_layers = 1,
                       .q_lora_rank = 3,
                       .kv_lora_rank = 5,
                       .qk_nope_head_dim = 6,
                       .qk_rope_head_dim = 7,
                       .v_head_dim = 8,
                       .mtp_layers = 1});
}

TEST_CASE("All errors in a model file are reported together, each with its place") {
  CHECK(model_refusal("layers = \"many\"\nhiden = 64\nheads = -4\n  gated = 1\nnorm = \"layer\"\n").lines ==
        Lines{"my.toml:1:1: layers: is not a whole number -- write it without quotes: 4096",
              "my.toml:2:1: unknown key 'hiden' -- did you mean 'hidden'?",
              "my.toml:3:1: heads: must not be negative, got -4 -- give a whole number from 0 up",
              "my.toml:4:3: gated: is neither true nor false -- write true or false, without quotes",
              "my.toml:5:1: norm: unknown value 'layer' -- did you mean 'layernorm'? one of layernorm, rmsnorm",
              "my.toml: hidden is missing -- add a line 'hidden = ...'",
              "my.toml: ffn-hidden is missing -- add a line 'ffn-hidden = ...'",
              "my.toml: vocab is missing -- add a line 'vocab = ...'",
              "my.toml: sequence-length is missing -- add a line 'sequence-length = ...'"});
  CHECK(model_refusal("colour = 1\n").lines[0] == "my.toml:1:1: unknown key 'colour' -- keys: docs/costs.md");
  CHECK(model_refusal("layers 2").lines[0].starts_with("my.toml:1:8: not TOML:"));
}

TEST_CASE("A file of the other kind is one error that names the kind") {
  const std::string device = "name = \"mine\"\nbf16 = \"1TFLOPS\"\nmemory = \"8GB\"\nmemory-bandwidth = \"1GB/s\"\n";
  CHECK(model_refusal(device).lines == Lines{"my.toml: is a device file -- give it as --device"});
  CHECK(device_refusal(smallest).lines == Lines{"my.toml: is a model file -- give it as --model"});
  // A file with half of the keys keeps its kind.
  CHECK(model_refusal("layers = 2\nbf16 = \"1TFLOPS\"\n").lines[0] ==
        "my.toml:2:1: unknown key 'bf16' -- keys: docs/costs.md");
}

TEST_CASE("An invalid shape is refused") {
  const auto with = [](std::string_view more) {
    return model_refusal(std::string{smallest} + std::string{more}).lines;
  };
  CHECK(with("kv-heads = 3\n") ==
        Lines{"my.toml: 4 heads cannot share 3 key-value heads evenly -- kv-heads must divide heads"});
  CHECK(with("experts = 4\n") ==
        Lines{"my.toml: has no experts-per-token -- give experts-per-token as a whole number from 1 to 1048576",
              "my.toml: has no expert-ffn-hidden -- give expert-ffn-hidden as a whole number from 1 to 1048576"});
  CHECK(with("experts = 4\nexperts-per-token = 5\nexpert-ffn-hidden = 2\n") ==
        Lines{"my.toml: a token has 5 experts of 4 -- give experts-per-token up to experts"});
  CHECK(with("dense-layers = 1\n") ==
        Lines{"my.toml: has sizes of experts but no experts -- give experts too, or leave them out"});
  CHECK(
      with("v-head-dim = 8\n") ==
      Lines{"my.toml: has sizes of latent attention but no kv-lora-rank -- give kv-lora-rank too, or leave them out"});
  CHECK(with("mtp-layers = 9000000\n") ==
        Lines{"my.toml: mtp-layers must be from 0 to 65535, got 9000000 -- give mtp-layers as a whole number from 0 to "
              "65535"});
  CHECK(model_refusal("layers = 2\nhidden = 65\nffn-hidden = 256\nheads = 4\nvocab = 100\nsequence-length = 32\n")
            .lines == Lines{"my.toml: hidden 65 is not a multiple of 4 heads -- give head-dim, or other heads"});
}

TEST_CASE("Rates, sizes and links of a device file need their units and names") {
  CHECK(device_refusal(
            "bf16 = 989\nmemory = \"80\"\nmemory-bandwidth = \"0GB/s\"\nlink = \"nvlinc4\"\nfp16 = \"1TFLOPS\"\n")
            .lines ==
        Lines{"my.toml:1:1: bf16: is not a string -- a rate such as \"989TFLOPS\"",
              "my.toml:2:1: memory: '80' cannot be read -- a size such as \"80GB\" or a bandwidth such as \"3.35TB/s\"",
              "my.toml:3:1: memory-bandwidth: '0GB/s' cannot be read -- a size such as \"80GB\" or a bandwidth such as "
              "\"3.35TB/s\"",
              "my.toml:4:1: link: unknown link 'nvlinc4' -- did you mean 'nvlink4'? 'ppsim list links' lists them",
              "my.toml:5:1: unknown key 'fp16' -- did you mean 'bf16'?"});
  CHECK(device_refusal("name = \"\"\n").lines[0] == "my.toml:1:1: name: is empty -- leave it out");
}

} // namespace ppsim::test::model_file_test
