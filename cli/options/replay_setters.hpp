#pragma once
// How the values of the options of replays are read.

#include "setters.hpp"

namespace ppsim::cli {

/// Times of more steps than this would fill the memory, and sums over them have to stay in range.
inline constexpr std::size_t most_steps = 1'000'000;

[[nodiscard]] Result set_backend(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_compute(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_transport(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_block(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_trainer(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_learning_rate(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_timeout(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_fault(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_calibrate(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_tolerance(Inputs& inputs, std::string_view text);

} // namespace ppsim::cli
