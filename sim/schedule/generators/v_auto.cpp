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

std::array<Rival, 4> rivals(const Shape& shape) {
  return {Rival{&zb_v::definition}, Rival{&hanayo::definition}, Rival{&v_half::definition, v_half_limit(shape)},
          Rival{&v_min::definition, v_min_limit(shape)}};
}

DispatchInput input_of(const ScheduleRequest& request, const Scenario& scenario) {
  return limited_input(request, scenario, wave_placement(request.shape), 2 * request.shape.stages);
}

} // namespace

const Generator definition{
    .name = "v-auto",
    .placement = "v",
    .summary = "a V of two chunks per stage by search: follows costs, transfers and a memory limit",
    .promise =
        "never more memory than the limit; no step longer than that of zb-v, hanayo, v-half and v-min where they fit "
        "(whole backwards can hold less with recomputation, pay an overhead once, and be shorter with blocking "
        "transfers); with transfers by latency, up to some 1500 tasks, a higher activation limit makes no step longer, "
        "except with an optimizer step per stage; a note if the makespan is more than twice the proven bound; span no "
        "longer than the published ZB-V heuristic's, unless the step is shorter",
    .constraints = "two chunks per stage; any m >= 1; the limit holds one activation of each chunk",
    .source = "Qi et al., arXiv 2405.15362",
    .options = "activation-limit",
    .vpp = {.standard = 2, .multiple = 0},
    .searches = true,
    .refuse = refuse_small_limit,
    .place = wave_placement,
    .make =
        [](const ScheduleRequest& request, const Scenario& scenario) {
          std::array others = rivals(request.shape);
          return to_schedule("v-auto", request.shape,
                             best_within(input_of(request, scenario), request, scenario, searched, others));
        },
    .rivals =
        [](const ScheduleRequest& request, const Scenario& scenario) {
          return fitting("v-auto", input_of(request, scenario), scenario, rivals(request.shape));
        }};

} // namespace ppsim::generator::v_auto
