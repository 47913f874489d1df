// Sums the costs of blocks to those of chunks.

#include "ppsim/scenario/model.hpp"

namespace ppsim {
namespace {

/// One stage holds the shared matrix of embedding and output layer only once.
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

/// Adds layers to a chunk one by one; full recomputation groups them into units.
class LayerSum {
public:
  LayerSum(BlockCosts& chunk, Bytes input, const RecomputeUnits& units) : chunk_{chunk}, input_{input}, units_{units} {}

  void add(BlockCosts layer) {
    const std::int64_t position = count_++;
    if (units_.method == RecomputeUnits::Method::uniform) {
      // Only the first layer of a unit keeps its input, and a unit is restored as a whole.
      const Bytes whole = layer.full.restored + input_;
      if (position % units_.layers == 0)
        unit_ = layer.full.restored;
      else {
        layer.full.checkpoint -= input_;
        unit_ += whole;
      }
      layer.full.restored = unit_;
    } else if (position >= units_.layers) {
      layer.full = {.checkpoint = layer.activation};
    }
    chunk_ += layer;
  }

private:
  BlockCosts& chunk_;
  Bytes input_;
  RecomputeUnits units_;
  std::int64_t count_ = 0;
  Bytes unit_; ///< memory of this unit's layers so far, in addition to its input
};

} // namespace

std::vector<BlockCosts> chunk_costs(const Model& model, const ModelCosts& costs, const Layout& layout,
                                    bool ends_share_stage, const RecomputeUnits& units) {
  std::vector<BlockCosts> chunks(layout.size());
  std::int64_t layer = 0;
  for (std::size_t chunk = 0; chunk < layout.size(); ++chunk) {
    const ChunkBlocks& blocks = layout[chunk];
    if (blocks.embedding) chunks[chunk] += costs.embedding;
    LayerSum sum{chunks[chunk], costs.boundary, units};
    for (std::size_t i = 0; i < blocks.layers; ++i, ++layer)
      sum.add(kind_of_layer(model, layer) == LayerKind::moe ? costs.moe_layer : costs.dense_layer);
    for (std::size_t i = 0; i < blocks.mtp_layers; ++i) sum.add(costs.mtp_layer);
    if (blocks.loss) chunks[chunk] += costs.output;
    // Nothing overlaps the gathering of the first layer of a pass.
    chunks[chunk].forward_collective += chunks[chunk].unshard;
    chunks[chunk].input_grad_collective += chunks[chunk].unshard;
    chunks[chunk].forward += costs.pass + chunks[chunk].unshard;
    chunks[chunk].input_grad += costs.pass + chunks[chunk].unshard;
    if (blocks.loss && costs.tied_parameters > 0 && ends_share_stage) hold_tied_matrix_once(costs, chunks[chunk]);
  }
  return chunks;
}

} // namespace ppsim
