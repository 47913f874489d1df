#include "ppsim/runtime/workload.hpp"

#include <fmt/format.h>

namespace ppsim::runtime {

std::string_view to_string(Block block) {
  return block == Block::mlp ? "mlp" : "transformer";
}

std::string_view to_string(OptimizerKind kind) {
  return kind == OptimizerKind::sgd ? "sgd" : "adam";
}

std::string in_words(const Workload& workload) {
  return fmt::format("{}: {} tokens, width {}{}, {} layer{} per chunk", to_string(workload.block), workload.tokens,
                     workload.width,
                     workload.block == Block::transformer ? fmt::format(", {} heads", workload.heads) : "",
                     workload.layers, workload.layers == 1 ? "" : "s");
}

} // namespace ppsim::runtime
