// Every row of a sweep equals simulate with the same options, at any number of threads.

#include "ppsim/base/error.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/sweep.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cli/files/sweep_table.hpp"
#include "cli/options/commands.hpp"
#include <rapidcheck.h>

namespace ppsim::test::sweep_property {

using namespace ppsim::cli;

namespace {

using Words = std::vector<std::string>;

struct RandomAxis {
  std::string option;
  Words values;
};

std::vector<RandomAxis> all_axes() {
  return {{"mb", {"4", "6", "12"}},
          {"schedule", {"1f1b", "gpipe", "zb-h1", "zb-v", "interleaved", "dualpipe", "pipedream"}},
          {"vpp", {"1", "2", "3"}},
          {"comm", {"0ns", "40us", "3ms"}},
          {"transfer", {"latency", "link", "blocking", "streams"}},
          {"memory-limit", {"8GiB", "20GiB"}},
          {"pair", {"sum", "0.8"}},
          {"overhead", {"0ns", "10us"}},
          {"recompute", {"none", "full"}}};
}

/// Up to three axes in any order, each with up to three of its values.
std::vector<RandomAxis> draw_axes() {
  std::vector<RandomAxis> all = all_axes();
  std::vector<RandomAxis> axes;
  for (int count = *rc::gen::inRange(1, 4); count > 0; --count) {
    const auto drawn = all.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(all));
    RandomAxis axis = std::move(*drawn);
    all.erase(drawn);
    while (axis.values.size() > 3)
      axis.values.erase(axis.values.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(axis.values)));
    axes.push_back(std::move(axis));
  }
  return axes;
}

/// The values of the axes in the order of a sweep, as flags of simulate.
std::vector<Words> points_by_hand(const std::vector<RandomAxis>& axes) {
  std::vector<Words> points{{}};
  for (const RandomAxis& axis : axes) {
    std::vector<Words> longer;
    for (const Words& point : points)
      for (const std::string& value : axis.values) {
        longer.push_back(point);
        longer.back().insert(longer.back().end(), {"--" + axis.option, value});
      }
    points = std::move(longer);
  }
  return points;
}

std::string simulated(Words flags, const Words& point) {
  flags.insert(flags.end(), point.begin(), point.end());
  try {
    const RunReport report = evaluate(parse_arguments(find_command("simulate"), flags)).report;
    return fmt::format("{} {} {} {}", report.step_time.count(), report.bubble_ratio, report.peak_bytes().count(),
                       report.overflow.has_value());
  } catch (const Error& error) {
    return reason_of(error);
  }
}

std::string swept(const SweepRow& row) {
  if (!row.figures) return row.error;
  return fmt::format("{} {} {} {}", row.figures->step_time.count(), row.figures->bubble_ratio,
                     row.figures->peak.value_or(Bytes{0}).count(), row.figures->fits == false);
}

std::string table_of(const Inputs& inputs, std::size_t threads) {
  const SweepLines lines{inputs.grid, TableForm::csv};
  std::string table;
  sweep(
      0, inputs.grid.points(), threads, [&](std::size_t point) { return inputs_at(inputs, point); },
      [&](std::size_t first, std::span<const SweepRow> rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) table += lines.row(first + i, rows[i]);
        return true;
      });
  return table;
}

} // namespace

TEST_CASE("A row of a sweep equals the result of simulate with its options") {
  rc::prop("each row, in order, is that of the point counted by hand", [] {
    const std::vector<RandomAxis> axes = draw_axes();
    Words base{"--stages", "4", "--activation-bytes", "2GiB"};
    if (std::ranges::find(axes, "mb", &RandomAxis::option) == axes.end()) base.insert(base.end(), {"--mb", "6"});
    Words flags = base;
    for (const RandomAxis& axis : axes) {
      std::string values;
      for (const std::string& value : axis.values) values += (values.empty() ? "" : ",") + value;
      flags.insert(flags.end(), {"--vary", axis.option + "=" + values});
    }
    const Inputs inputs = parse_arguments(find_command("sweep"), flags);
    const std::vector<Words> points = points_by_hand(axes);
    RC_ASSERT(inputs.grid.points() == points.size());
    std::size_t due = 0;
    sweep(
        0, points.size(), 2, [&](std::size_t point) { return inputs_at(inputs, point); },
        [&](std::size_t first, std::span<const SweepRow> rows) {
          RC_ASSERT(first == due);
          for (const SweepRow& row : rows) RC_ASSERT(swept(row) == simulated(base, points[due++]));
          return true;
        });
    RC_ASSERT(due == points.size());
    RC_ASSERT(table_of(inputs, 1) == table_of(inputs, 3));
  });
}

} // namespace ppsim::test::sweep_property
