#pragma once
// Settings: a configuration in the words of the framework that is to run it.

#include "ppsim/plan/space.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ppsim {

/// What a framework calls a schedule that it runs, empty where it has no name for it; none where it does not run it.
[[nodiscard]] std::optional<std::string_view> name_in(Framework framework, std::string_view schedule);

/// Megatron-LM's options, torchtitan's TOML or DeepSpeed's JSON, as lines of text; only what the configuration says.
/// Empty for Framework::any, and where the framework has no word for the schedule. Names: Megatron-LM core 0.16,
/// torchtitan 0.2, DeepSpeed 0.18.
[[nodiscard]] std::string settings_for(Framework framework, const PlanRequest& request,
                                       const Configuration& configuration);

} // namespace ppsim
