#pragma once
// From what a user said about costs, network and memory to a Scenario.

#include "ppsim/study/run_spec.hpp"

namespace ppsim {

/// The scenario of this spec for a shape whose chunks stand as `placement` says, the first and the
/// last of them perhaps on the same stages (ends_share_stage(schedule)). Throws Error with everything that
/// does not fit.
[[nodiscard]] Scenario make_scenario(const RunSpec& spec, const Shape& shape, const std::vector<StageId>& placement,
                                     bool ends_share_stage);

/// The model with the number of layers that the spec asks for. There has to be one.
[[nodiscard]] Model model_of(const RunSpec& spec);

/// Costs by the model's shape; nothing where there is no model. Adds options that need a model or a device that is not
/// there, and what does not fit together, to `problems`.
[[nodiscard]] std::optional<ModelCosts> price_model(const RunSpec& spec, Problems& problems);

/// What a microbatch asks for, as given in place of a model; nothing where it was not. Adds what does not fit together.
[[nodiscard]] std::optional<MicrobatchWork> given_work(const RunSpec& spec, Problems& problems);

/// Where the costs come from, in words: the user's own, then what is computed from what, and what was given.
[[nodiscard]] std::string cost_source(const RunSpec& spec);

/// What of the links' measured collectives is not as it was measured.
[[nodiscard]] std::vector<std::string> link_notes(const RunSpec& spec);

} // namespace ppsim
