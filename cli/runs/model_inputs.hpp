#pragma once
// What a user said about a model's shape, its device and its training, and the costs that follow.

#include <optional>
#include <string>

#include "inputs.hpp"

namespace ppsim::cli {

/// The link between stages where a model is given and no link.
[[nodiscard]] const LinkSheet& standard_link();

/// Finds the shipped model and device that the inputs name, or reads their files.
void load_model(Inputs& inputs, Problems& problems);

/// The model with the number of layers that the inputs ask for. There has to be one.
[[nodiscard]] Model model_of(const Inputs& inputs);

/// Costs by the model's shape; nothing where there is no model. Adds options that need a model or a device that is not
/// there, and what does not fit together, to `problems`.
[[nodiscard]] std::optional<ModelCosts> price_model(const Inputs& inputs, Problems& problems);

/// Where the costs come from, in words: the user's own, then what is computed from what, and what was given.
[[nodiscard]] std::string cost_source(const Inputs& inputs);

} // namespace ppsim::cli
