// V-Half (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3.2): half the
// activations of 1F1B, in the limit of many stages. The order depends on costs and transfers, so it is searched.

#include "generator_list.hpp"
#include "v_search.hpp"

namespace ppsim::generator::v_half {

const Generator definition{.name = "v-half",
                           .placement = "v",
                           .summary = "a V of two chunks per stage with half the activations of 1f1b",
                           .promise = "at most 2 floor(p/2) + 2 chunk activations on every stage; span no longer "
                                      "than the published order's, unless the step is shorter",
                           .constraints = "two chunks per stage; any m >= 1",
                           .source = "Qi et al., arXiv 2405.15362",
                           .vpp = {.standard = 2, .multiple = 0},
                           .place = wave_placement,
                           .search = [](const ScheduleRequest& request, const Scenario& scenario, bool all) {
                             return search_within("v-half", request.shape, scenario, v_half_limit(request.shape), all);
                           }};

} // namespace ppsim::generator::v_half
