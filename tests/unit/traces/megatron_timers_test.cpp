// Costs from Megatron-LM's timers.

#include "ppsim/traces/import.hpp"
#include "support/measured.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace ppsim::test::megatron_timers_test {

namespace {

std::string megatron(std::string_view text, traces::ImportOptions options = {}) {
  const traces::ImportFile file{"train.log", text};
  return traces::find_import_format("megatron-timers")->read({&file, 1}, options).costs.text();
}

const std::string arguments = "------------------------ arguments ------------------------\n"
                              "  data_parallel_size .............................. 1\n"
                              "  global_batch_size ............................... 8\n"
                              "  micro_batch_size ................................ 2\n"
                              "  pipeline_model_parallel_size .................... 2\n"
                              "  virtual_pipeline_model_parallel_size ............ None\n";
const std::string setup = "(min, max) time across ranks (ms):\n"
                          "    model-and-optimizer-setup ......................: (1345.37, 1359.59)\n"
                          "training ...\n";
const std::string minmax = "(min, max) time across ranks (ms):\n"
                           "    forward-compute ................................: (400.00, 800.00)\n"
                           "    backward-compute ...............................: (1000.00, 1200.00)\n"
                           "    forward-recv ...................................: (1.00, 2.00)\n"
                           "    optimizer ......................................: (10.00, 12.50)\n"
                           " [2024-04-04 09:09:27] iteration        2/     10 | consumed samples:           16 |\n";
const std::string all = "times across ranks (ms):\n"
                        "  forward-compute:\n"
                        "     rank  0: 400.00\n"
                        "     rank  1: 800.00\n"
                        "  backward-compute:\n"
                        "     rank  0: 1000.00\n"
                        "     rank  1: 1200.00\n"
                        "  batch-generator:\n"
                        "     rank  0: 3.00\n";

} // namespace

TEST_CASE("Megatron-LM's timers of all ranks become costs by stage and microbatch") {
  CHECK(megatron(arguments + setup + all + all) ==
        "stages = 2\n"
        "mb = 4\n"
        "# Megatron-LM's\n"
        "schedule = \"1f1b\"\n"
        "# forward-compute by stage, over 2 logged intervals, 4 microbatches\n"
        "forward = [\"100 ms\", \"200 ms\"]\n"
        "# backward-compute by stage, over 2 logged intervals, 4 microbatches\n"
        "backward = [\"250 ms\", \"300 ms\"]\n");
}

TEST_CASE("For extremes over all ranks, Megatron-LM's timers give the middle, with a note") {
  const std::string text = megatron(arguments + setup + minmax);
  CHECK(text.find("# forward-compute: halfway between the fastest rank, 100.000 ms, and the slowest, 200.000 "
                  "ms\nforward = \"150 ms\"\n") != std::string::npos);
  CHECK(text.find("optimizer = \"12.5 ms\"\n") != std::string::npos);
  const std::string log = arguments + setup + minmax;
  const traces::ImportFile file{"train.log", log};
  const traces::Imported imported = traces::find_import_format("megatron-timers")->read({&file, 1}, {});
  CHECK(imported.runs.empty());
  CHECK(imported.notes.size() == 2);
  CHECK(imported.dropped == std::vector<traces::Dropped>{{"timer forward-recv", 1},
                                                         {"timer model-and-optimizer-setup outside of iterations", 1}});
}

TEST_CASE("Megatron-LM's timers of the slowest rank, with a launcher's text before them and CRLF") {
  const std::string log = arguments + "0: max time across ranks (ms):\r\n"
                                      "0:     forward-compute ................................: 800.00\r\n"
                                      "0:     backward-compute ...............................: 1200.00\r\n";
  CHECK(megatron(log).find("forward = \"200 ms\"\n") != std::string::npos);
}

TEST_CASE("Interleaved stages of Megatron-LM divide their timers over their chunks") {
  const std::string text = megatron(arguments + all, {.stages = {}, .vpp = 2, .progress = {}});
  CHECK(text.find("forward = [\"50 ms\", \"100 ms\", \"50 ms\", \"100 ms\"]\n") != std::string::npos);
  CHECK(text.find("schedule = \"interleaved\"\n") != std::string::npos);
}

TEST_CASE("Arguments missing in Megatron-LM's log come from the options") {
  const std::string said = megatron(all, {.stages = 2, .vpp = {}, .microbatches = 4, .progress = {}});
  CHECK(said == megatron(arguments + all));
  const auto with_mb = [](const std::string& log, std::size_t mb) {
    return refusal_of([&] { (void)megatron(log, {.stages = {}, .vpp = {}, .microbatches = mb, .progress = {}}); })
        .first();
  };
  CHECK(with_mb(arguments + all, 4) == "nothing was refused");
  CHECK(with_mb(arguments + all, 8) == "train.log: --mb says 8 microbatches, but the log says 4 -- leave --mb out");
  CHECK(with_mb(arguments + all, std::size_t{1} << 62).starts_with("train.log: --mb says 4611686018427387904 "));
}

TEST_CASE("Missing and contradictory parts of Megatron-LM's log are named") {
  const auto refusal = [](const std::string& text) { return refusal_of([&] { (void)megatron(text); }).first(); };
  CHECK(refusal(arguments + setup) == "train.log: no block of timers has forward-compute -- run Megatron-LM with "
                                      "--timing-log-level 2");
  CHECK(refusal(minmax) ==
        "train.log: the log does not say how many stages there are -- give --stages, 1 to 4096, or a log with the "
        "arguments that Megatron-LM prints at its start (pipeline_model_parallel_size)");
  CHECK(refusal("  pipeline_model_parallel_size .... 2\n" + minmax)
            .starts_with("train.log: the log does not say how many microbatches there are -- give --mb, "));
  std::string broken = arguments + minmax;
  broken.replace(broken.find("(400.00"), 7, "(nan   ");
  CHECK(refusal(broken).starts_with("train.log:8: '    forward-compute"));
  broken = arguments + all;
  broken.replace(broken.find("rank  1"), 7, "rank 9999999999999");
  CHECK(refusal(broken).find("is not a timer's time") != std::string::npos);
}

} // namespace ppsim::test::megatron_timers_test
