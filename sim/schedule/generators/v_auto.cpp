// A V of two chunks per stage under any memory limit (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv
// 2405.15362, section 4 and appendix A): with 2p chunk activations it has the zero bubble of ZB-V, with fewer it waits.

#include "generator_list.hpp"
#include "synthesized.hpp"
#include "v_search.hpp"

namespace ppsim::generator::v_auto {
namespace {

bool holds_zero_bubble(const DispatchInput& input) {
  const auto most = static_cast<std::int64_t>(input.shape.stages);
  for (std::size_t stage = 0; stage < input.limit.size(); ++stage) {
    std::int64_t microbatch = 0;
    for (const std::uint32_t chunk : input.chunks[stage]) microbatch += input.taken[chunk];
    if (most * microbatch > input.forward_limit[stage]) return false;
  }
  return true;
}

Plan searched(const DispatchInput& input) {
  // with memory for 2p activations the rounds of ZB-V are hard to beat, with less memory patterns are
  return search_v(input, holds_zero_bubble(input) ? 0 : 3'000'000);
}

} // namespace

const Generator definition{
    .name = "v-auto",
    .placement = "v",
    .summary = "a V of two chunks per stage by search: follows costs, transfers and a memory limit",
    .promise = "never more memory than the limit; in training, without slow copies, no step longer than that of "
               "zb-v, hanayo, v-half and v-min where they fit (but with transfers by latency whole backwards can "
               "hold less with recomputation, and pay an overhead once); with transfers by latency, up to some 1500 "
               "tasks, a higher activation limit makes no step longer, except with an optimizer step per stage; a "
               "note if the makespan is more than twice the proven bound; span no longer than the published ZB-V "
               "heuristic's, unless the step is shorter",
    .constraints = "two chunks per stage; any m >= 1; the limit holds one activation of each chunk",
    .source = "Qi et al., arXiv 2405.15362",
    .options = "activation-limit",
    .vpp = {.standard = 2, .multiple = 0},
    .refuse = refuse_small_limit,
    .place = wave_placement,
    .search = [](const ScheduleRequest& request, const Scenario& scenario, bool all) {
      const Shape& shape = request.shape;
      const DispatchInput input = limited_input(request, scenario, wave_placement(shape), 2 * shape.stages);
      std::array<Rival, 4> rivals{Rival{&zb_v::definition}, Rival{&hanayo::definition},
                                  Rival{&v_half::definition, v_half_limit(shape)},
                                  Rival{&v_min::definition, v_min_limit(shape)}};
      const Plan plan = best_within(input, request, scenario, searched, rivals);
      return to_schedules("v-auto", input, scenario, plan, rivals, all);
    }};

} // namespace ppsim::generator::v_auto
