// From the costs of blocks to those of chunks.

#include "ppsim/scenario/model.hpp"

namespace ppsim {
namespace {

/// One stage holds the matrix of the embedding and the output layer but once.
void hold_tied_matrix_once(const ModelCosts& costs, BlockCosts& chunk) {
  const BlockCosts& output = costs.output;
  const auto share = [&]<class Amount>(Amount amount) {
    return Amount{scale_rounded(amount.count(), costs.tied_parameters, output.parameters)};
  };
  chunk.parameters -= costs.tied_parameters;
  chunk.parameter_bytes -= share(output.parameter_bytes);
  chunk.gradient_bytes -= share(output.gradient_bytes);
  chunk.optimizer_bytes -= share(output.optimizer_bytes);
  chunk.reduce -= share(output.reduce);
  chunk.optimizer -= share(output.optimizer);
  chunk.gather -= share(output.gather);
}

} // namespace

std::vector<BlockCosts> chunk_costs(const Model& model, const ModelCosts& costs, const Layout& layout,
                                    bool ends_share_stage) {
  std::vector<BlockCosts> chunks(layout.size());
  std::int64_t layer = 0;
  for (std::size_t chunk = 0; chunk < layout.size(); ++chunk) {
    const ChunkBlocks& blocks = layout[chunk];
    if (blocks.embedding) chunks[chunk] += costs.embedding;
    for (std::size_t i = 0; i < blocks.layers; ++i, ++layer)
      chunks[chunk] += kind_of_layer(model, layer) == LayerKind::moe ? costs.moe_layer : costs.dense_layer;
    for (std::size_t i = 0; i < blocks.mtp_layers; ++i) chunks[chunk] += costs.mtp_layer;
    if (blocks.loss) chunks[chunk] += costs.output;
    chunks[chunk].forward += costs.pass;
    chunks[chunk].input_grad += costs.pass;
    if (blocks.loss && costs.tied_parameters > 0 && ends_share_stage) hold_tied_matrix_once(costs, chunks[chunk]);
  }
  return chunks;
}

} // namespace ppsim
