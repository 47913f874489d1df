#include "ppsim/base/error.hpp"
#include "ppsim/traces/import.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace ppsim::test::simai_test {

using traces::Imported;
using traces::ImportFile;

namespace {

Imported import(std::string_view text, const traces::ImportOptions& options = {}) {
  const traces::ImportFormat* format = traces::find_import_format("simai");
  REQUIRE(format != nullptr);
  const ImportFile file{"in/workload.txt", text};
  return format->read({&file, 1}, options);
}

std::string value(const Imported& imported, std::string_view key) {
  const ScenarioDocument::Entry* const entry = imported.costs.find(key);
  return entry == nullptr ? std::string{} : entry->value;
}

std::string problem_of(std::string_view text, const traces::ImportOptions& options = {}) {
  try {
    (void)import(text, options);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.problems().front().where + ": " + error.problems().front().what;
  }
  return "no error";
}

// As AICB writes it, cut: 2 stages of 2 layers (which it writes as vpp), 2 microbatches.
constexpr std::string_view workload =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 2 vpp: 2 ga: 2 all_gpus: 9216 checkpoints: "
    "0 "
    "checkpoint_initiates: 0 pp_comm: 251658240.0\n"
    "17\n"
    "grad_gather\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLGATHER\t2807758848\t100\n"
    "grad_param_compute\t-1\t1\tNONE\t0\t29700224\tNONE\t0\t1\tNONE\t0\t100\n"
    "embedding_grads\t-1\t1\tNONE\t0\t1\tALLREDUCE\t50331648\t1\tNONE\t0\t100\n"
    "embedding_layer\t-1\t700000\tALLREDUCE\t50331648\t100\tNONE\t0\t15000000\tNONE\t0\t100\n"
    "attention_column\t-1\t1000000\tALLGATHER\t50331648\t2000000\tREDUCESCATTER\t0\t3000000\tNONE\t0\t100\n"
    "attention_row\t-1\t1000000\tREDUCESCATTER\t50331648\t2000000\tALLGATHER\t50331648\t3000000\tNONE\t0\t100\n"
    "mlp_moelayer\t-1\t8000000\tALLGATHER\t1572864\t8000000\tALLGATHER\t1572864\t1\tNONE\t0\t100\n"
    "attention_column\t-1\t1000000\tNONE\t0\t2000000\tNONE\t0\t3000000\tNONE\t0\t100\n"
    "mlp_moelayer\t-1\t4000000\tNONE\t0\t4000000\tNONE\t0\t1\tNONE\t0\t100\n"
    "final_column\t-1\t500000\tNONE\t0\t600000\tNONE\t0\t700000\tNONE\t0\t100\n"
    "embedding_layer\t-1\t900000\tNONE\t0\t100\tNONE\t0\t15000000\tNONE\t0\t100\n"
    "attention_column\t-1\t1000000\tNONE\t0\t2000000\tNONE\t0\t3000000\tNONE\t0\t100\n"
    "mlp_moelayer\t-1\t9000000\tNONE\t0\t10000000\tNONE\t0\t3000001\tNONE\t0\t100\n"
    "attention_column\t-1\t1000000\tNONE\t0\t2000000\tNONE\t0\t3000000\tNONE\t0\t100\n"
    "mlp_moelayer\t-1\t4000000\tNONE\t0\t4000000\tNONE\t0\t1\tNONE\t0\t100\n"
    "final_column\t-1\t500000\tNONE\t0\t600000\tNONE\t0\t700000\tNONE\t0\t100\n"
    "cross_entropy1\t-1\t1\tALLREDUCE\t4096\t1\tNONE\t0\t1\tNONE\t0\t100\n";

} // namespace

TEST_CASE("A workload of SimAI gives costs per chunk", "[import][simai]") {
  const Imported imported = import(workload);
  CHECK(value(imported, "stages") == "2");
  CHECK(value(imported, "vpp") == "2");
  CHECK(value(imported, "mb") == "2");
  CHECK(value(imported, "layers") == "4");
  // Both stages hold the two layers of the file; the embedding (0.8 ms on the mean) is of the first chunk alone, the
  // last layer's rows (0.5 ms) of the last.
  CHECK(value(imported, "forward") == R"(["10.8 ms", "10 ms", "5 ms", "5.5 ms"])");
  CHECK(value(imported, "input-grad") == R"(["12.0001 ms", "12 ms", "6 ms", "6.6 ms"])");
  CHECK(value(imported, "weight-grad") == R"(["21.000001 ms", "6.000001 ms", "3.000001 ms", "3.700001 ms"])");
  CHECK(value(imported, "boundary-bytes") == R"("251658240B")");
  const std::vector<traces::Dropped> expected{
      {"collectives of layers: only a network gives their bytes a time", 7},
      {"rows of the step (gradients, optimizer), which belong to no microbatch", 4}};
  CHECK(imported.dropped == expected);
  REQUIRE(imported.notes.size() == 1);
  CHECK(imported.notes[0].starts_with("vpp is 2 in the heading"));
}

TEST_CASE("A SimAI stage has the number of chunks in the options", "[import][simai]") {
  const Imported imported = import(workload, {.stages = {}, .vpp = 1, .progress = {}});
  CHECK(value(imported, "vpp") == "1");
  CHECK(value(imported, "forward") == R"(["15.8 ms", "15.5 ms"])");
  CHECK(imported.notes.empty());
}

TEST_CASE("An ASTRA-sim workload is a whole model, and its layers are distributed over the stages", "[import][simai]") {
  constexpr std::string_view text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n"
                                    "3\n"
                                    "layer_64_1 -1 1000 ALLREDUCE 8 2000 NONE 0 3000 NONE 0 5\n"
                                    "layer_64_2 -1 1000 NONE 0 2000 NONE 0 3000 NONE 0 5\n"
                                    "layer_64_3 -1 7000 NONE 0 8000 NONE 0 9000 NONE 0 5\r\n";
  const Imported imported = import(text, {.stages = 2, .vpp = {}, .progress = {}});
  CHECK(value(imported, "forward") == R"(["1 us", "8 us"])");
  CHECK(value(imported, "weight-grad") == R"(["3 us", "12 us"])");
  CHECK(value(imported, "layers") == "3");
  CHECK(value(imported, "boundary-bytes").empty());
  CHECK(problem_of(text) == "in/workload.txt:1: the heading does not say how many stages there are");
}

TEST_CASE("A workload without measured times has a note", "[import][simai]") {
  const Imported imported = import("HYBRID_TRANSFORMER_FWD_IN_BCKWD pp: 1 vpp: 1 ga: 1 pp_comm 0\n1\nattention_layer "
                                   "-1 1 NONE 0 1 NONE 0 1 NONE 0 100\n");
  REQUIRE(imported.notes.size() == 1);
  CHECK(imported.notes[0].starts_with("all times are 0 or 1 ns"));
}

TEST_CASE("Files that are not SimAI workloads are refused", "[import][simai]") {
  const std::string head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD pp: 2 vpp: 1 ga: 1\n";
  const std::string row = "attention_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 100\n";
  CHECK(problem_of("") == "in/workload.txt:1: the first line is not the heading of a workload");
  CHECK(problem_of("MICRO\n1\n" + row) == "in/workload.txt:1: this is a workload of collectives only (MICRO)");
  CHECK(problem_of(head + "2\n" + row) == "in/workload.txt:2: says that there are 2 rows, but there are 1");
  CHECK(problem_of(head + "1\n" + row + row) ==
        "in/workload.txt:2: says that there are 1 rows, but there are 2 or more");
  CHECK(problem_of(head + "1\nlayer -1 1 NONE 0 1\n") == "in/workload.txt:3: a row has fewer than 12 columns");
  CHECK(problem_of(head + "1\nlayer -1 -5 NONE 0 1 NONE 0 1 NONE 0 100\n") ==
        "in/workload.txt:3: '-5' is not a whole number from 0 to 86400000000");
  CHECK(problem_of("HYBRID_TRANSFORMER pp: 4096 vpp: 4096 ga: 1\n1\n" + row) ==
        "in/workload.txt:1: 4096 stages with 4096 chunks and 1 microbatches are too many, or none");
  CHECK(problem_of("HYBRID_TRANSFORMER pp: 1 pp: 2\n1\n" + row) == "in/workload.txt:1: 'pp' appears twice");
  CHECK(problem_of(head + "1\nembedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 100\n") ==
        "in/workload.txt:2: there is no layer row");
}

} // namespace ppsim::test::simai_test
