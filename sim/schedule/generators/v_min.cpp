// V-Min (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3.2): a third of the
// activations of 1F1B, in the limit of many stages. Which order keeps to that depends on costs and transfers, so it is
// searched for.

#include "dispatch.hpp"
#include "generator_list.hpp"
#include "v_search.hpp"

namespace ppsim::generator::v_min {
namespace {

/// What the published order holds, for any p: with one slot per stage on every leg a microbatch lives 2p slots of its
/// six on average.
std::size_t most_activations(const Shape& shape) {
  return 2 * ((shape.stages + 1) / 3) + 2;
}

Schedule make(const ScheduleRequest& request, const Scenario& scenario) {
  const DispatchInput input = dispatch_input(scenario, wave_placement(request.shape), most_activations(request.shape));
  return to_schedule("v-min", request.shape, search_v(input, 250'000));
}

} // namespace

const Generator definition{
    .name = "v-min",
    .placement = "v",
    .summary = "a V of two chunks per stage with a third of the activations of 1f1b",
    .promise =
        "at most 2 floor((p+1)/3) + 2 chunk activations on every stage; span no longer than the published order's",
    .constraints = "two chunks per stage; any m >= 1",
    .source = "Qi et al., arXiv 2405.15362",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .place = wave_placement,
    .make = make};

} // namespace ppsim::generator::v_min
