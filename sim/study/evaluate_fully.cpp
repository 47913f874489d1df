#include "ppsim/base/error.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/find_sensitivity.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace ppsim {
namespace {

/// Above so many tasks the extra simulations would be noticed.
constexpr std::size_t most_tasks_for_what_if = std::size_t{1} << 20;
/// Likewise, of several other orders.
constexpr std::size_t most_tasks_for_alternatives = std::size_t{1} << 16;

/// The run of another spec, if that is allowed at all.
std::optional<Alternative> try_spec(const RunSpec& spec, std::string change) {
  try {
    const Evaluation run = evaluate(spec);
    if (!run.has_step_time) return std::nullopt;
    return Alternative{std::move(change), run.graph.scenario().shape.microbatches, run.report.step_time,
                       run.report.bubble_ratio, !run.report.overflow};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What usually shrinks the bubble, tried: twice the microbatches, twice the chunks.
std::vector<Alternative> try_alternatives(const RunSpec& spec, const Shape& shape) {
  std::vector<Alternative> alternatives;
  const auto add = [&](const RunSpec& changed, std::string change) {
    if (auto alternative = try_spec(changed, std::move(change))) alternatives.push_back(std::move(*alternative));
  };
  RunSpec more = spec;
  more.microbatches = 2 * shape.microbatches;
  add(more, fmt::format("`mb` {}", 2 * shape.microbatches));
  RunSpec chunks = spec;
  chunks.schedule = "interleaved";
  chunks.vpp = {2 * shape.vpp};
  chunks.descending_backward.reset();
  if (shape.stages > 1 && shape.shared == 0)
    add(chunks, fmt::format("`vpp` {}{}", 2 * shape.vpp,
                            spec.schedule && spec.schedule != "interleaved" ? " `schedule` interleaved" : ""));
  return alternatives;
}

} // namespace

Evaluation evaluate_fully(const RunSpec& spec, bool with_sensitivity) {
  Evaluation run = evaluate(spec);
  if (with_sensitivity) run.report.sensitivity = find_sensitivity(spec, run);
  if (run.has_step_time && run.graph.size() <= most_tasks_for_what_if) run.report.what_if = what_if(run.graph);
  const bool cheap = run.graph.size() <= most_tasks_for_alternatives && !spec.balance; // each would be a search
  if (run.generator != nullptr && cheap) run.report.alternatives = try_alternatives(spec, run.graph.scenario().shape);
  return run;
}

} // namespace ppsim
