// compare --vary, from the command line to where the best changes; and how NAME=FROM..TO is read.

#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/vary.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/options/axis.hpp"
#include "cli/options/commands.hpp"

namespace ppsim::test::vary_test {

using namespace ppsim::cli;
using ppsim::test::Rows;

namespace {

Varied vary_flags(const Rows& flags, std::size_t threads = 1) {
  const Inputs inputs = parse_arguments(find_command("compare"), flags);
  VaryOptions options{.points = inputs.points.value_or(0), .threads = threads};
  if (inputs.precision) CHECK_FALSE(parse_step(*inputs.precision, *inputs.vary, options.precision));
  return vary(inputs, options);
}

/// The values around which the first stops being no slower than the second; -1 where they do not change places.
std::pair<std::int64_t, std::int64_t> crossing(const Variation& variation, const std::string& first,
                                               const std::string& second) {
  for (const Crossing& crossing : variation.crossings)
    if (variation.lines[crossing.first].name == first && variation.lines[crossing.second].name == second)
      return {crossing.until, crossing.from};
  return {-1, -1};
}

using Ends = std::pair<std::int64_t, std::int64_t>;

Axis axis_of(std::string_view text) {
  Axis axis;
  const auto wrong = parse_axis(text, axis);
  INFO(text);
  CHECK((wrong ? wrong->what : "") == "");
  return axis;
}

} // namespace

TEST_CASE("With any latency 1F1B is slower than GPipe, which waits for transfers only to fill and to drain") {
  // 2 stages, 3 microbatches, F 1 ms, B 2 ms: GPipe (3+1) 3 ms + 2 (2-1) c = 12 ms + 2 c. In 1F1B the third forward
  // waits for the first backward, which came over: another round trip, 12 ms + 4 c.
  const Variation variation = vary_flags({"--stages", "2", "--mb", "3", "--vary", "comm=0..1ms", "--schedules",
                                          "gpipe,1f1b", "--precision", "1ns", "--points", "3"})
                                  .variation;
  CHECK(crossing(variation, "1f1b", "gpipe") == Ends{0, 1});
  REQUIRE(variation.lines.size() == 2);
  CHECK(variation.lines[0].samples[1]->step_time == Duration{13'000'000}); // c = 0.5 ms
  CHECK(variation.lines[1].samples[1]->step_time == Duration{14'000'000});
}

TEST_CASE("Named values are the points, and no others are tried") {
  const Variation variation = vary_flags({"--stages", "4", "--mb", "8", "--vary", "comm=1ms,0..800us:+400us",
                                          "--schedules", "gpipe,1f1b,interleaved"},
                                         2)
                                  .variation;
  CHECK(variation.points == std::vector<std::int64_t>{0, 400'000, 800'000, 1'000'000});
  REQUIRE(variation.best.size() == 3);
  CHECK(variation.best[0].to == 0); // interleaved with 4 chunks is the best up to 140.625 us
  CHECK(variation.best[1].from == 400'000);
  CHECK(variation.best[1].to == 400'000);
  CHECK(variation.best[2].from == 800'000);
  CHECK(crossing(variation, "interleaved v=4", "gpipe") == Ends{0, 400'000});
}

TEST_CASE("With jitter, lines use the requested figure, by default the mean, and unsampled runs have none") {
  const Rows flags{
      "--stages", "2", "--mb",     "4",   "--vary",    "comm=0..1ms", "--schedules", "gpipe,1f1b,pipedream",
      "--points", "2", "--jitter", "10%", "--samples", "50"};
  const auto with = [&](const Rows& more) {
    Rows all = flags;
    all.insert(all.end(), more.begin(), more.end());
    return vary_flags(all, 2).variation;
  };
  const Variation mean = with({});
  const Variation p95 = with({"--rank-by", "p95"});
  CHECK(mean.figure == StepFigure::mean);
  CHECK(p95.figure == StepFigure::p95);
  REQUIRE(p95.lines.size() == 2);
  RunSpec spec;
  spec.stages = 2;
  spec.microbatches = 4;
  spec.schedule = "1f1b";
  spec.comm = {Duration{1'000'000}};
  spec.jitter_ppm = 100'000;
  spec.samples = 50;
  Evaluation run = evaluate(spec);
  sample_steps(spec, run);
  CHECK(p95.lines[1].samples[1]->step_time == run.report.spread->p95);
  CHECK(mean.lines[1].samples[1]->step_time == run.report.spread->mean);
  CHECK(with({"--rank-by", "step-time"}).lines.size() == 3);
}

TEST_CASE("With latency more virtual stages become slower than fewer") {
  // While 1F1B's own waits hide the steady state's transfers, interleaved takes m T + (p-1) T / v + 2 (p v - 1) c: at
  // p = 4, m = 8, T = 3 ms 28.5 ms + 14 c with 2 chunks, 26.25 ms + 30 c with 4: equal at 2.25 ms / 16 = 140625 ns.
  const Variation variation = vary_flags({"--stages", "4", "--mb", "8", "--vary", "comm=0..1ms", "--schedules",
                                          "interleaved", "--vpp", "2,4", "--precision", "1ns"})
                                  .variation;
  CHECK(crossing(variation, "interleaved v=4", "interleaved v=2") == Ends{140'625, 140'626});
  REQUIRE(variation.best.size() == 2);
  CHECK(variation.best[0] == BestStretch{0, 140'625, 1}); // kept while they are equal
  CHECK(variation.best[1] == BestStretch{140'626, 1'000'000, 0});
}

TEST_CASE("A varied memory limit applies to orders made for it, and decides what fits of the others") {
  const Rows flags{"--stages",
                   "4",
                   "--mb",
                   "8",
                   "--activation-bytes",
                   "1GiB",
                   "--vary",
                   "memory-limit=1GiB..9GiB",
                   "--schedules",
                   "1f1b,zb-auto",
                   "--precision",
                   "1GiB"};
  const Variation variation = vary_flags(flags).variation;
  REQUIRE(variation.points.size() == 9);
  REQUIRE(variation.lines.size() == 2);
  const auto& fixed = variation.lines[0].samples;
  const auto& searched = variation.lines[1].samples;
  CHECK_FALSE(fixed[2]->fits); // 1F1B holds 4 activations of 1 GiB on stage 0
  CHECK(fixed[3]->fits);
  for (std::size_t i = 0; i < searched.size(); ++i)
    if (searched[i]) CHECK(searched[i]->peak_bytes.count() <= variation.points[i]);
  REQUIRE(searched[1].has_value());
  CHECK(searched[3]->step_time < searched[1]->step_time); // more room, less bubble
}

TEST_CASE("A variation of schedules does not depend on the number of threads, and says why one never applies") {
  const Rows flags{"--stages",         "2",        "--mb", "3",           "--vary",
                   "forward=1ms..2ms", "--points", "4",    "--schedules", "gpipe,1f1b,chimera,zb-auto"};
  const Varied one = vary_flags(flags, 1);
  const Varied four = vary_flags(flags, 4);
  CHECK(one.variation.best == four.variation.best);
  CHECK(one.variation.crossings == four.variation.crossings);
  REQUIRE(one.variation.lines.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(one.variation.lines[i].samples == four.variation.lines[i].samples);
  REQUIRE(one.notes.size() == 2);
  CHECK(one.notes.front() == "`backward`: not given, using 2 ms");
  CHECK(one.notes.back().starts_with("chimera does not apply: `mb`: must be even"));
}

TEST_CASE("A variation reports notes at both ends of its range once, with their schedules") {
  const Rows flags{"--stages", "4", "--mb",  "8", "--forward", "1ms,1ms,1ms,2ms", "--schedules", "gpipe,1f1b,dualpipe",
                   "--points", "3", "--vary"};
  const auto notes = [&](const std::string& varied, const Rows& more) {
    Rows all = flags;
    all.push_back(varied);
    all.insert(all.end(), more.begin(), more.end());
    return vary_flags(all, 2).notes;
  };
  const Rows of_dualpipe{"`forward`: values are per chunk, but here each chunk runs on two stages, one per direction: "
                         "no value is that of one device (dualpipe)"};
  CHECK(notes("comm=1us..1ms", {"--backward", "2ms"}) == of_dualpipe);
  CHECK(notes("comm=0..1ms", {"--backward", "2ms"}) == of_dualpipe); // "transfers take no time" applies only at 0
  CHECK(notes("backward=1ms..2ms", {"--boundary-bytes", "1MB"}) ==
        Rows{"`boundary-bytes`: without `bandwidth` sizes take no time; they only count as volume", of_dualpipe[0]});
}

TEST_CASE("A field is set to the number that its flag parses") {
  struct FieldText {
    std::string_view field, text;
    std::int64_t number;
    std::vector<std::string> more{};
  };
  const std::vector<FieldText> all{
      {"forward", "2ms", 2'000'000},
      {"mb", "16", 16},
      {"vpp", "4", 4},
      {"comm-slowdown", "1.5", 1'500'000, {"--transfer", "streams", "--comm", "1ms"}},
      {"pair", "0.5", 500'000, {"--schedule", "dualpipe"}},
      {"memory-limit", "1GiB", 1 << 30, {"--activation-bytes", "1GiB"}},
      {"inter-node-bandwidth", "1GB/s", 1'000'000'000, {"--stages-per-node", "2", "--boundary-bytes", "1MB"}},
      {"efficiency", "0.5", 500'000, {"--model", "llama-3-8b", "--device", "h100"}},
      {"optimizer-bytes-per-parameter", "8", 8, {"--model", "llama-3-8b", "--device", "h100"}},
  };
  const auto report_of = [](const RunSpec& spec) {
    const Evaluation run = evaluate(spec);
    return std::tuple{run.report.step_time, run.report.stages.front().peak_bytes(), run.report.overflow.has_value()};
  };
  for (const FieldText& said : all) {
    INFO(said.field);
    Rows flags{"--stages", "4"};
    if (said.field != "mb") flags.insert(flags.end(), {"--mb", "8"});
    flags.insert(flags.end(), said.more.begin(), said.more.end());
    RunSpec set = parse_arguments(find_command("simulate"), flags);
    find_run_field(said.field)->set(set, said.number);
    if (said.field != "mb") CHECK(report_of(set) != report_of(parse_arguments(find_command("simulate"), flags)));
    flags.insert(flags.end(), {fmt::format("--{}", said.field), std::string{said.text}});
    CHECK(report_of(set) == report_of(parse_arguments(find_command("simulate"), flags)));
  }
}

TEST_CASE("The lines of a variation stay the same where the number of layers per stage changes") {
  const Inputs inputs = parse_arguments(find_command("compare"), {"--mb", "8", "--layers", "40", "--schedules",
                                                                  "interleaved,1f1b", "--vary", "stages=2..8"});
  const Variation variation = vary(inputs, {.threads = 2}).variation;
  REQUIRE(variation.lines.size() == 3);
  CHECK(variation.lines.back().name == "interleaved v=4");
}

TEST_CASE("Of equals the best is the one that needs least memory, and a quantity without effect is reported") {
  const Inputs inputs =
      parse_arguments(find_command("compare"), {"--stages", "4", "--mb", "8", "--activation-bytes", "1GiB",
                                                "--schedules", "gpipe,1f1b", "--vary", "pair=0.7..1", "--points", "3"});
  const Varied varied = vary(inputs, {});
  REQUIRE(varied.variation.best.size() == 1);
  CHECK(varied.variation.lines.at(varied.variation.best.front().line.value()).name == "1f1b");
  CHECK(varied.notes == Rows{"`vary`: `pair` changes no schedule's step time in this range"});
}

TEST_CASE("An axis has its option's unit and name") {
  const Axis comm = axis_of("comm=0..2ms");
  CHECK(comm.unit == Axis::Unit::time);
  CHECK(comm.to == 2'000'000);
  CHECK(axis_of("microbatches=8..256").option == "mb");
  CHECK(axis_of("mb=8..256").unit == Axis::Unit::count);
  const Axis limit = axis_of("memory-limit=0..80GiB");
  CHECK(limit.unit == Axis::Unit::bytes);
  CHECK(limit.to == std::int64_t{80} << 30);
  const Axis pair = axis_of("pair=1..2");
  CHECK(pair.unit == Axis::Unit::factor);
  CHECK(pair.to == 2'000'000);
  const Axis rate = axis_of("bandwidth=8Gbit/s..50GB/s");
  CHECK(rate.unit == Axis::Unit::rate);
  CHECK(rate.from == 1'000'000'000);
}

TEST_CASE("Exactly the options with a number can vary") {
  for (const Option& option : options()) {
    Inputs scratch;
    const bool is_file = !option.set(scratch, "folder/file"); // so is "1B/s" one
    const bool is_text = is_file || (!option.set(scratch, "1ns") && !option.set(scratch, "1B"));
    const bool is_of_run = option.section != Section::workload && option.section != Section::planning;
    const bool is_number = is_scenario_key(option) && is_of_run && !is_text &&
                           std::ranges::any_of(Rows{"1ns", "1B", "1B/s", "1"},
                                               [&](const std::string& number) { return !option.set(scratch, number); });
    Axis axis;
    bool varies = false;
    for (const std::string range : {"1ns..2ns", "1B..2B", "1B/s..2B/s", "1..2", "0.5..1"})
      varies |= !parse_axis(std::string{option.name} + "=" + range, axis);
    INFO(option.name);
    // A measured step is fitted once, before anything varies.
    CHECK(varies == (is_number && option.name != "measured-step"));
  }
}

} // namespace ppsim::test::vary_test
