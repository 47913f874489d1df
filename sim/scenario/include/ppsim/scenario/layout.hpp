#pragma once
// Layouts as text, in the syntax of Megatron-LM's --pipeline-model-parallel-layout.

#include "ppsim/scenario/scenario.hpp"

#include <string>
#include <string_view>

namespace ppsim {

/// The most letters of an expanded layout string, bars between chunks included; a longer one is an error.
inline constexpr std::size_t longest_layout = std::size_t{1} << 20;

/// The layout that `text` describes, chunk by chunk in model order. Grammar of Megatron-LM's
/// PipelineParallelLayerLayout: commas are ignored; `(...)*n` repeats a group, which does not nest, `x*n` one letter or
/// bar; `|` ends a chunk. Letters: E embedding, t layer, m layer for multi-token prediction, L loss. One E comes first,
/// one L last, every t before the first m, and there is at least one t. A chunk may be empty. Throws Error (`layout`)
/// with the first problem and its position.
[[nodiscard]] Layout parse_layout(std::string_view text);

/// The string that parse_layout() reads as `layout`, with repetitions if they are shorter: "Et*10|(t*11|)*2,t*9L".
[[nodiscard]] std::string to_string(const Layout& layout);

/// Layers of all chunks, without those for multi-token prediction.
[[nodiscard]] std::size_t count_layers(const Layout& layout);

} // namespace ppsim
