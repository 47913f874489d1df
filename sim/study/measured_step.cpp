#include "ppsim/study/measured_step.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

namespace ppsim {
namespace {

/// The spec of the measured run.
RunSpec measured_run(const RunSpec& spec) {
  const MeasuredStep& measured = *spec.measured_step;
  RunSpec run = spec;
  run.measured_step.reset();
  run.vary.reset();
  run.memory_limit.reset(); // the run fitted
  if (measured.microbatches) run.microbatches = measured.microbatches;
  if (measured.vpp) run.vpp = {*measured.vpp};
  if (measured.schedule) {
    run.schedule = measured.schedule;
    if (!measured.vpp && find_generator(*measured.schedule).vpp.multiple == 0)
      run.vpp.reset();            // the default of its schedule
    run.activation_limit.reset(); // it applies to the other schedule
    run.group_size.reset();
    run.overlap_expert_exchange = false;
    run.descending_backward.reset();
    run.replicas.reset();
    run.optimizer_step.reset();
  }
  if (measured.schedule || measured.vpp) run.order.reset();
  return run;
}

} // namespace

std::int64_t fit_measured_step(const RunSpec& spec) {
  constexpr std::int64_t least = whole_share / 10;
  constexpr std::int64_t most = whole_share * 10;
  PPSIM_ASSERT(spec.measured_step.has_value());
  const Duration wanted = spec.measured_step->time;
  RunSpec run = measured_run(spec);
  const auto step_at = [&run](std::int64_t factor) {
    run.training.compute_ppm = factor;
    return evaluate(run).report.step_time;
  };
  const auto refuse = [&](std::string_view how, std::int64_t factor, std::string_view hint) {
    throw Error{ExitCode::bad_input,
                Problem{spec.place_of("measured-step"),
                        fmt::format("no step takes {}: if all compute is {}, it takes {}", format_duration(wanted), how,
                                    format_duration(step_at(factor))),
                        std::string{hint}}};
  };
  if (step_at(least) > wanted)
    refuse("ten times as fast", least, "give the time of a whole step of the described run; are the links right?");
  if (step_at(most) < wanted) refuse("ten times as slow", most, "give the time of one step of the described run");
  std::int64_t fast = least; // takes at most the measured time
  std::int64_t slow = most;  // takes at least the measured time
  while (slow - fast > 1) {
    const std::int64_t middle = fast + (slow - fast) / 2;
    (step_at(middle) <= wanted ? fast : slow) = middle;
  }
  return wanted - step_at(fast) <= step_at(slow) - wanted ? fast : slow;
}

} // namespace ppsim
