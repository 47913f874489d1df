#include "ppsim/study/vary.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/build_scenario.hpp"
#include "ppsim/study/candidates.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "known_order.hpp"

namespace ppsim {
namespace {

/// The candidates at each value, made once.
class CandidatesByValue {
public:
  explicit CandidatesByValue(const RunSpec& spec) : spec_{spec}, field_{*find_run_field(spec.vary->option)} {}

  [[nodiscard]] RunSpec spec_at(std::int64_t value) const { return with_value(spec_, field_, value); }

  /// Thread-safe.
  std::shared_ptr<const std::vector<Candidate>> at(std::int64_t value) {
    const std::scoped_lock lock{mutex_};
    auto& made = made_[value];
    if (!made) made = std::make_shared<const std::vector<Candidate>>(candidates(spec_at(value)));
    return made;
  }

private:
  const RunSpec& spec_;
  const RunField& field_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const std::vector<Candidate>>> made_;
};

using Notes = std::optional<std::vector<std::string>>;

/// None if the candidate refuses its spec, or deadlocks. Its notes go to `said`, if not null.
std::optional<Sample> try_sample(const Candidate& candidate, KnownOrders& known, std::int64_t value, Notes* said) {
  try {
    if (said == nullptr)
      if (const auto sample = known.sample(candidate.spec, value)) return sample;
    Evaluation run = evaluate(candidate.spec);
    if (candidate.spec.rank_by != StepFigure::step_time) sample_steps(candidate.spec, run);
    if (said != nullptr) *said = std::move(run.notes);
    const bool sampled = candidate.spec.varies_by_chance() || candidate.spec.names_copies();
    const auto sample = sample_of(run, candidate.spec.rank_by);
    if (!sampled) known.keep(std::move(run), value);
    return sample;
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    return std::nullopt;
  }
}

/// Keeps the notes of the first value that also appear at the last one: they apply to the range.
void keep_common(Notes& first, const Notes& last) {
  if (!last) first.reset();
  if (first)
    std::erase_if(*first, [&](const std::string& note) { return std::ranges::find(*last, note) == last->end(); });
}

/// A note for each candidate without a line: the reason at the first value.
std::vector<std::string> notes_on_missing(const std::vector<Candidate>& first, const Varied& varied) {
  std::vector<std::string> notes;
  const std::vector<VariationLine>& lines = varied.variation.lines;
  for (const Candidate& candidate : first) {
    const bool is_refused = varied.order_refused && &candidate == &first.front(); // its name may be a schedule's too
    if (!is_refused && std::ranges::find(lines, candidate.name, &VariationLine::name) != lines.end()) continue;
    try {
      (void)evaluate(candidate.spec);
    } catch (const Error& error) {
      notes.push_back(fmt::format("{} does not apply: {}", candidate.name, reason_of(error, candidate.name)));
    }
  }
  return notes;
}

/// Whether the varied quantity affects the line.
bool changes(const VariationLine& line) {
  const auto same = [](const std::optional<Sample>& a, const std::optional<Sample>& b) {
    return a.has_value() == b.has_value() && (!a || (a->step_time == b->step_time && a->fits == b->fits));
  };
  return std::ranges::adjacent_find(line.samples, std::not_fn(same)) != line.samples.end();
}

/// Sets properties of the whole range.
void describe(const RunSpec& spec, Variation& variation) {
  const std::string& varied = variation.axis.option;
  if (varied != "stages") variation.stages = spec.stages.value_or(0);
  if (varied != "mb" && !variation.per_microbatch) variation.microbatches = spec.microbatches.value_or(0);
  variation.figure = spec.rank_by;
  variation.title = spec.title.value_or("");
  variation.source = cost_source(spec);
}

/// With defaults: the unit of the axis, the compared figure, and chunks per stage.
RunSpec completed(const RunSpec& given, const RunField& field) {
  RunSpec spec = given;
  spec.vary->unit = *field.unit;
  if (given.varies_by_chance() && !given.has("rank-by")) spec.rank_by = StepFigure::mean;
  // candidates() depends on the layers of a stage, but the lines must be the same at every value
  const std::string& varied = spec.vary->option;
  if ((varied == "stages" || varied == "layers") && !spec.vpp && !spec.layout) {
    spec.vpp = {2, 4};
    spec.where.insert_or_assign("vpp", "default"); // nobody asked for it
  }
  return spec;
}

} // namespace

Varied vary(const RunSpec& given, const VaryOptions& options, const Watch& watch) {
  const RunField* const field = given.vary ? find_run_field(given.vary->option) : nullptr;
  if (field == nullptr || !field->unit)
    throw Error{ExitCode::bad_input, Problem{"`vary`", "no field given that takes numbers", "name one, such as comm"}};
  check_figure(given);
  const RunSpec spec = completed(given, *field);
  const Axis& axis = *spec.vary;
  CandidatesByValue by_value{spec};
  const auto first = by_value.at(axis.from);
  std::vector<std::string> names;
  for (const Candidate& candidate : *first) names.push_back(candidate.name);
  std::vector<Notes> first_notes(names.size());
  std::vector<Notes> last_notes(names.size());
  std::deque<KnownOrders> known; // they do not move
  for (const Candidate& candidate : *first)
    known.emplace_back(candidate.spec.schedule && find_generator(*candidate.spec.schedule).searches(), axis,
                       points_of(axis, options));
  const Sampler sample = [&](std::size_t line, std::int64_t value) {
    const auto candidates = by_value.at(value);
    PPSIM_ASSERT(candidates->size() == names.size());
    Notes* const said = value == axis.from ? &first_notes[line] : value == axis.to ? &last_notes[line] : nullptr;
    auto sampled = try_sample((*candidates)[line], known[line], value, said);
    if (watch) watch(0);
    return sampled;
  };
  Varied varied{.variation = ppsim::vary(axis, names, sample, options), .notes = {}};
  if (varied.variation.lines.empty())
    (void)compare(by_value.spec_at(axis.from), options.threads); // throws with the reason
  if (!varied.variation.lines.empty()) describe(spec, varied.variation);
  varied.order_refused = spec.order != nullptr && !first_notes.front() && !last_notes.front();
  for (std::size_t line = 0; line < names.size(); ++line) keep_common(first_notes[line], last_notes[line]);
  varied.notes = collect_notes(*first, first_notes);
  std::ranges::move(notes_on_missing(*first, varied), std::back_inserter(varied.notes));
  if (std::ranges::none_of(varied.variation.lines, changes))
    varied.notes.push_back(fmt::format("`vary`: `{}` changes no schedule's step time in this range", axis.option));
  return varied;
}

} // namespace ppsim
