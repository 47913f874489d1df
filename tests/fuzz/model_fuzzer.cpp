// Model and device files: any bytes give costs or a ppsim::Error.

#include "ppsim/base/error.hpp"
#include "ppsim/scenario/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/files/model_file.hpp"

namespace {

using namespace ppsim;

/// Parts must not exceed their wholes, and nothing may overflow.
void check_block(const BlockCosts& block) {
  PPSIM_ASSERT(block.forward_collective.count() >= 0 && block.forward_collective <= block.forward);
  PPSIM_ASSERT(block.input_grad_collective.count() >= 0 && block.input_grad_collective <= block.input_grad);
  PPSIM_ASSERT(block.weight_grad.count() >= 0 && block.reduce.count() >= 0 && block.optimizer.count() >= 0);
  PPSIM_ASSERT(block.activation_for_weight.count() >= 0 && block.activation_for_weight <= block.activation);
  PPSIM_ASSERT(block.selective.checkpoint.count() >= 0 && block.selective.checkpoint <= block.activation);
  PPSIM_ASSERT(block.full.checkpoint.count() >= 0 && block.full.checkpoint <= block.activation);
  PPSIM_ASSERT(block.parameters >= 0 && block.flops.forward >= 0);
}

void check_costs(const Model& model, const DeviceSheet& device, const Training& training) {
  const ModelCosts costs = model_costs(model, device, training);
  for (const BlockCosts* block :
       {&costs.embedding, &costs.dense_layer, &costs.moe_layer, &costs.mtp_layer, &costs.output})
    check_block(*block);
}

void read_as_model(std::string_view text) {
  Problems problems;
  const Model model = cli::read_model(text, "fuzz.toml", problems);
  problems.throw_if_any();
  check_costs(model, find_device("h100"), {});
  check_costs(model, find_device("h100"),
              {.microbatch_size = 2, .tensor_parallel = 2, .expert_parallel = 2, .data_parallel = 4});
}

void read_as_device(std::string_view text) {
  Problems problems;
  const DeviceSheet device = cli::read_device(text, "fuzz.toml", problems);
  problems.throw_if_any();
  check_costs(find_model("llama-3-8b"), device, {.tensor_parallel = 2, .data_parallel = 2});
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  for (auto* const read : {read_as_model, read_as_device}) {
    try {
      read(text);
    } catch (const Error&) { // a user's error; anything else is a bug
    }
  }
  return 0;
}
