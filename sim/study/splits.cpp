#include "splits.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <utility>

namespace ppsim {
namespace {

/// A list with one value per chunk does not apply to another split.
void refuse_lists(const RunSpec& spec, Problems& problems) {
  const auto check = [&](std::string_view option, const auto& given) {
    if (given && given->size() > 1)
      problems.add(spec.place_of(option),
                   fmt::format("{} values, one per chunk, cannot follow the layers", given->size()),
                   "give one value, for a stage; `embedding` and `head` are for the extra work of the ends ('ppsim "
                   "import `mean-stage`' writes these for a run)");
  };
  check("forward", spec.forward);
  check("backward", spec.backward);
  check("input-grad", spec.input_grad);
  check("weight-grad", spec.weight_grad);
  check("forward-collective", spec.forward_collective);
  check("backward-collective", spec.backward_collective);
  check("recompute-time", spec.recompute_time);
  check("reduce", spec.reduce);
  check("optimizer", spec.optimizer);
  check("activation-bytes", spec.activation_bytes);
  check("weight-activation-bytes", spec.weight_activation_bytes);
  check("checkpoint-bytes", spec.checkpoint_bytes);
  check("parameter-bytes", spec.parameter_bytes);
  check("gradient-bytes", spec.gradient_bytes);
  check("optimizer-bytes", spec.optimizer_bytes);
}

} // namespace

void check_layers(const RunSpec& spec, const BuiltRun& run) {
  Problems problems;
  if (run.scenario.layout.empty())
    problems.add(spec.place_of("balance"), "how many layers are there to split?",
                 "give `layers`, or a `layout` to start from");
  for (const char* option : {"first-stage-layers", "last-stage-layers"})
    if (spec.has(option)) problems.add(spec.place_of(option), "fixes what `balance` searches", "leave one of them out");
  refuse_lists(spec, problems);
  problems.throw_if_any();
}

Splits::Splits(RunSpec spec, const BuiltRun& run)
    : spec_{std::move(spec)}, run_{run}, placement_{placement_of(run.schedule)} {
  spec_.layers.reset();
}

Scenario Splits::scenario(const Layout& layout) {
  spec_.layout = layout;
  Scenario scenario = make_scenario(spec_, run_.scenario.shape, placement_, ends_share_stage(run_.schedule));
  std::vector<std::string> said_before;
  fit_update(spec_, run_.schedule, scenario, said_before);
  return scenario;
}

bool Splits::searches() const {
  return run_.schedule.origin() != nullptr && run_.schedule.origin()->generator->searches();
}

Schedule Splits::schedule(const Scenario& scenario, bool tried) const {
  if (!searches()) return run_.schedule;
  auto [generator, request] = *run_.schedule.origin();
  request.tries_smaller_limits = !tried;
  if (spec_.forward_only) return make_schedule(*generator, request, scenario).forwards();
  return make_for_transfers(*generator, request, scenario);
}

} // namespace ppsim
