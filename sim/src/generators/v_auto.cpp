#include "generator_list.hpp"
#include "v_search.hpp"

namespace ppsim::generator {
namespace {

Schedule make(const ScheduleRequest& request, const Scenario& scenario) {
  const DispatchInput input = limited_input(request, scenario, wave_placement(request.shape), 2 * request.shape.stages);
  return to_schedule("v-auto", request.shape, search_v(input, 3'000'000));
}

} // namespace

const Generator v_auto{.name = "v-auto",
                       .placement = "v",
                       .summary = "TODO",
                       .promise = "TODO",
                       .constraints = "two chunks per stage; any m >= 1",
                       .source = "Qi et al., arXiv 2405.15362",
                       .options = "activation-limit",
                       .vpp = {.standard = 2, .multiple = 0},
                       .searches = true,
                       .refuse = refuse_small_limit,
                       .place = wave_placement,
                       .make = make};

} // namespace ppsim::generator
