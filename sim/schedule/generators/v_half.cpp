// V-Half (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3.2): half the
// activations of 1F1B, in the limit of many stages. Which order keeps to that depends on costs and transfers, so it is
// searched for.

#include "dispatch.hpp"
#include "generator_list.hpp"
#include "v_search.hpp"

namespace ppsim::generator::v_half {
namespace {

/// What the published order holds, for any p: the two slots per stage on the way down make a microbatch live 3p slots
/// of its six on average.
std::size_t most_activations(const Shape& shape) {
  return 2 * (shape.stages / 2) + 2;
}

Schedule make(const ScheduleRequest& request, const Scenario& scenario) {
  const DispatchInput input = dispatch_input(scenario, wave_placement(request.shape), most_activations(request.shape));
  return to_schedule("v-half", request.shape, search_v(input, 250'000));
}

} // namespace

const Generator definition{
    .name = "v-half",
    .placement = "v",
    .summary = "a V of two chunks per stage with half the activations of 1f1b",
    .promise = "at most 2 floor(p/2) + 2 chunk activations on every stage; span no longer than the published order's",
    .constraints = "two chunks per stage; any m >= 1",
    .source = "Qi et al., arXiv 2405.15362",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .place = wave_placement,
    .make = make};

} // namespace ppsim::generator::v_half
