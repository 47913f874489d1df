// Profiles of the PyTorch profiler: which task ran when on which stage, from annotations, kernels and process groups.

#include "ppsim/engine/simulate.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/measured/cost_model.hpp"
#include "support/golden.hpp"
#include "support/gzip.hpp"
#include "support/kineto_reading.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/imports/kineto/json_windows.hpp"

namespace ppsim::test::kineto_test {

using namespace ppsim::traces;

namespace {

/// A rank that runs F and B of one chunk on one microbatch, from `ts` on.
std::string one_rank(int rank, int chunk, const std::string& groups = "", double ts = 100) {
  KinetoFile file{
      fmt::format(R"({{"backend": "nccl", "rank": {}, "world_size": 8, "pg_config": [{}]}})", rank, groups)};
  const std::string forward = fmt::format("PP:{}F0", chunk);
  const std::string backward = fmt::format("PP:{}B0", chunk);
  file.annotation(forward, ts, 5, 1).annotation(backward, ts + 10, 5, 2);
  file.gpu_annotation(forward, ts + 20, 10, 1).gpu_annotation(backward, ts + 40, 20, 2);
  return file.text();
}

} // namespace

TEST_CASE(
    "Ranks of the pipeline that have no file are named, and without process groups those of the job are counted") {
  const auto note = [](const std::vector<std::string>& texts) {
    const Recorded recorded = read_all(texts);
    const auto found = std::ranges::find_if(
        recorded.notes, [](const std::string& each) { return each.find("missing") != std::string::npos; });
    return found == recorded.notes.end() ? std::string{} : *found;
  };
  const std::string pipeline = R"({"pg_desc": "mesh_pp", "ranks": [0, 4]})";
  const std::string remedy = "that work is missing from the run and its costs; give a file for each rank";
  CHECK(note({one_rank(0, 0, pipeline)}) == "rank 4 of the same pipeline has no file: " + remedy);
  CHECK(note({one_rank(2, 1, R"({"pg_desc": "PIPELINE_MODEL_PARALLEL_GROUP", "ranks": [0, 2, 4]})")}) ==
        "2 ranks of the same pipeline have no file (0, 4): " + remedy);
  CHECK(note({one_rank(0, 0, pipeline), one_rank(4, 1, pipeline)}).empty()); // other replicas may be left out
  CHECK(note({one_rank(0, 0), one_rank(1, 1)}) ==
        "the job had 8 ranks, and 2 of them have a file: if others ran stages of the same pipeline, " + remedy);
}

TEST_CASE("Microseconds become nanoseconds without losing a digit") {
  CHECK(microseconds("1682725898125052.123") == 1682725898125052123);
  CHECK(microseconds("4458677009853.422") == 4458677009853422);
  CHECK(microseconds("92.804") == 92804);
  CHECK(microseconds("7") == 7000);
  CHECK(microseconds("0.0005") == 1);
  CHECK(microseconds("0.00049999") == 0);
  CHECK(microseconds("1.5e3") == 1500000);
  CHECK(microseconds("4000000000000000") == 4000000000000000000);
  for (const char* text : {"", "-1", "4000000000000001", "1.", ".5", "nan", "1e300", "12x", "99999999999999999999999"})
    CHECK(microseconds(text) == std::nullopt);
}

TEST_CASE("Action names are PyTorch's") {
  using Kind = PpAction::Kind;
  CHECK(parse_pp_action("0F3") == PpAction{Kind::task, make_task(Pass::forward, 0, 3)});
  CHECK(parse_pp_action("12B107") == PpAction{Kind::task, make_task(Pass::backward, 12, 107)});
  CHECK(parse_pp_action("1I2") == PpAction{Kind::task, make_task(Pass::input_grad, 1, 2)});
  CHECK(parse_pp_action("1W2") == PpAction{Kind::task, make_task(Pass::weight_grad, 1, 2)});
  CHECK(parse_pp_action("1SEND_F0") == PpAction{Kind::send, make_task(Pass::forward, 1, 0)});
  CHECK(parse_pp_action("0RECV_B2") == PpAction{Kind::receive, make_task(Pass::backward, 0, 2)});
  CHECK(parse_pp_action("3REDUCE_GRAD") == PpAction{Kind::reduction, make_task(Pass::backward, 3, 0)});
  const std::optional<PpAction> pair = parse_pp_action("(0F7;7B3)OVERLAP_F_B");
  REQUIRE(pair);
  CHECK(is_pair(*pair));
  CHECK(pair->task == Task{make_id<MicrobatchId>(7), 0, Pass::forward, Pairing::first});
  CHECK(pair->second == Task{make_id<MicrobatchId>(3), 7, Pass::backward, Pairing::second});
  CHECK(is_pair(parse_pp_action("(7I3;0F7)OVERLAP_F_B").value()));
  CHECK(parse_pp_action("2UNSHARD")->kind == Kind::shard);
  for (const char* text : {"()OVERLAP_F_B",
                           "(0F7)OVERLAP_F_B",
                           "(0F7;1F7)OVERLAP_F_B",
                           "(0F7;1W3)OVERLAP_F_B",
                           "(0F7;1B3;1B4)OVERLAP_F_B",
                           "(0SEND_F7;1B3)OVERLAP_F_B",
                           ")OVERLAP_F_B",
                           "(OVERLAP_F_B",
                           "",
                           "F0",
                           "0F",
                           "0",
                           "0X1",
                           "0F1x",
                           "-1F0",
                           "0F-1",
                           "0SEND_F",
                           "2UNSHARD1",
                           "70000F0",
                           "0F4000000000",
                           "99999999999999999999F0"})
    CHECK(parse_pp_action(text) == std::nullopt);
}

TEST_CASE("A task has the extent of its GPU annotation, without the nanosecond that Kineto adds at both ends") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 5, 11).annotation("PP:0B0", 110, 5, 12);
  file.gpu_annotation("PP:0F0", 120.5, 30.25, 11).gpu_annotation("PP:0B0", 160, 60, 12);
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 2);
  CHECK(recorded.tasks[0].task == make_task(Pass::forward, 0, 0));
  CHECK(recorded.tasks[0].start == 120500);
  CHECK(recorded.tasks[0].end == 150750);
  CHECK(recorded.tasks[1].start == 160000);
  CHECK(recorded.tasks[1].end == 220000);
  CHECK_FALSE(recorded.one_clock);
  CHECK(recorded.facts.machine == "NVIDIA A100");
}

TEST_CASE("Times are exact with a base time, and with absolute times of seventeen digits") {
  KinetoFile based{R"({"rank": 0})", "1748000000000000001"};
  based.annotation("PP:0F0", 100, 5, 1).gpu_annotation("PP:0F0", 200.125, 10, 1);
  CHECK(read(based).tasks.at(0).start == 1748000000000200126);
  KinetoFile absolute;
  absolute.event("user_annotation", "PP:0F0", "1682725898125052.001", "2.000");
  absolute.event("gpu_user_annotation", "PP:0F0", "1682725898125060.123", "7.000");
  CHECK(read(absolute).tasks.at(0).start == 1682725898125060124);
  CHECK(read(absolute).tasks.at(0).end == 1682725898125067122);
}

TEST_CASE("Without GPU annotations, a task spans the kernels launched inside its annotation") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1).annotation("PP:0B0", 120, 10, 2);
  file.launch(99, 1).launch(101, 2).launch(109, 3).launch(115, 4).launch(121, 5);
  file.kernel("before", 150, 10, 1).kernel("first", 200, 10, 2).kernel("last", 230, 10, 3);
  file.kernel("between", 245, 5, 4).kernel("backward", 250, 40, 5);
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 2);
  CHECK(recorded.tasks[0].start == 200000);
  CHECK(recorded.tasks[0].end == 240000);
  CHECK(recorded.tasks[1].start == 250000);
  CHECK(recorded.tasks[1].end == 290000);
  CHECK(recorded.notes.size() == 1); // steps were distinguished by actions only
}

TEST_CASE("An overlapped pair is two tasks that share its time in proportion to their times alone") {
  const auto import = [](const std::vector<std::pair<const char*, int>>& tasks) {
    KinetoFile file;
    int id = 0;
    double at = 1000;
    for (const auto& [name, length] : tasks) {
      ++id;
      file.annotation(name, 10 * id, 5, id).gpu_annotation(name, at, length, id);
      at += length;
    }
    const std::string text = file.text();
    const std::vector<ImportFile> files{{"rank0.json", text}};
    return find_import_format("kineto")->read(files, {});
  };
  const auto lengths = [](const Imported& imported) {
    std::vector<std::int64_t> found;
    for (const Span& span : imported.runs.at(0).steps.at(0).tasks) found.push_back(span.length().count() / 1000);
    return found;
  };
  using Lengths = std::vector<std::int64_t>;
  const Imported whole =
      import({{"PP:0F0", 100}, {"PP:(0F1;0B0)OVERLAP_F_B", 240}, {"PP:(0B1;0F2)OVERLAP_F_B", 240}, {"PP:0B2", 200}});
  CHECK(lengths(whole) == Lengths{100, 80, 160, 160, 80, 200});
  CHECK(whole.runs[0].schedule.tasks()[1].pairing == Pairing::first);
  // It took less than both alone: costs are of those.
  const CostModel model = cost_model(whole.runs[0], 0, 1);
  CHECK(model.pair == PairRule{PairRule::Kind::factor, 800'000});
  CHECK(model.chunks[0].forward.mean == std::chrono::microseconds{100});
  CHECK(model.chunks[0].backward.mean == std::chrono::microseconds{200});
  CHECK(model.chunks[0].forward_by_microbatch[1] == std::chrono::microseconds{100}); // it ran in a pair alone
  const TaskGraph again = lower(whole.runs[0].schedule, scenario_of(model));
  CHECK(tasks_end(again, simulate(again)) == SimTime{std::chrono::microseconds{780}});
  CHECK(std::ranges::count(whole.notes, "only the whole of 2 overlapped pairs was recorded: each half gets the share "
                                        "that its pass has of both when they run alone") == 1);
  const Imported split = import({{"PP:0F0", 100},
                                 {"PP:0I0", 150},
                                 {"PP:0W0", 250},
                                 {"PP:0F1", 100},
                                 {"PP:(0F2;0I1)OVERLAP_F_B", 250},
                                 {"PP:0W1", 250},
                                 {"PP:0I2", 150},
                                 {"PP:0W2", 250}});
  CHECK(lengths(split) == Lengths{100, 150, 250, 100, 100, 150, 250, 150, 250});
  CHECK(cost_model(split.runs[0], 0, 1).pair.kind == PairRule::Kind::serial);
}

TEST_CASE("With unknown labels no step is complete, and missing files are not blamed") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 5, 1).annotation("PP:0F1", 110, 5, 2);
  file.annotation("PP:(0B0;0X0)NEW", 120, 5, 3).annotation("PP:0B1", 130, 5, 4);
  const std::string text = file.text();
  const std::vector<ImportFile> files{{"rank0.json", text}};
  try {
    (void)find_import_format("kineto")->read(files, {});
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.problems().front().hint ==
          "the files have 1 PP: labels with an unknown action: record a schedule without them");
  }
}

TEST_CASE("A task that launches nothing takes no time, when its input had arrived") {
  // The partial backward of a first stage: the processor runs ahead, so that its times are those of the forwards.
  KinetoFile file;
  file.annotation("PP:0F0", 100, 5, 1).gpu_annotation("PP:0F0", 1000, 1000, 1);
  file.annotation("PP:0F1", 110, 5, 2).gpu_annotation("PP:0F1", 2000, 1000, 2);
  file.annotation("PP:0RECV_B0", 120, 5, 3).gpu_annotation("PP:0RECV_B0", 3200, 1000, 3, 24);
  file.annotation("PP:0I0", 130, 5, 4);
  file.annotation("PP:0W0", 140, 5, 5).gpu_annotation("PP:0W0", 5200, 1000, 5);
  file.annotation("PP:0I1", 150, 5, 6);
  file.annotation("PP:0W1", 160, 5, 7).gpu_annotation("PP:0W1", 7200, 1000, 7);
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 6);
  CHECK(recorded.tasks[2].task == make_task(Pass::input_grad, 0, 0));
  CHECK(recorded.tasks[2].start == 4'200'000);
  CHECK(recorded.tasks[2].end == 4'200'000);
  CHECK(recorded.tasks[4].task == make_task(Pass::input_grad, 0, 1));
  CHECK(recorded.tasks[4].start == 7'200'000); // what it received was not seen
  CHECK(recorded.tasks[4].end == 7'200'000);
  CHECK(std::ranges::count(recorded.notes,
                           "tasks that launched no kernel take no time, and lie between their neighbours (2)") == 1);
}

TEST_CASE("Collectives that overlap the next task do not make a task longer") {
  KinetoFile file;
  file.annotation("PP:0F0", 1, 1, 1).annotation("PP:0F1", 3, 1, 2).annotation("PP:0B0", 5, 1, 3);
  file.gpu_annotation("PP:0F0", 10, 10, 1).gpu_annotation("PP:0F1", 20, 10, 2).gpu_annotation("PP:0B0", 30, 10, 3);
  file.gpu_annotation("PP:0F0", 12, 100, 1, 40); // a reduction on a stream of its own
  const Recorded recorded = read(file);
  CHECK(recorded.tasks.at(0).start == 10000);
  CHECK(recorded.tasks.at(0).end == 20000);
}

TEST_CASE("Sends and receives have their kernels, in both generations of NCCL") {
  const char* const kernels[] = {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                                 "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"};
  for (const char* name : kernels) {
    KinetoFile file;
    file.annotation("PP:1RECV_F0", 90, 5, 3).annotation("PP:1F0", 100, 10, 1).annotation("PP:1SEND_F0", 120, 5, 2);
    file.gpu_annotation("PP:1F0", 150, 10, 1);
    file.launch(91, 31).launch(121, 32);
    file.kernel(name, 140, 10, 31, 20,
                R"(, "Collective name": "recv", "In msg nelems": 0, "Out msg nelems": 4096, "dtype": "BFloat16")");
    file.kernel(name, 160, 20.5, 32, 24,
                R"(, "Collective name": "send", "In msg nelems": 4096, "Out msg nelems": 4096, "dtype": "Float")");
    const Recorded recorded = read(file);
    REQUIRE(recorded.transfers.size() == 2);
    const TransferEvent& receive = recorded.transfers[0];
    CHECK_FALSE(receive.is_send);
    CHECK(receive.task == make_task(Pass::forward, 1, 0));
    const TransferEvent& send = recorded.transfers[1];
    CHECK(send.is_send);
    CHECK(send.start == 160000);
    CHECK(send.end == 180500);
  }
}

TEST_CASE("A copy under a send's annotation is not part of the transfer") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1).annotation("PP:0SEND_F0", 120, 5, 2);
  file.gpu_annotation("PP:0F0", 150, 10, 1).gpu_annotation("PP:0SEND_F0", 160, 3, 2, 7);
  file.gpu_annotation("PP:0SEND_F0", 170, 30, 2, 20);
  file.launch(121, 1).launch(122, 2);
  file.event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", "160.000", "3.000", R"("correlation": 1, "stream": 7)");
  file.kernel("ncclDevKernel_SendRecv(...)", 170, 30, 2, 20);
  const Recorded recorded = read(file);
  REQUIRE(recorded.transfers.size() == 1);
  CHECK(recorded.transfers[0].start == 170000);
  CHECK(recorded.transfers[0].end == 200000);
}

TEST_CASE("An all-to-all that runs as SendRecv is not a send") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1).annotation("PP:0SEND_F0", 120, 5, 2).gpu_annotation("PP:0F0", 150, 10, 1);
  file.launch(101, 1).launch(121, 2);
  file.kernel("ncclDevKernel_SendRecv(...)", 152, 3, 1, 20, R"(, "Collective name": "all_to_allv", "dtype": "Float")");
  file.kernel("ncclDevKernel_SendRecv(...)", 160, 3, 2, 20, R"(, "Collective name": "alltoall", "dtype": "Float")");
  const Recorded recorded = read(file);
  CHECK(recorded.transfers.empty());
  CHECK(dropped(recorded, "NCCL kernels named SendRecv of collectives (all-to-all)") == 2);
  CHECK(dropped(recorded, "sends and receives without a kernel") == 1);
}

TEST_CASE("Steps come from the profiler") {
  KinetoFile file;
  for (int step = 0; step < 3; ++step) {
    const double at = 1000.0 * step;
    file.annotation(fmt::format("ProfilerStep#{}", step + 5), at, 900, 0);
    file.annotation("PP:0F0", at + 10, 10, 10 + step).annotation("PP:0B0", at + 30, 10, 20 + step);
    file.gpu_annotation("PP:0F0", at + 100, 10, 10 + step).gpu_annotation("PP:0B0", at + 920, 10, 20 + step);
  }
  file.annotation("PP:0F0", 2950, 10, 99); // after the last step
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(recorded.tasks[i].step == static_cast<std::int64_t>(5 + i / 2));
  CHECK(dropped(recorded, "actions outside of every ProfilerStep") == 1);
}

TEST_CASE("Without the profiler's steps, a step begins when an action is repeated") {
  KinetoFile file;
  for (int step = 0; step < 2; ++step) {
    const double at = 1000.0 * step;
    file.annotation("PP:0RECV_B0", at + 5, 1, 30 + step); // it comes first, and belongs to the new step
    file.gpu_annotation("PP:0RECV_B0", at + 90, 5, 30 + step, 20);
    file.annotation("PP:0F0", at + 10, 10, 10 + step).gpu_annotation("PP:0F0", at + 100, 10, 10 + step);
  }
  const Recorded recorded = read(file);
  CHECK(recorded.tasks.at(0).step == 0);
  CHECK(recorded.tasks.at(1).step == 1);
  CHECK(recorded.transfers.at(1).step == 1);
}

TEST_CASE("Two steps of a schedule in one profiler step stay two") {
  KinetoFile file;
  file.annotation("ProfilerStep#3", 0, 5000, 0);
  for (int step = 0; step < 2; ++step) file.annotation("PP:0F0", 1000.0 * step + 10, 10, 10 + step);
  const Recorded recorded = read(file);
  CHECK(recorded.tasks.at(0).step == 0);
  CHECK(recorded.tasks.at(1).step == 1);
}

TEST_CASE("An optimizer per chunk does not make a step") {
  for (const bool profiled : {true, false}) {
    KinetoFile file;
    for (int step = 0; step < 2; ++step) {
      const double at = 1000.0 * step;
      if (profiled) file.annotation(fmt::format("ProfilerStep#{}", step + 3), at, 900, 0);
      for (int i = 0; const char* name : {"PP:0F0", "PP:2F0", "PP:2B0", "PP:0B0", "Optimizer.step#Adam.step",
                                          "Optimizer.step#Adam.step"}) {
        const int id = 1 + 10 * step + i++;
        file.annotation(name, at + 10 * id, 5, id).gpu_annotation(name, at + 10 * id, 5, id);
      }
    }
    const Recorded recorded = read(file);
    REQUIRE(recorded.updates.size() == 4);
    const std::int64_t first = profiled ? 3 : 0;
    for (std::size_t i = 0; i < 4; ++i) CHECK(recorded.updates[i].step == first + static_cast<std::int64_t>(i / 2));
    CHECK(recorded.tasks.back().step == first + 1);
    CHECK(recorded.notes.size() == (profiled ? 0 : 1));
  }
}

TEST_CASE("A profile that begins within a step gives the later steps") {
  KinetoFile file;
  int id = 0;
  for (const char* name :
       {"PP:0B0", "PP:0F2", "PP:0B1", "PP:0B2", "PP:0F0", "PP:0F1", "PP:0B0", "PP:0F2", "PP:0B1", "PP:0B2"}) {
    ++id;
    file.annotation(name, 10.0 * id, 5, id).gpu_annotation(name, 10.0 * id, 5, id);
  }
  const Recorded recorded = read(file);
  REQUIRE(recorded.tasks.size() == 6);
  CHECK(recorded.tasks.front().task == make_task(Pass::forward, 0, 0));
  CHECK(std::ranges::all_of(recorded.tasks, [](const TaskEvent& event) { return event.step == 0; }));
  CHECK(dropped(recorded, "actions of a step that began before the recording") == 4);
}

TEST_CASE("Stages have the order of their chunks, whatever the ranks") {
  const Recorded recorded = read_all({one_rank(3, 0), one_rank(1, 2), one_rank(0, 1)});
  REQUIRE(recorded.tasks.size() == 6);
  for (const TaskEvent& event : recorded.tasks) {
    CHECK(event.stage == event.task.chunk_index);
    CHECK(event.replica == 0);
  }
}

TEST_CASE("Ranks with the same chunks are replicas, each with its pipeline's process group") {
  const std::string first = R"({"pg_name": "1", "pg_desc": "mesh_pp", "pg_size": 2, "ranks": [0, 3]})";
  const std::string second = R"({"pg_name": "1", "pg_desc": "mesh_pp", "pg_size": 2, "ranks": [1, 2]})";
  const Recorded recorded = read_all({one_rank(0, 0, first, 100), one_rank(1, 0, second, 200),
                                      one_rank(2, 1, second, 300), one_rank(3, 1, first, 400)});
  REQUIRE(recorded.tasks.size() == 8);
  for (const TaskEvent& event : recorded.tasks) { // rank 2 is of rank 1's pipeline, though it is the first of its stage
    const bool is_second = event.start >= 200'000 && event.start < 400'000;
    CHECK(event.replica == (is_second ? 1 : 0));
  }
  const Recorded without = read_all({one_rank(0, 0), one_rank(1, 0), one_rank(2, 1), one_rank(3, 1)});
  CHECK(without.tasks.back().replica == 1);
  CHECK(std::ranges::any_of(
      without.notes, [](const std::string& note) { return note.find("data-parallel replicas") != std::string::npos; }));
}

TEST_CASE("Of tensor-parallel peers, the lowest rank is read") {
  const std::string low = R"({"pg_name": "2", "pg_desc": "mesh_tp", "ranks": [0, 1]})";
  const std::string high = R"({"pg_name": "2", "pg_desc": "mesh_tp", "ranks": [2, 3]})";
  const std::string flat = R"({"pg_name": "5", "pg_desc": "mesh_dp_shard_cp", "ranks": [0, 2]})";
  const Recorded recorded = read_all({one_rank(0, 0, low + ", " + flat), one_rank(1, 0, low),
                                      one_rank(2, 0, high + ", " + flat), one_rank(3, 0, high)});
  CHECK(recorded.tasks.size() == 4);
  CHECK(recorded.tasks.back().replica == 1);
  CHECK(dropped(recorded, "ranks that work on the same microbatches as a lower one (tensor, context)") == 2);
}

TEST_CASE("Unread events are counted by kind") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1);
  file.annotation("PP:0UNSHARD", 130, 1, 3);
  file.annotation("PP:0HUH3", 140, 1, 4).annotation("nccl:send 0->1", 150, 1, 5);
  for (int i = 0; i < 5; ++i) file.event("cpu_op", "aten::mm", "100.5", "3");
  file.raw("\n  {\n    \"ph\": \"s\", \"id\": 4, \"pid\": 1, \"tid\": 2, \"ts\": 5.0,\n    \"cat\": \"ac2g\", "
           "\"name\": \"ac2g\"\n  },");
  file.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", 10, 3, 77);
  const Recorded recorded = read(file);
  CHECK(dropped(recorded, "UNSHARD and RESHARD actions") == 1);
  CHECK(dropped(recorded, "PP: labels with an unknown action") == 1);
  CHECK(dropped(recorded, "events of category 'cpu_op' (not used)") == 5);
  CHECK(dropped(recorded, "events of category 'ac2g' (not used)") == 1);
  CHECK(dropped(recorded, "events of category 'user_annotation' (not used)") == 1);
  CHECK(dropped(recorded, "NCCL kernels of collectives") == 1);
}

TEST_CASE("The optimizer, reductions and the allocator's peak are read if present") {
  KinetoFile file;
  file.annotation("PP:0F0", 100, 10, 1).gpu_annotation("PP:0F0", 100, 10, 1);
  file.annotation("PP:0REDUCE_GRAD", 120, 10, 2).gpu_annotation("PP:0REDUCE_GRAD", 130, 10, 2, 30);
  file.annotation("Optimizer.step#AdamW.step", 140, 10, 3).gpu_annotation("Optimizer.step#AdamW.step", 150, 10, 3);
  for (const char* bytes : {"500", "900", "700"})
    file.raw(fmt::format(
        "\n  {{\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    "
        "\"pid\": 1, \"tid\": 2,\n    \"ts\": 5.000,\n    \"args\": {{\n      \"Total Reserved\": 1000, "
        "\"Total Allocated\": {}, \"Device Id\": 0, \"Device Type\": 1\n    }}\n  }},",
        bytes));
  const Recorded recorded = read(file);
  REQUIRE(recorded.updates.size() == 2);
  CHECK(recorded.updates[0].kind == UpdateEvent::Kind::reduction);
  CHECK(recorded.updates[0].end == 140000);
  CHECK(recorded.updates[1].kind == UpdateEvent::Kind::optimizer);
  CHECK(recorded.peak_bytes == std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>{{{0, 0}, 900}});
}

TEST_CASE("Keys come in any order, with distributedInfo after the events") {
  const std::string text = R"({"traceEvents": [
    {"args": {"External id": 4, "more": [{"x": "}, {"}]}, "cat": "user_annotation", "dur": 5.0, "name": "PP:2F0", "ph": "X", "pid": 1, "tid": 1, "ts": 10.5},
    {"dur": 4, "ts": 20, "args": {"External id": 4}, "tid": "stream 7", "ph": "X", "name": "PP:2F0", "cat": "gpu_user_annotation"}
    ], "distributedInfo": {"rank": 6, "pg_config": []}, "baseTimeNanoseconds": 1000})";
  const std::vector<ImportFile> files{{"trace.json", text}};
  const Recorded recorded = read_kineto(files, {});
  REQUIRE(recorded.tasks.size() == 1);
  CHECK(recorded.tasks[0].start == 21001);
}

TEST_CASE("The rank comes from the file name if the file lacks it") {
  KinetoFile file{""};
  file.annotation("PP:0F0", 100, 10, 1);
  const std::string text = file.text();
  const auto rank_of = [&](std::string name) { return read_kineto_trace({std::move(name), text}, {}).rank; };
  CHECK(rank_of("rank-70.Mar_25_20_48_12.2861.pt.trace.json") == 70);
  CHECK(rank_of("out3/node1_rank12.json") == 12);
  CHECK(rank_of("7.json") == 7);
  CHECK_THROWS_WITH(rank_of("out3/trace.json"), Catch::Contains("which rank"));
}

TEST_CASE("Windows of any size give the same events") {
  KinetoFile file;
  for (int i = 0; i < 200; ++i)
    file.event("cpu_op", i % 3 == 0 ? "a }, { [ \\\\\\\" name" : "aten::mm", "1", "2",
               R"("Input Dims": [[{"a": 1}, {"b": [2, {"c": "},{"}]}], "x"], "y": {"z": {}})");
  const std::string text = file.text();
  const std::size_t list = text.find('[', text.find("traceEvents"));
  class Names final : public ObjectSink {
  public:
    simdjson::error_code look(simdjson::ondemand::object& object) override {
      std::string_view name;
      const auto error = object["name"].get(name);
      seen_ = std::string{name};
      return error;
    }
    void take() override { names.push_back(seen_); }
    std::vector<std::string> names;

  private:
    std::string seen_;
  };
  const std::string packed = test::pack(text);
  for (const std::size_t size : {64U, 200U, 300U, 1000U, 4096U, 1U << 20U})
    for (const bool is_packed : {false, true}) {
      TextSource source{ImportFile{"f", is_packed ? packed : text}, 1U << 20U};
      Names names;
      const std::size_t end = for_each_object(source, list, "f", names, {}, {.usual = size, .most = 1U << 20U});
      CHECK(source.from(end, 3).substr(0, 3) == ",\n ");
      CHECK(names.names.size() == 201);
      CHECK(names.names[0] == "a }, { [ \\\" name");
      CHECK(names.names.back() == "Record Window End");
    }
}

TEST_CASE("Files that are not profiles are refused with file, byte and remedy") {
  CHECK(refusal({""}) == "rank0.json, byte 1: a profile starts with { or [ | profile schedule.step() of "
                         "torch.distributed.pipelining with torch.profiler, activities CPU and CUDA: the runtime of "
                         "its multi-stage schedules (and of those from a CSV file) marks every action as PP:0F3");
  CHECK_THAT(refusal({"{}"}), Catch::Contains("the key 'traceEvents' is missing"));
  CHECK_THAT(refusal({R"({"traceEvents": {}})"}), Catch::Contains("byte 17: 'traceEvents' is not a list"));
  CHECK_THAT(refusal({R"({"traceEvents": [], "traceEvents": []})"}), Catch::Contains("occurs twice"));
  CHECK_THAT(refusal({R"({"traceEvents": [{"ph": "X"}, {"ph": )"}),
             Catch::Contains("rank0.json, byte 31: this is not JSON"));
  CHECK_THAT(refusal({R"({"traceEvents": [{"ph": "X"})"}), Catch::Contains("the list of events has no end"));
  CHECK_THAT(refusal({R"({"traceEvents": [1]})"}), Catch::Contains("byte 18: this is not JSON"));
  CHECK_THAT(refusal({R"({"traceEvents": []})"}), Catch::Contains("no annotations of tasks (PP:0F0)"));
  CHECK_THAT(refusal({R"({"traceEvents": [], "baseTimeNanoseconds": -1})"}), Catch::Contains("'-1', not a time"));
  CHECK_THAT(refusal({"\x1F\x8B xyz"}), Catch::Contains("gzip"));
  CHECK_THAT(refusal({R"({"traceEvents": [{"ph":"X","cat":"user_annotation","name":"Forward 0","ts":1,"dur":1}]})"}),
             Catch::Contains("which do not name the stage"));
  const std::string text = one_rank(4, 0);
  CHECK_THAT(refusal({text, text}), Catch::Contains("it is from rank 4, and so is rank1.json"));
  CHECK_THAT(refusal({text}, {.stages = 4, .vpp = {}, .progress = {}}), Catch::Contains("the files are from 1 stages"));
}

TEST_CASE("Progress goes from 0 to 100 %") {
  std::vector<double> shares;
  const ImportOptions options{.stages = {}, .vpp = {}, .progress = [&](double share) { shares.push_back(share); }};
  (void)read_all({one_rank(0, 0), one_rank(1, 1)}, options);
  REQUIRE(shares.size() >= 3);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.front() < 0.5);
  CHECK(shares.back() == 1);
}

TEST_CASE("The sample's two ranks are two stages of 1F1B with all their transfers") {
  std::vector<std::string> texts;
  for (const char* name : {"kineto-rank0.json", "kineto-rank1.json"}) {
    std::ifstream file{ppsim::test::source_path(fmt::format("traces/samples/{}", name))};
    texts.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  const Recorded recorded = read_all(texts);
  CHECK(recorded.tasks.size() == 2 * 2 * 6);
  CHECK(recorded.transfers.size() == 2 * 2 * 6);
  CHECK(recorded.notes.empty());
  CHECK(recorded.facts.machine == "NVIDIA A100-SXM4-80GB");
  for (const TaskEvent& event : recorded.tasks) {
    CHECK((event.step == 3 || event.step == 4));
    const std::int64_t forward = (event.stage == 0 ? 2000000 : 2600000);
    const std::int64_t each = event.stage == 0 ? 3500 : 2250;
    if (event.task.pass == Pass::forward)
      CHECK(event.end - event.start == forward + each * static_cast<std::int64_t>(index(event.task.microbatch)));
  }
  for (const TransferEvent& event : recorded.transfers) {
    if (event.is_send)
      CHECK(event.end - event.start == 150000);
    else
      CHECK(event.end - event.start >= 150000);
  }
}

} // namespace ppsim::test::kineto_test
