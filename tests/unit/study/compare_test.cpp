// Compare: which runs take part in a comparison, what is said to each, what becomes of those that do not apply, and
// what is wrong with the inputs themselves.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/viz/comparison.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/options/commands.hpp"
#include <unistd.h>

namespace ppsim::test::compare_test {

using namespace ppsim::cli;
using ppsim::test::refusal_of;
using ppsim::test::Rows;

namespace {

Inputs parse(Rows arguments) {
  return parse_arguments(find_command("compare"), arguments);
}

/// On 4 stages with 8 microbatches.
Inputs on_four(Rows arguments) {
  arguments.insert(arguments.begin(), {"--stages", "4", "--mb", "8"});
  return parse(arguments);
}

Rows names(const std::vector<Candidate>& list) {
  Rows words;
  for (const Candidate& candidate : list) words.push_back(candidate.name);
  return words;
}

const Candidate& named(const std::vector<Candidate>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Candidate::name);
  REQUIRE(found != list.end());
  return *found;
}

std::string reason(const ComparedRuns& compared, std::string_view name) {
  for (const NotApplicable& other : compared.comparison.not_applicable)
    if (other.name == name) return other.reason;
  return "applies";
}

Rows faults(const Rows& arguments) {
  return refusal_of([&] { (void)compare(parse(arguments), 2); }).lines;
}

/// A file that is gone with its test.
struct TemporaryFile {
  std::filesystem::path path;
  TemporaryFile(const std::string& name, std::string_view content)
      : path{std::filesystem::temp_directory_path() / ("ppsim-compare-" + std::to_string(::getpid()) + "-" + name)} {
    std::ofstream{path, std::ios::binary} << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path); }
};

} // namespace

// ---- Candidates

TEST_CASE("Every schedule is included, with 2 and 4 chunks per stage if it has a choice") {
  const std::vector<Candidate> list = candidates(on_four({}));
  Rows expected;
  for (const Generator* generator : generators())
    for (const std::string chunks : {" v=2", " v=4"}) {
      const bool chooses = generator->vpp.multiple > 0 && generator->vpp.matters;
      if (chooses || chunks == " v=2") expected.push_back(std::string{generator->name} + (chooses ? chunks : ""));
    }
  CHECK(names(list) == expected);
  CHECK(named(list, "interleaved v=4").fields == "`schedule` interleaved `vpp` 4");
  CHECK(named(list, "zb-v").fields == "`schedule` zb-v");
}

TEST_CASE("If the layers of a stage are known, numbers of chunks that divide them are tried") {
  const std::vector<Candidate> list = candidates(on_four({"--layers", "40", "--schedules", "interleaved,hanayo"}));
  CHECK(names(list) == Rows{"interleaved v=2", "interleaved v=5", "interleaved v=10", "hanayo v=2", "hanayo v=10"});
  CHECK(names(candidates(on_four({"--layers", "42", "--schedules", "interleaved"}))) ==
        Rows{"interleaved v=2", "interleaved v=4"});
}

TEST_CASE("A layout fixes the number of chunks, and `vpp` cannot change it") {
  CHECK(faults({"--stages", "2", "--mb", "4", "--layout", "Et|t|t|tL", "--vpp", "3"}) ==
        Rows{"`vpp`: the layout has 2 chunks per stage -- leave `vpp` or the layout out"});
}

TEST_CASE("The flag `vpp` applies to schedules with a choice, and flags of others to those") {
  const std::vector<Candidate> list = candidates(on_four({"--schedules", "interleaved,zb-v", "--vpp", "1,3"}));
  CHECK(names(list) == Rows{"interleaved v=1", "interleaved v=3", "zb-v"});
  CHECK(named(list, "interleaved v=3").fields == "`schedule` interleaved `vpp` 3");
  CHECK(named(list, "zb-v").fields == "`schedule` zb-v `vpp` 2");
  CHECK(names(candidates(on_four({"--schedules", "interleaved", "--vpp", "3"}))) == Rows{"interleaved"});
}

TEST_CASE("The flag `schedules` selects schedules, in the order of the list") {
  CHECK(names(candidates(on_four({"--schedules", "zb-v, gpipe"}))) == Rows{"gpipe", "zb-v"});
  CHECK(refusal_of([] {
          (void)on_four({"--schedules", "gpipe,1f1b,gpipe"});
        }).lines == Rows{"`schedules`: 'gpipe' appears twice -- name each schedule once"});
  CHECK(refusal_of([] {
          (void)on_four({"--schedules", "gpipe,zbv"});
        }).lines == Rows{"`schedules`: unknown schedule 'zbv' -- did you mean 'zb-v'?"});
}

TEST_CASE("An option of single schedules applies only to those") {
  const std::vector<Candidate> list = candidates(on_four({"--group-size", "8", "--activation-limit", "9"}));
  CHECK(named(list, "interleaved v=2").spec.group_size == std::optional<std::size_t>{8});
  CHECK(!named(list, "interleaved v=2").spec.activation_limit);
  CHECK(!named(list, "gpipe").spec.group_size);
  CHECK(named(list, "zb-auto").spec.activation_limit == std::optional<std::size_t>{9});
  CHECK(compare(on_four({"--group-size", "8", "--schedules", "interleaved,gpipe"}), 1).comparison.contenders.size() ==
        3);
}

TEST_CASE("A flag that no schedule accepts is refused, and in a scenario file it may be for any schedule") {
  CHECK(faults({"--stages", "4", "--mb", "8", "--schedules", "1f1b,gpipe", "--group-size", "4", "--vpp", "2,4"}) ==
        Rows{"`group-size`: none of the schedules compared takes it -- leave it out",
             "`vpp`: none of the schedules compared can choose its chunks per stage -- leave it out"});
  CHECK(faults({"--stages", "4", "--mb", "8", "--vpp", "2,4,2"}) ==
        Rows{"`vpp`: 2 appears twice -- name each number once"});
  const TemporaryFile file{"s.toml", "stages = 4\nmb = 8\nvpp = 2\ngroup-size = 4\nschedule = \"interleaved\"\n"};
  const Inputs inputs = parse({"--scenario", file.path.string(), "--schedules", "1f1b,gpipe"});
  CHECK(names(candidates(inputs)) == Rows{"gpipe", "1f1b"});
  CHECK(compare(inputs, 1).comparison.not_applicable.empty());
}

TEST_CASE("The schedule of a scenario file is one of the candidates, and compare has no option `schedule`") {
  const TemporaryFile file{"one.toml", "stages = 4\nmb = 8\nschedule = \"gpipe\"\n"};
  CHECK(candidates(parse({"--scenario", file.path.string()})).size() == candidates(on_four({})).size());
  CHECK(refusal_of([] {
          (void)on_four({"--schedule", "gpipe"});
        }).lines == Rows{"'--schedule': is not an option of 'compare' -- did you mean --schedules?"});
}

TEST_CASE("A schedule file is the first candidate, and its shape applies to all") {
  const TemporaryFile file{"order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"};
  const Inputs inputs = parse(
      {"--schedule-file", file.path.string(), "--schedules", "gpipe,interleaved", "--vpp", "1,2", "--group-size", "2"});
  const std::vector<Candidate> list = candidates(inputs);
  CHECK(names(list) == Rows{file.path.string(), "gpipe", "interleaved v=1", "interleaved v=2"});
  CHECK(list[0].fields == "`schedule-file` " + file.path.string());
  const ComparedRuns compared = compare(inputs, 1);
  CHECK(compared.comparison.stages == 2);
  CHECK(compared.comparison.microbatches == 2);
  CHECK(compared.comparison.contenders.size() == 4);
  CHECK(compared.comparison.not_applicable.empty());
}

// ---- What becomes of them

TEST_CASE("A schedule that refuses the inputs does not apply, for its reason and with its remedy") {
  const ComparedRuns compared = compare(parse({"--stages", "4", "--mb", "6"}), 2);
  CHECK(reason(compared, "dualpipe-v") == "`mb`: must be at least 2p = 8 here, got 6 (8 is the nearest)");
  CHECK(reason(compared, "1f1b") == "applies");
}

TEST_CASE("An order that deadlocks under the transfer model does not apply") {
  const ComparedRuns compared = compare(on_four({"--transfer", "blocking", "--comm", "1us"}), 2);
  CHECK(reason(compared, "1f1b") == "applies");
  CHECK(reason(compared, "interleaved v=2").find("deadlock") != std::string::npos);
  CHECK(viz::recommendation_text(compared.comparison).ends_with("--transfer latency admits them."));
}

TEST_CASE("Costs per chunk are for the schedules with as many chunks") {
  const ComparedRuns compared = compare(on_four({"--forward", "1ms,1ms,1ms,2ms", "--backward", "2ms"}), 1);
  CHECK(reason(compared, "1f1b") == "applies");
  CHECK(reason(compared, "zb-v").find("4 values for 8 chunks") != std::string::npos);
}

TEST_CASE("Problems of the inputs themselves are reported once, whatever single schedules refuse") {
  CHECK(faults({"--mb", "3"}) ==
        Rows{"`stages`: missing -- how many pipeline stages (devices) are there? for example `stages` 4"});
  CHECK(faults({"--stages", "4", "--mb", "3", "--comm", "1ms", "--latency", "1us", "--memory-limit", "9GiB"}) ==
        Rows{"`comm`: given together with `latency` -- give `comm`, or `latency` with `bandwidth` and `boundary-bytes`",
             "`memory-limit`: no memory is known that could exceed it -- give `activation-bytes`, and "
             "`parameter-bytes`, `gradient-bytes`, `optimizer-bytes` if they matter, or `model`"});
  CHECK(faults({"--stages", "4", "--mb", "8", "--forward", "1ms,2ms,3ms", "--backward", "1ms"}) ==
        Rows{"`forward`: 3 values for 4 chunks -- give one value (for a stage), 4 (P*V = 4 * 1, one per chunk) or 32 "
             "(P*V*M, one per microbatch, chunk by chunk)"});
}

TEST_CASE("If each schedule has its own reason, all are named") {
  CHECK(faults({"--stages", "4", "--mb", "3", "--schedules", "dualpipe,chimera"}) ==
        Rows{"dualpipe: `mb`: must be at least 2p = 8 here, got 3 -- 8 is the nearest",
             "chimera: `mb`: must be even here (half of the microbatches go each way), got 3 -- 2 and 4 are the "
             "nearest to 3"});
  CHECK(faults({"--stages", "4", "--mb", "3", "--schedules", "dualpipe"}) ==
        Rows{"`mb`: must be at least 2p = 8 here, got 3 -- 8 is the nearest"});
  CHECK(refusal_of([] {
          (void)compare(on_four({"--schedules", "interleaved", "--transfer", "blocking", "--comm", "1us"}), 1);
        }).code == ExitCode::no);
}

TEST_CASE("A note is given once, with its candidates unless it applies to all") {
  const ComparedRuns all = compare(on_four({"--forward", "1ms", "--comm", "1us", "--schedules", "1f1b,zb-h1"}), 1);
  CHECK(all.notes == Rows{"`backward`: not given, using 2 ms"});
  const ComparedRuns some = compare(on_four({"--comm", "1us", "--schedules", "1f1b,zb-h1", "--activation-bytes", "2GiB",
                                             "--weight-activation-bytes", "1GiB"}),
                                    1);
  CHECK(some.notes == Rows{"`weight-activation-bytes`: changes nothing, as no backward is split (1f1b)"});
}

TEST_CASE("If the winner depends on how pairs overlap, a note names the command for the other rule") {
  const auto notes = [](std::string_view model, const Rows& flags) {
    Rows arguments{"--stages", "16", "--mb", "32", "--device", "h100", "--schedules", "1f1b,dualpipe"};
    arguments.insert(arguments.end(), {"--model", std::string{model}});
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return compare(parse(arguments), 1).notes;
  };
  // All-to-all takes more than half of a MoE layer's F and I here, and nothing where all experts are on a device.
  const Rows spread{"--expert-parallel", "64", "--data-parallel", "64"};
  const Rows said = notes("deepseek-v3", spread);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("`pair`: not given, using sum"));
  CHECK(said[0].find("'ppsim compare --stages 16 --mb 32 --device h100 --schedules 1f1b,dualpipe --model deepseek-v3 "
                     "--expert-parallel 64 --data-parallel 64 `pair` hide'") != std::string::npos);
  CHECK(said[0].ends_with("(dualpipe)")); // 1f1b has no pairs
  CHECK(notes("deepseek-v3", {"--data-parallel", "64"}).empty());
  CHECK(notes("deepseek-v3", {"--expert-parallel", "64", "--data-parallel", "64", "--pair", "sum"}).empty());
}

TEST_CASE("A note says that transfers are free, if there are any") {
  const auto notes = [](const Rows& arguments) { return compare(parse(arguments), 1).notes.size(); };
  CHECK(notes({"--stages", "2", "--mb", "4"}) == 1);
  CHECK(notes({"--stages", "2", "--mb", "4", "--comm", "1us"}) == 0);
  CHECK(notes({"--stages", "1", "--mb", "4"}) == 0);
}

TEST_CASE("The title of a comparison comes from its scenario") {
  const Comparison comparison = compare(on_four({"--title", "mine", "--source", "a guess", "--transfer", "link",
                                                 "--activation-bytes", "1GiB", "--memory-limit", "4GiB"}),
                                        2)
                                    .comparison;
  CHECK(comparison.title == "mine");
  CHECK(comparison.source == "a guess; forward and backward are the defaults");
  CHECK(comparison.stages == 4);
  CHECK(comparison.microbatches == 8);
  CHECK(comparison.transfer_model == TransferModel::link);
  CHECK(comparison.memory_limit == parse_bytes("4GiB"));
  CHECK(comparison.knows_memory);
  CHECK(!compare(on_four({}), 1).comparison.knows_memory);
}

} // namespace ppsim::test::compare_test
