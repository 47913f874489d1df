#pragma once
// Layouts as text, in the words of Megatron-LM's --pipeline-model-parallel-layout.

#include "ppsim/scenario/scenario.hpp"

#include <string>
#include <string_view>

namespace ppsim {

/// Letters that a layout string may stand for, bars between chunks included; a longer one is refused.
inline constexpr std::size_t longest_layout = std::size_t{1} << 20;

/// The layout that `text` describes, chunk by chunk in model order. Grammar of Megatron-LM's
/// PipelineParallelLayerLayout: commas are for the eye; `(...)*n` repeats what is in parentheses, which do not nest,
/// `x*n` one letter or bar; `|` ends a chunk. Letters: E embedding, t layer, m layer for multi-token prediction, L
/// loss; one E first, one L last, every t before the first m, at least one t. A chunk may be empty. Throws Error
/// (`layout`) with the first thing that is wrong and where it stands.
[[nodiscard]] Layout parse_layout(std::string_view text);

/// The string that parse_layout() reads as `layout`, repetitions written as such where that is shorter:
/// "Et*10|(t*11|)*2,t*9L".
[[nodiscard]] std::string to_string(const Layout& layout);

/// Layers of all chunks, without those for multi-token prediction.
[[nodiscard]] std::size_t count_layers(const Layout& layout);

} // namespace ppsim
