// driver replay --schedule NAME --stages P --mb M [...]: a replay by processes with equal stages, F 2 ms and B 4 ms.
// Takes those options of 'ppsim replay' that tests here need, and ends with the same statuses.

#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/launch.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/sim/error.hpp"
#include "ppsim/sim/generators.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>

namespace {

using namespace ppsim;
using Flags = std::map<std::string, std::string>;

std::size_t count(const Flags& flags, const std::string& name, std::size_t otherwise) {
  const auto found = flags.find(name);
  return found == flags.end() ? otherwise : std::stoul(found->second);
}

runtime::Program make_program(const Flags& flags) {
  const ScheduleRequest request{.shape = {.stages = count(flags, "--stages", 4),
                                          .microbatches = count(flags, "--mb", 8),
                                          .vpp = count(flags, "--vpp", 1)}};
  Schedule schedule = make_schedule(find_generator(flags.at("--schedule")), request);
  Scenario scenario = uniform_scenario(schedule.shape(), std::chrono::milliseconds{2}, std::chrono::milliseconds{4});
  scenario.pair.kind = PairRule::Kind::serial;
  const TaskGraph graph = lower(std::move(schedule), std::move(scenario));
  return runtime::compile(graph, simulate(graph));
}

runtime::RunOptions make_options(const Flags& flags) {
  runtime::RunOptions options;
  options.workload.tokens = 64;
  options.workload.width = count(flags, "--width", 64);
  options.steps = count(flags, "--steps", 3);
  if (const auto timeout = flags.find("--timeout"); timeout != flags.end())
    options.timeout = parse_duration(timeout->second).value();
  if (const auto fault = flags.find("--inject"); fault != flags.end())
    options.fault = runtime::parse_fault(fault->second).value();
  if (flags.contains("--compute")) options.compute = runtime::Compute::timed;
  return options;
}

ExitCode show(const MeasuredRun& run) {
  fmt::print("{}, {}\nstep", run.facts.backend, run.facts.transport);
  for (const Timeline& step : run.steps) fmt::print(" {}", format_duration(end_of(step).time_since_epoch()));
  fmt::print("; clocks within {}{}\n", run.clock_error ? format_duration(*run.clock_error) : "nothing",
             run.unaligned ? ", unaligned" : "");
  const Proof& proof = run.proof.value();
  fmt::print("bit-equal {}, gradient error {:.1e}, loss error {:.1e}, loss {:.4f} to {:.4f}\n", proof.bit_equal,
             proof.gradient_error, proof.loss_error, proof.losses.front(), proof.losses.back());
  const bool falls = proof.losses.back() < proof.losses.front();
  return proof.holds() && (proof.bit_equal || !proof.same_order) && falls && !run.unaligned ? ExitCode::done
                                                                                            : ExitCode::no;
}

ExitCode run(const Flags& flags) {
  runtime::Backend& backend = runtime::load_backend("mpi");
  const runtime::RunOptions options = make_options(flags);
  if (flags.contains("--time-transfers")) {
    for (const auto& sample : backend.time_transfers(count(flags, "--stages", 4), options))
      fmt::print("{} to {}: {} in {}\n", index(sample.from), index(sample.to), format_bytes(sample.bytes),
                 format_duration(sample.time));
    return ExitCode::done;
  }
  const auto measured = backend.run(make_program(flags), options);
  return measured ? show(*measured) : ExitCode::done;
}

int fail(const Error& error) {
  runtime::leave_word_to_first(error.code());
  for (const Problem& problem : error.problems())
    fmt::print(stderr, "ppsim: error: {}: {}\n", problem.where, problem.what);
  runtime::abort_processes(error.code());
  return static_cast<int>(error.code());
}

} // namespace

int main(int argc, char** argv) {
  try {
    Flags flags;
    for (int word = 2; word + 1 < argc; word += 2) flags[argv[word]] = argv[word + 1];
    const ExitCode status = run(flags);
    runtime::finish_processes();
    return static_cast<int>(status);
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::exception& error) {
    return fail({ExitCode::internal, Problem{"internal error", error.what(), ""}});
  }
}
