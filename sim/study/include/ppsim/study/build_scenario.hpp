#pragma once
// Builds a Scenario from a RunSpec's costs, network and memory.

#include "ppsim/study/run_spec.hpp"

namespace ppsim {

/// The scenario of this spec for a shape with this placement of chunks; `ends_share_stage`: whether the first and the
/// last chunk are on the same stages (ends_share_stage(schedule)). Throws Error with every conflict.
[[nodiscard]] Scenario make_scenario(const RunSpec& spec, const Shape& shape, const std::vector<StageId>& placement,
                                     bool ends_share_stage);

/// The model with the number of layers in the spec. The spec must have a model.
[[nodiscard]] Model model_of(const RunSpec& spec);

/// Costs from the model's shape; none without a model. Adds to `problems` options that need a missing model or device,
/// and conflicts.
[[nodiscard]] std::optional<ModelCosts> price_model(const RunSpec& spec, Problems& problems);

/// The work of a microbatch if it is given instead of a model; otherwise none. Adds conflicts to `problems`.
[[nodiscard]] std::optional<MicrobatchWork> given_work(const RunSpec& spec, Problems& problems);

/// The origin of the costs in words: the user's own, then computed ones with their basis, then given ones.
[[nodiscard]] std::string cost_source(const RunSpec& spec);

/// Notes on collectives: far_ranks_note(), and those that are not used as measured.
[[nodiscard]] std::vector<std::string> link_notes(const RunSpec& spec);
/// That tensor-parallel ranks do not fit into a node, if they do not, and no link is given.
[[nodiscard]] std::optional<std::string> far_ranks_note(std::string_view place, const Training& training);

} // namespace ppsim
