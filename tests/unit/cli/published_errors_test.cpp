// The runs of traces/published/: how far off predictions of them may be, set by set.

#include "ppsim/base/error.hpp"
#include "ppsim/study/evaluate.hpp"
#include "support/golden.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "cli/options/commands.hpp"
#include "cli/runs/validating.hpp"

namespace ppsim::test::published_errors_test {

using namespace ppsim::cli;

namespace {

/// What holds today, rounded up: in per cent, of step times and, where it is known, of memory.
struct Bounds {
  std::string_view set;
  std::size_t runs;
  std::size_t refused;
  double median, worst;
  double memory_median = 0, memory_worst = 0;
};
constexpr std::array bounds_of_sets{Bounds{"K", 7, 0, 4, 10},
                                    Bounds{"N1", 6, 0, 4, 10},
                                    Bounds{"N2", 7, 0, 4, 10},
                                    Bounds{"Z-1f1b", 12, 0, 4, 10, 4, 8},
                                    Bounds{"Z-1f1bi", 12, 0, 5, 10, 4, 8},
                                    Bounds{"Z-zb1", 12, 0, 4, 10, 4, 8},
                                    Bounds{"Z-zb2", 12, 0, 4, 10, 4, 8},
                                    Bounds{"H", 5, 0, 4, 10},
                                    Bounds{"B", 4, 0, 8, 8},
                                    Bounds{"S", 2, 0, 4, 4},
                                    Bounds{"V", 40, 0, 6, 45},
                                    Bounds{"VS", 358, 0, 8, 37}};

PublishedErrors validated(const std::string& path, const std::string& threads) {
  return validate_published(parse_arguments(find_command("validate"), {"--published", path, "--threads", threads}));
}

Rows row_faults(const Rows& arguments, const std::string& folder = ".") {
  return refusal_of([&] { (void)parse_run_arguments(arguments, folder); }).lines;
}

} // namespace

TEST_CASE("Published step times and memory are predicted within the bounds of their set") {
  const PublishedErrors errors = validated(source_path("traces/published/runs.csv").string(), "2");
  CHECK(errors.sets.size() == bounds_of_sets.size());
  for (const Bounds& bounds : bounds_of_sets) {
    const auto set = std::ranges::find(errors.sets, bounds.set, &PublishedGroup::name);
    REQUIRE(set != errors.sets.end());
    INFO(bounds.set);
    CHECK(set->step.runs + set->refused == bounds.runs);
    CHECK(set->refused <= bounds.refused);
    CHECK(100 * set->step.median <= bounds.median);
    CHECK(100 * std::abs(errors.runs[set->step.worst].error()) <= bounds.worst);
    CHECK((set->peak.runs > 0) == (bounds.memory_worst > 0));
    if (set->peak.runs == 0) continue;
    CHECK(100 * set->peak.median <= bounds.memory_median);
    CHECK(100 * std::abs(errors.runs[set->peak.worst].peak_error().value()) <= bounds.memory_worst);
    CHECK(set->fit.runs >= set->check.runs); // in turn, the first one to fit
  }
}

TEST_CASE("Published runs fit in memory: all runs of the table, and DeepSeek-V3") {
  const PublishedErrors errors = validated(source_path("traces/published/runs.csv").string(), "2");
  for (const PublishedPrediction& held : errors.runs) {
    INFO(held.run.name);
    CHECK(held.fits);
  }
  // arXiv 2412.19437: sections 3.2 (2048 H800 of 80 GB, 16 stages, experts over 64, ZeRO 1, DualPipe), 3.2.3 (norms and
  // up-projections are recomputed), 3.3.1 and 3.3.3 (fp8, SwiGLU recomputed, moments in bf16), 4.2 (15360 sequences).
  Rows deepseek{"--model",
                "deepseek-v3",
                "--device",
                "h100",
                "--stages",
                "16",
                "--mb",
                "120",
                "--first-stage-layers",
                "3",
                "--last-stage-layers",
                "2",
                "--schedule",
                "dualpipe",
                "--expert-parallel",
                "64",
                "--data-parallel",
                "128",
                "--data-type",
                "fp8",
                "--optimizer-bytes-per-parameter",
                "8",
                "--recompute",
                "selective",
                "--recompute-modules",
                "layernorm,mla_up_proj,mlp_act,moe_act"};
  CHECK_FALSE(evaluate(parse_run_arguments(deepseek, ".")).report.overflow);
  deepseek.resize(deepseek.size() - 4);
  CHECK(evaluate(parse_run_arguments(deepseek, ".")).report.overflow);
}

TEST_CASE("Arguments of a table's row describe the run, and name only model and device files") {
  const std::string folder = source_path("docs").string();
  const Inputs inputs = parse_run_arguments({"--stages", "2", "--mb", "4", "--model", "examples/model.toml", "--device",
                                             "examples/device.toml", "--title", "a row"},
                                            folder);
  CHECK(inputs.model_shape.has_value());
  CHECK(inputs.device_sheet.has_value());
  CHECK(inputs.model == folder + "/examples/model.toml");
  CHECK(parse_run_arguments({"--model", source_path("docs/examples/model.toml").string()}, "elsewhere").model_shape);
  for (const Rows& arguments :
       {Rows{"--json"}, Rows{"--svg", "x.svg"}, Rows{"--scenario", "x.toml"}, Rows{"--scenario", "-"},
        Rows{"--schedule-file", "x.csv"}, Rows{"--csv=x.csv"}, Rows{"--chakra", "x"}, Rows{"--tasks"}})
    CHECK(row_faults(arguments).front().find("cannot be in a table of runs") != std::string::npos);
  CHECK(row_faults({"--model", "-"}).front().find("cannot be in a table of runs") != std::string::npos);
  CHECK(row_faults({"-o", "x"}).size() == 1);
  CHECK(row_faults({"--help"}).size() == 1);
  CHECK(row_faults({"--stages", "two", "--svg", "x.svg"}).size() == 1); // nothing is read or set before
}

} // namespace ppsim::test::published_errors_test
