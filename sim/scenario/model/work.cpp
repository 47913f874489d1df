// The work of a microbatch on a pipeline: operations, tokens, devices.

#include "block.hpp"

namespace ppsim {
namespace {

using model::Block;
using model::Sizes;

double operations_of(const model::Work& work) {
  return static_cast<double>(work.flops + work.flops_16_bit + work.flops_scores);
}

PassOperations operations_of(const Block& block) {
  return {.forward = operations_of(block.forward),
          .backward = operations_of(block.input_grad) + operations_of(block.weight_grad)};
}

void add(PassOperations& sum, const PassOperations& block, double count) {
  sum.forward += count * block.forward;
  sum.backward += count * block.backward;
}

/// The operations of the layers on one rank with the whole model: work repeated on several ranks, because a head or a
/// row cannot be split, is not the model's. Neither is recomputation in fused attention.
PassOperations model_operations(const Model& model, const Training& training, const Layout& layout) {
  const Training undivided{.sequence_length = training.sequence_length,
                           .microbatch_size = training.microbatch_size,
                           .attention = Attention::unfused};
  const Sizes sizes{model, undivided, LinkSheet{}};
  double dense = 0;
  double moe = 0;
  double mtp = 0;
  std::int64_t layer = 0;
  for (const ChunkBlocks& blocks : layout) {
    for (std::size_t i = 0; i < blocks.layers; ++i, ++layer)
      ++(kind_of_layer(model, layer) == LayerKind::moe ? moe : dense);
    mtp += static_cast<double>(blocks.mtp_layers);
  }
  const LayerKind last = model.experts > 0 ? LayerKind::moe : LayerKind::dense;
  const Block output = model::output_block(sizes);
  PassOperations sum = operations_of(output);
  if (dense > 0) add(sum, operations_of(model::layer_block(sizes, LayerKind::dense)), dense);
  if (moe > 0) add(sum, operations_of(model::layer_block(sizes, LayerKind::moe)), moe);
  if (mtp > 0) add(sum, operations_of(model::mtp_block(sizes, model::layer_block(sizes, last), output)), mtp);
  return sum;
}

} // namespace

MicrobatchWork work_of_devices(const Training& training, const std::optional<DeviceSheet>& device) {
  MicrobatchWork work;
  work.devices_per_stage = training.tensor_parallel * training.context_parallel;
  work.replicas = training.data_parallel;
  if (device) work.flops_per_second = device->flops_per_second(training.data_type);
  return work;
}

MicrobatchWork microbatch_work(const Model& model, const DeviceSheet& device, const Training& training,
                               const Layout& layout, const std::vector<BlockCosts>& chunks, RecomputeKind recompute) {
  MicrobatchWork work = work_of_devices(training, device);
  work.model = model_operations(model, training, layout);
  work.tokens =
      training.microbatch_size * (training.sequence_length > 0 ? training.sequence_length : model.sequence_length);
  work.hardware.emplace();
  const auto ranks = static_cast<double>(work.devices_per_stage);
  for (const BlockCosts& chunk : chunks) {
    const PassOperations of_rank{.forward = static_cast<double>(chunk.flops.forward),
                                 .backward = static_cast<double>(chunk.flops.input_grad) +
                                             static_cast<double>(chunk.flops.weight_grad)};
    add(*work.hardware, of_rank, ranks);
    if (recompute != RecomputeKind::none)
      work.recompute.push_back(ranks * static_cast<double>(recompute == RecomputeKind::selective ? chunk.selective.flops
                                                                                                 : chunk.full.flops));
  }
  return work;
}

} // namespace ppsim
