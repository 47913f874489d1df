#pragma once
// What other programs and papers call the schedules: for "did you mean".

#include <array>
#include <string_view>

namespace ppsim {

/// `name` is ours; where a word has several rows, each may be what is meant.
struct OtherName {
  std::string_view word; ///< in small letters, without dashes, underscores and spaces
  std::string_view name;
};

inline constexpr std::array other_names{
    OtherName{"naive", "sequential"},
    OtherName{"gpipefilldrain", "gpipe"}, // Megatron-LM's and DeepSpeed's documents
    OtherName{"filldrain", "gpipe"},
    OtherName{"afab", "gpipe"},   // all forwards, all backwards
    OtherName{"fthenb", "gpipe"}, // PaddlePaddle
    OtherName{"dapple", "1f1b"},
    OtherName{"pipedreamflush", "1f1b"},
    OtherName{"interleaved1f1b", "interleaved"}, // PyTorch: ScheduleInterleaved1F1B
    OtherName{"1f1binterleaved", "interleaved"},
    OtherName{"virtualpipeline", "interleaved"},
    OtherName{"vpp", "interleaved"}, // PaddlePaddle, Megatron-LM's flag
    OtherName{"breadthfirst", "looped-bfs"},
    OtherName{"zb", "zb-auto"},
    OtherName{"zerobubble", "zb-auto"},
    OtherName{"zb1p", "zb-auto"}, // Qi et al., arXiv 2401.10241: searched, with the memory of 1F1B; ZB-H1 is by hand
    OtherName{"zb1p", "zb-h1"},
    OtherName{"zb2p", "zb-auto"},
    OtherName{"zb2p", "zb-h2"},
    OtherName{"interleavedzerobubble", "zb-interleaved"}, // PyTorch
    OtherName{"zbvzerobubble", "zb-v"},                   // PyTorch
    OtherName{"zbvpp", "zb-v"},                           // PaddlePaddle
    OtherName{"vzb", "v-auto"},                           // Qi et al., arXiv 2405.15362
    OtherName{"vschedule", "v-auto"},
    OtherName{"wave", "hanayo"},
    OtherName{"bidirectional", "chimera"},
};

} // namespace ppsim
