#include "ppsim/measured/published.hpp"

#include "ppsim/base/percentile.hpp"
#include "ppsim/measured/validation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ppsim {
namespace {

/// Positions in the runs, in their order.
using Positions = std::vector<std::size_t>;

std::optional<double> step_error_of(const PublishedPrediction& held) {
  return held.refused ? std::nullopt : std::optional{held.error()};
}

std::optional<double> peak_error_of(const PublishedPrediction& held) {
  return held.peak_error();
}

/// The signed median; of two middle ones the nearer to zero, so that errors of one sign have the median of their
/// absolute values.
double signed_median(std::vector<double> errors) {
  const double lower = percentile(errors, 50);
  for (double& error : errors) error = -error;
  const double upper = -percentile(std::move(errors), 50);
  return std::abs(lower) < std::abs(upper) ? lower : upper;
}

/// Figures of the runs at `among` that have an error, and belong to `half` if given.
ErrorFigures figures_of(const std::vector<PublishedPrediction>& runs, const Positions& among,
                        std::optional<double> (*error_of)(const PublishedPrediction&), Half half = Half::none) {
  ErrorFigures figures;
  std::vector<double> errors;
  double largest = 0;
  for (const std::size_t at : among) {
    if (half != Half::none && runs[at].run.half != half) continue;
    const std::optional<double> error = error_of(runs[at]);
    if (!error) continue;
    if (errors.empty() || std::abs(*error) > largest) {
      figures.worst = at;
      largest = std::abs(*error);
    }
    errors.push_back(*error);
  }
  figures.runs = errors.size();
  figures.bias = signed_median(errors);
  for (double& error : errors) error = std::abs(error);
  figures.median = percentile(std::move(errors), 50);
  return figures;
}

PublishedGroup group_of(std::string name, const std::vector<PublishedPrediction>& runs, const Positions& among) {
  PublishedGroup group{.name = std::move(name)};
  group.refused = static_cast<std::size_t>(
      std::ranges::count_if(among, [&](std::size_t at) { return runs[at].refused.has_value(); }));
  group.step = figures_of(runs, among, step_error_of);
  group.fit = figures_of(runs, among, step_error_of, Half::fit);
  group.check = figures_of(runs, among, step_error_of, Half::check);
  group.peak = figures_of(runs, among, peak_error_of);
  return group;
}

/// Replaces the medians over runs by the medians over `sets`.
void take_medians(ErrorFigures& figures, const std::vector<PublishedGroup>& sets, ErrorFigures PublishedGroup::*which) {
  std::vector<double> medians;
  std::vector<double> biases;
  for (const PublishedGroup& set : sets) {
    if ((set.*which).runs == 0) continue;
    medians.push_back((set.*which).median);
    biases.push_back((set.*which).bias);
  }
  figures.median = percentile(std::move(medians), 50);
  figures.bias = signed_median(std::move(biases));
}

/// Groups the positions at `among` by `name_of`, in the order of first occurrence.
template <class NameOf>
std::vector<std::pair<std::string, Positions>> split_by(const std::vector<PublishedPrediction>& runs,
                                                        const Positions& among, NameOf name_of) {
  std::vector<std::pair<std::string, Positions>> parts;
  for (const std::size_t at : among) {
    const std::string& name = name_of(runs[at]);
    auto part = std::ranges::find(parts, name, &std::pair<std::string, Positions>::first);
    if (part == parts.end()) part = parts.insert(parts.end(), {name, {}});
    part->second.push_back(at);
  }
  return parts;
}

std::vector<PublishedGroup> groups_of(const std::vector<PublishedPrediction>& runs,
                                      const std::vector<std::pair<std::string, Positions>>& parts) {
  std::vector<PublishedGroup> groups;
  groups.reserve(parts.size());
  for (const auto& [name, among] : parts) groups.push_back(group_of(name, runs, among));
  return groups;
}

const std::string& set_of(const PublishedPrediction& held) {
  return held.run.set;
}

PublishedGroup device_group(const std::string& name, const std::vector<PublishedPrediction>& runs,
                            const Positions& among) {
  const std::vector<PublishedGroup> sets = groups_of(runs, split_by(runs, among, set_of));
  PublishedGroup group = group_of(name, runs, among);
  group.sets = sets.size();
  for (ErrorFigures PublishedGroup::*const which :
       {&PublishedGroup::step, &PublishedGroup::fit, &PublishedGroup::check, &PublishedGroup::peak})
    take_medians(group.*which, sets, which);
  return group;
}

} // namespace

std::string_view to_string(Half half) {
  switch (half) {
  case Half::fit:
    return "fit";
  case Half::check:
    return "check";
  case Half::none:
    break;
  }
  return "";
}

double PublishedPrediction::error() const {
  return ComparedTime{step, run.step}.error();
}

std::optional<double> PublishedPrediction::peak_error() const {
  if (refused || !run.peak || peak == Bytes{0}) return std::nullopt;
  return static_cast<double>((peak - *run.peak).count()) / static_cast<double>(run.peak->count());
}

std::size_t PublishedErrors::refused() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const PublishedPrediction& held) { return held.refused.has_value(); }));
}

std::size_t PublishedErrors::beyond() const {
  return static_cast<std::size_t>(std::ranges::count_if(runs, [this](const PublishedPrediction& held) {
    return !held.refused && std::abs(held.error()) > tolerance.value();
  }));
}

bool PublishedErrors::holds() const {
  return !tolerance || (refused() < runs.size() && beyond() == 0);
}

PublishedErrors published_errors(std::vector<PublishedPrediction> runs, std::optional<double> tolerance) {
  PublishedErrors errors;
  errors.tolerance = tolerance;
  Positions all(runs.size());
  for (std::size_t at = 0; at < runs.size(); ++at) all[at] = at;
  errors.sets = groups_of(runs, split_by(runs, all, set_of));
  std::erase_if(all, [&](std::size_t at) { return runs[at].refused && runs[at].device.empty(); });
  for (const auto& [name, among] :
       split_by(runs, all, [](const PublishedPrediction& held) -> const std::string& { return held.device; }))
    errors.devices.push_back(device_group(name, runs, among));
  errors.runs = std::move(runs);
  return errors;
}

} // namespace ppsim
