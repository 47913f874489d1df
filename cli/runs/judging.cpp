#include "judging.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <string>

#include "options/condition.hpp"
#include "terminal/console.hpp"

namespace ppsim::cli {
namespace {

/// The missing option that would make a metric known.
std::string_view needed_for(const Metric& metric, const std::optional<StepWork>& work) {
  if (metric.tag == "hfu") return "give --model and --device";
  if (metric.unit() == "ns") return "give --jitter or --jitter-from, and a run whose stages meet between steps";
  if (!work) return "give --model and --device, or --flops with --device for mfu or with --sequence-length for tokens";
  if (metric.unit() == "tokens/s" && !work->tokens) return "give --sequence-length";
  if (metric.unit() == "ratio" && !work->flops_per_second) return "give --device ('ppsim list devices')";
  return "a step that takes 0 time has no rates";
}

} // namespace

void check_conditions(const Inputs& inputs, const RunReport& report) {
  for (const std::string& text : inputs.fail_if) {
    const std::optional<Condition> condition = parse_condition(text);
    PPSIM_ASSERT(condition.has_value());
    const Metric& metric = *condition->metric;
    if (!metric.value(report))
      throw Error{ExitCode::bad_input,
                  Problem{inputs.place_of("fail-if"), fmt::format("{} is not known for this run", metric.tag),
                          std::string{needed_for(metric, report.work)}}};
  }
}

bool holds_any(const Inputs& inputs, const RunReport& report) {
  bool any = false;
  for (const std::string& text : inputs.fail_if) {
    const std::optional<Condition> condition = parse_condition(text);
    PPSIM_ASSERT(condition.has_value());
    if (!condition->holds(report)) continue;
    say(fmt::format("ppsim: --fail-if: {} holds: {} is {}\n", in_quotes(text), condition->metric->tag,
                    *condition->metric->value(report)));
    any = true;
  }
  return any;
}

} // namespace ppsim::cli
