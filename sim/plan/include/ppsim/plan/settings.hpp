#pragma once
// Settings: a configuration as options of the framework that runs it.

#include "ppsim/plan/space.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ppsim {

/// A framework's name for a schedule: empty if it has none, none if it does not run it.
[[nodiscard]] std::optional<std::string_view> name_in(Framework framework, std::string_view schedule);

/// Megatron-LM's options, torchtitan's TOML or DeepSpeed's JSON, as lines of text, for the configuration only. Empty
/// for Framework::any, and if the framework has no name for the schedule. Names: Megatron-LM core 0.16, torchtitan 0.2,
/// DeepSpeed 0.18.
[[nodiscard]] std::string settings_for(Framework framework, const PlanRequest& request,
                                       const Configuration& configuration);

} // namespace ppsim
