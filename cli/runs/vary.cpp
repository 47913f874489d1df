#include "vary.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "candidates.hpp"
#include "compare.hpp"
#include "evaluate.hpp"
#include "model_inputs.hpp"
#include "options/axis.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli {
namespace {

/// The candidates at each value, made once.
class CandidatesByValue {
public:
  explicit CandidatesByValue(const Inputs& inputs) : inputs_{inputs}, option_{*find_option(inputs.vary->option)} {}

  [[nodiscard]] Inputs inputs_at(std::int64_t value) const {
    Inputs changed = inputs_;
    const auto wrong = option_.set(changed, inputs_.vary->flag_value(value));
    PPSIM_ASSERT(!wrong); // both ends are allowed
    changed.where[std::string{option_.name}] = fmt::format("--{}", option_.name);
    return changed;
  }

  /// May be called from any thread.
  std::shared_ptr<const std::vector<Candidate>> at(std::int64_t value) {
    const std::scoped_lock lock{mutex_};
    auto& made = made_[value];
    if (!made) made = std::make_shared<const std::vector<Candidate>>(candidates(inputs_at(value)));
    return made;
  }

private:
  const Inputs& inputs_;
  const Option& option_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const std::vector<Candidate>>> made_;
};

Sample sample_of(const Evaluation& run) {
  Sample sample{.step_time = run.report.step_time,
                .microbatches = run.graph.scenario().shape.microbatches,
                .fits = !run.report.overflow,
                .asynchronous = run.graph.schedule().asynchronous()};
  for (const StageReport& stage : run.report.stages)
    sample.peak_bytes = std::max(sample.peak_bytes, stage.peak_bytes());
  return sample;
}

using Said = std::optional<std::vector<std::string>>;

/// Nothing where the candidate refuses its inputs, or deadlocks. What it says besides goes to `said`, if there is one.
std::optional<Sample> try_sample(const Candidate& candidate, Said* said) {
  try {
    Evaluation run = evaluate(candidate.inputs);
    if (said != nullptr) *said = std::move(run.notes);
    return sample_of(run);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

/// Of what is said at the first value what is said at the last one too: it holds for the range.
void keep_common(Said& first, const Said& last) {
  if (!last) first.reset();
  if (first)
    std::erase_if(*first, [&](const std::string& note) { return std::ranges::find(*last, note) == last->end(); });
}

/// A note on each of the candidates that has no line: why not, at the first value.
std::vector<std::string> notes_on_missing(const std::vector<Candidate>& first, const Variation& variation) {
  std::vector<std::string> notes;
  for (const Candidate& candidate : first) {
    if (std::ranges::find(variation.lines, candidate.name, &VariationLine::name) != variation.lines.end()) continue;
    try {
      (void)evaluate(candidate.inputs);
    } catch (const Error& error) {
      notes.push_back(fmt::format("{} does not apply: {}", candidate.name, reason_of(error)));
    }
  }
  return notes;
}

/// Whether the varied quantity makes a difference to the line.
bool changes(const VariationLine& line) {
  const auto same = [](const std::optional<Sample>& a, const std::optional<Sample>& b) {
    return a.has_value() == b.has_value() && (!a || (a->step_time == b->step_time && a->fits == b->fits));
  };
  return std::ranges::adjacent_find(line.samples, std::not_fn(same)) != line.samples.end();
}

std::int64_t precision_of(const Inputs& inputs) {
  std::int64_t precision = 0;
  if (!inputs.precision) return precision;
  if (const auto wrong = parse_step(*inputs.precision, *inputs.vary, precision))
    throw Error{ExitCode::bad_input, Problem{inputs.place_of("precision"), wrong->what, wrong->hint}};
  return precision;
}

/// Sets what holds for the whole range.
void describe(const Inputs& inputs, Variation& variation) {
  const std::string& varied = variation.axis.option;
  if (varied != "stages") variation.stages = inputs.stages.value_or(0);
  if (varied != "mb" && !variation.per_microbatch) variation.microbatches = inputs.microbatches.value_or(0);
  variation.title = inputs.title.value_or("");
  variation.source = cost_source(inputs);
}

} // namespace

Varied vary_inputs(const Inputs& given, std::size_t threads) {
  const Axis& axis = given.vary.value();
  Inputs inputs = given;
  // candidates() follows the layers of a stage, but the lines have to be the same at every value
  if ((axis.option == "stages" || axis.option == "layers") && !inputs.vpp && !inputs.layout) inputs.vpp = {2, 4};
  VaryOptions options{.precision = precision_of(inputs), .threads = threads};
  options.points = inputs.points.value_or(0);
  CandidatesByValue by_value{inputs};
  const auto first = by_value.at(axis.from);
  std::vector<std::string> names;
  for (const Candidate& candidate : *first) names.push_back(candidate.name);
  std::vector<Said> said_first(names.size());
  std::vector<Said> said_last(names.size());
  Progress progress{"simulations", 0};
  const Sampler sample = [&](std::size_t line, std::int64_t value) {
    const auto candidates = by_value.at(value);
    PPSIM_ASSERT(candidates->size() == names.size());
    auto sampled = try_sample((*candidates)[line], value == axis.from ? &said_first[line]
                                                   : value == axis.to ? &said_last[line]
                                                                      : nullptr);
    progress.step();
    return sampled;
  };
  Varied varied{.variation = ppsim::vary(axis, names, sample, options), .notes = {}};
  if (varied.variation.lines.empty()) (void)compare(by_value.inputs_at(axis.from), threads); // says why
  if (!varied.variation.lines.empty()) describe(inputs, varied.variation);
  for (std::size_t line = 0; line < names.size(); ++line) keep_common(said_first[line], said_last[line]);
  varied.notes = collect_notes(*first, said_first);
  std::ranges::move(notes_on_missing(*first, varied.variation), std::back_inserter(varied.notes));
  if (std::ranges::none_of(varied.variation.lines, changes))
    varied.notes.push_back(fmt::format("--vary: --{} changes no schedule's step time in this range", axis.option));
  return varied;
}

} // namespace ppsim::cli
