#pragma once
// Completion scripts for shells.

#include <string>
#include <string_view>

namespace ppsim::cli {

/// Each followed by a space.
inline constexpr std::string_view completed_shells = "bash zsh fish ";

/// The script of one of completed_shells; empty for others.
[[nodiscard]] std::string completion(std::string_view shell);

} // namespace ppsim::cli
