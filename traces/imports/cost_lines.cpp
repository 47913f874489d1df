// Costs as a scenario file, for example:
//   source = "trace.csv"
//   # Mean of 256 runs each. Spread: 1.2 ms, 1.3 ms. Drift over the steps: +3.6 %, +3.8 %
//   forward = ["65.3 ms", "64.2 ms"]

#include "ppsim/base/words.hpp"
#include "ppsim/measured/cost_model.hpp"
#include "ppsim/traces/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

namespace ppsim::traces {
namespace {

/// "a, b", with `render` applied to each value.
template <class Values, class Render>
std::string listed(const Values& values, Render render) {
  return joined(std::views::transform(values, render), ", ");
}

std::string percent(double share) {
  const double shown = 100 * share;
  return fmt::format("{:+.1f} %", shown > -0.05 && shown < 0.05 ? 0.0 : shown);
}

/// Spread and drift of one figure per chunk or boundary.
std::string describe(const std::vector<Statistic>& statistics) {
  const auto [fewest, most] = std::ranges::minmax(statistics, {}, &Statistic::runs);
  std::string text = fewest.runs == most.runs ? fmt::format("{} runs each", most.runs)
                                              : fmt::format("{} to {} runs", fewest.runs, most.runs);
  text += "; spread " + listed(statistics, [](const Statistic& each) { return format_duration(each.spread); });
  if (std::ranges::any_of(statistics, [](const Statistic& each) { return each.drift != 0; }))
    text += "; drift over the steps " + listed(statistics, [](const Statistic& each) { return percent(each.drift); });
  return text;
}

class Lines {
public:
  Lines(const CostModel& model, CostForm form)
      : model_{model}, scenario_{scenario_of(model, form == CostForm::by_microbatch)}, form_{form} {}

  ScenarioDocument make() {
    add_shape();
    add_passes();
    add_transfers();
    if (model_.optimizer.runs > 0)
      document_.add("optimizer", toml_time(model_.optimizer.mean),
                    "Of the slowest stage: " + describe({model_.optimizer}));
    if (model_.pair.kind != PairRule::Kind::sum)
      document_.add("pair", toml_string(to_string(model_.pair)), "As the recorded pairs ran");
    if (!model_.peak.empty())
      document_.add_comment("Peak memory by stage: " +
                            listed(model_.peak, [](Bytes bytes) { return format_closely(bytes); }));
    document_.add("measured.run", toml_string(model_.run), "The run that these costs are from, for 'ppsim validate'");
    return std::move(document_);
  }

private:
  void add_shape() {
    const Shape& shape = model_.shape;
    document_.add("stages", shape.stages);
    document_.add("mb", shape.microbatches);
    if (shape.vpp > 1) document_.add("vpp", shape.vpp);
    if (model_.schedule.empty())
      document_.add_comment("No schedule by name has the order of this run; the run file has it");
    else
      document_.add("schedule", toml_string(model_.schedule));
  }

  [[nodiscard]] std::vector<Statistic> of_chunks(Statistic ChunkStatistics::*pass) const {
    std::vector<Statistic> statistics;
    statistics.reserve(model_.chunks.size());
    for (const ChunkStatistics& chunk : model_.chunks) statistics.push_back(chunk.*pass);
    return statistics;
  }

  void add_pass(std::string key, const std::vector<Duration>& by_chunk, const std::vector<Duration>& by_microbatch,
                Statistic ChunkStatistics::*pass) {
    const std::string described = describe(of_chunks(pass));
    if (form_ == CostForm::mean_stage) {
      const WithoutEnds found = without_ends(by_chunk, model_, pass);
      document_.add(std::move(key), toml_time(static_cast<std::int64_t>(model_.shape.vpp) * found.chunk),
                    fmt::format("Of the mean stage; by chunk: {}", described));
      (pass == &ChunkStatistics::forward ? first_.front() : first_.back()) += found.first;
      (pass == &ChunkStatistics::forward ? last_.front() : last_.back()) += found.last;
      return;
    }
    const bool by_chunks = form_ == CostForm::by_chunk;
    document_.add(
        std::move(key), toml_list(by_chunks ? by_chunk : by_microbatch, toml_time),
        fmt::format("{} {}", by_chunks ? "Means by chunk:" : "Means of each chunk's microbatches:", described));
  }

  /// The extra time of the ends compared with the mean stage: forward, then backward.
  void add_ends() {
    const auto takes_time = [](const std::vector<Duration>& times) { return times != std::vector<Duration>(2); };
    if (takes_time(first_))
      document_.add("embedding", toml_list(first_, toml_time), "What the first chunk takes beyond that");
    if (takes_time(last_)) document_.add("head", toml_list(last_, toml_time), "What the last chunk takes beyond that");
  }

  void add_passes() {
    const Costs& costs = scenario_.costs;
    add_pass("forward", costs.forward, costs.forward_by_microbatch, &ChunkStatistics::forward);
    const auto seen = [&](Statistic ChunkStatistics::*pass) {
      return std::ranges::any_of(model_.chunks, [&](const ChunkStatistics& chunk) { return (chunk.*pass).runs > 0; });
    };
    if (seen(&ChunkStatistics::input_grad)) {
      add_pass("input-grad", costs.input_grad, costs.input_grad_by_microbatch, &ChunkStatistics::input_grad);
      add_pass("weight-grad", costs.weight_grad, costs.weight_grad_by_microbatch, &ChunkStatistics::weight_grad);
    } else if (seen(&ChunkStatistics::backward)) {
      const auto whole = [](std::vector<Duration> input, const std::vector<Duration>& weight) {
        for (std::size_t i = 0; i < weight.size(); ++i) input[i] += weight[i];
        return input;
      };
      add_pass("backward", whole(costs.input_grad, costs.weight_grad),
               whole(costs.input_grad_by_microbatch, costs.weight_grad_by_microbatch), &ChunkStatistics::backward);
    } else {
      document_.add("forward-only", "true", "No backward was recorded");
    }
    add_ends();
  }

  /// Boundaries with transfers, none of which was recorded.
  [[nodiscard]] std::vector<std::size_t> unknown_boundaries() const {
    std::vector<std::size_t> unknown;
    for (std::size_t boundary = 0; boundary < model_.transfers.size(); ++boundary)
      if (model_.transfers[boundary].runs == 0 && model_.unrecorded[boundary] > 0) unknown.push_back(boundary);
    return unknown;
  }

  void add_transfers() {
    const bool any = std::ranges::any_of(model_.transfers, [](const Statistic& each) { return each.runs > 0; });
    const std::vector<std::size_t> unknown = unknown_boundaries();
    std::string described = any ? describe(model_.transfers) : std::string{};
    if (const auto lost = std::reduce(model_.unrecorded.begin(), model_.unrecorded.end()); lost > 0)
      described += fmt::format("; {} were not recorded", lost);
    if (!any) {
      if (!unknown.empty()) document_.add_comment("No transfer was recorded, so comm is not known: give --comm");
    } else if (form_ == CostForm::mean_stage) {
      document_.add(
          "comm", toml_time(mean_transfer()),
          fmt::format("The mean of all boundaries between stages, using the lowest quarter of each: {}", described));
    } else if (!unknown.empty()) {
      document_.add_comment(fmt::format("No transfer of {} {} between chunks was recorded, so comm lacks a value: give "
                                        "--comm (the mean of the others: {})",
                                        unknown.size() == 1 ? "boundary" : "boundaries", joined(unknown, ", "),
                                        format_closely(mean_transfer())));
    } else {
      document_.add(
          "comm", toml_list(scenario_.network.latency, toml_time),
          fmt::format("By boundary between chunks, using the lowest quarter of both directions: {}", described));
    }
    if (any && model_.transfer != TransferModel::latency)
      document_.add("transfer", toml_string(to_string(model_.transfer)), "As the recorded stages sent");
  }

  [[nodiscard]] Duration mean_transfer() const {
    std::int64_t sum = 0;
    std::int64_t boundaries = 0;
    for (const Statistic& boundary : model_.transfers) {
      if (boundary.runs == 0) continue;
      sum += boundary.mean.count();
      ++boundaries;
    }
    return Duration{divide_rounded(sum, std::max(boundaries, std::int64_t{1}))};
  }

  const CostModel& model_;
  Scenario scenario_;
  CostForm form_;
  std::vector<Duration> first_ = std::vector<Duration>(2); ///< in addition to the mean stage: forward, backward
  std::vector<Duration> last_ = std::vector<Duration>(2);  ///< as above
  ScenarioDocument document_;
};

} // namespace

ScenarioDocument cost_lines(const CostModel& model, CostForm form) {
  return Lines{model, form}.make();
}

} // namespace ppsim::traces
