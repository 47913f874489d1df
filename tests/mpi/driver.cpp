// driver SCHEDULE STAGES MICROBATCHES [--fault FAULT] [--timeout MS] [--steps N] [--chunks V]: a replay by processes, without the command line.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/sim/generators.hpp"
#include "ppsim/sim/error.hpp"
#include <fmt/format.h>
#include <thread>
#include <map>
#include <iostream>

using namespace ppsim;
int main(int argc, char** argv) {
  try {
    std::map<std::string, std::string> o;
    for (int i = 4; i + 1 < argc; i += 2) o[argv[i]] = argv[i + 1];
    const std::size_t stages = std::stoul(argv[2]), m = std::stoul(argv[3]);
    const std::size_t v = o.count("--chunks") ? std::stoul(o["--chunks"]) : 1;
    const ScheduleRequest request{.shape = {.stages = stages, .microbatches = m, .vpp = v}};
    Schedule schedule = make_schedule(find_generator(argv[1]), request);
    Scenario scenario = uniform_scenario(schedule.shape(), std::chrono::milliseconds{2}, std::chrono::milliseconds{4});
    scenario.pair.kind = PairRule::Kind::serial;
    const TaskGraph graph = lower(schedule, scenario);
    const runtime::Program program = runtime::compile(graph, simulate(graph));
    runtime::RunOptions options;
    options.workload = {.tokens = 64, .width = 64};
    if (o.count("--width")) options.workload.width = std::stoul(o["--width"]);
    options.steps = o.count("--steps") ? std::stoul(o["--steps"]) : 5;
    if (o.count("--timeout")) options.timeout = std::chrono::milliseconds{std::stoul(o["--timeout"])};
    if (o.count("--compute")) options.compute = runtime::Compute::timed;
    if (o.count("--fault")) options.fault = runtime::parse_fault(o["--fault"]);
    runtime::Backend& backend = runtime::load_backend(o.count("--backend") ? o["--backend"] : "mpi");
    if (o.count("--transfers")) {
      for (auto& s : backend.time_transfers(stages, options)) fmt::print("{}->{} {} B {}\n", index(s.from), index(s.to), s.bytes.count(), format_duration(s.time));
      runtime::finish_processes();
      return 0;
    }
    if (auto run = backend.run(program, options)) {
      fmt::print("{} {}; {}; {}; {}\n", argv[1], run->facts.backend, run->facts.transport, run->facts.machine, run->facts.compute);
      fmt::print("steps {}, median {}, predicted {}, unaligned {}, clock error {}\n", run->steps.size(), format_duration(end_of(run->steps[run->steps.size()/2]).time_since_epoch()), format_duration(program.predicted_step), run->unaligned, run->clock_error ? format_duration(*run->clock_error) : "none");
      for (auto& s : run->stages) fmt::print("stage: static {} peak {} buffers {} busy {} cpu {}\n", s.static_bytes.count(), s.peak_bytes.count(), s.buffer_bytes.count(), format_duration(s.busy), s.cpu ? format_duration(*s.cpu) : "none");
      if (run->proof) fmt::print("bit equal {} same order {} error {} loss error {} losses {} .. {}\n", run->proof->bit_equal, run->proof->same_order, run->proof->gradient_error, run->proof->loss_error, run->proof->losses.front(), run->proof->losses.back());
    }
    runtime::finish_processes();
    return 0;
  } catch (const Error& error) {
    runtime::leave_word_to_first(error.code());
    for (auto& p : error.problems()) fmt::print(stderr, "ppsim: error: {}: {}\n{}", p.where, p.what, p.hint.empty() ? "" : "ppsim: hint: " + p.hint + "\n");
    runtime::abort_processes(error.code());
    return static_cast<int>(error.code());
  }
}
