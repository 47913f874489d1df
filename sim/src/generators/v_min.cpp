#include "generator_list.hpp"
#include "v_search.hpp"

namespace ppsim::generator {
namespace {

Schedule make(const ScheduleRequest& request, const Scenario& scenario) {
  const std::size_t limit = 2 * ((request.shape.stages + 1) / 3) + 2;
  const DispatchInput input = dispatch_input(scenario, wave_placement(request.shape), limit);
  return to_schedule("v-min", request.shape, search_v(input, 400'000));
}

} // namespace

const Generator v_min{.name = "v-min",
                      .placement = "v",
                      .summary = "TODO",
                      .promise = "TODO",
                      .constraints = "two chunks per stage; any m >= 1",
                      .source = "Qi et al., arXiv 2405.15362",
                      .vpp = {.standard = 2, .multiple = 0},
                      .searches = true,
                      .place = wave_placement,
                      .make = make};

} // namespace ppsim::generator
