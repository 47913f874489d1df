// ppsim simulate: simulates one run and reports it.

#include "simulate.hpp"

#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/chrome_trace.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/traces/schedule_file.hpp"
#include "ppsim/traces/workload_files.hpp"
#include "ppsim/viz/svg.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/chart.hpp"
#include "files/files.hpp"
#include "files/outputs.hpp"
#include "runs/judging.hpp"
#include "runs/pages.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli::simulate_command {
namespace {

/// The simulated operations; if there are none, PyTorch's placement by default.
CommOrder written_operations(const TaskGraph& graph) {
  const Network& network = graph.scenario().network;
  const bool said = graph.schedule().communications() != nullptr || !network.streams.lowering.empty() ||
                    network.model == TransferModel::streams;
  return said ? operations_of(graph) : find_lowering("pytorch")->place(graph, Overlap::none);
}

constexpr std::array outputs{
    Output<Evaluation>{"json", &Inputs::json,
                       [](const Evaluation& result, const Inputs& inputs) {
                         return traces::report_json(result.graph, result.timeline, result.report, inputs.tasks);
                       }},
    Output<Evaluation>{"svg", &Inputs::svg,
                       [](const Evaluation& result, const Inputs& inputs) {
                         return viz::svg_gantt(result.graph, result.timeline, result.report, memory_lanes(inputs));
                       }},
    Output<Evaluation>{"html", &Inputs::html,
                       [](const Evaluation& result, const Inputs&) { return simulated_page(result); }},
    Output<Evaluation>{"trace", &Inputs::trace,
                       [](const Evaluation& result, const Inputs&) {
                         return traces::chrome_trace(result.graph, result.timeline, result.report);
                       }},
    Output<Evaluation>{"csv", &Inputs::csv,
                       [](const Evaluation& result, const Inputs& inputs) {
                         return traces::write_schedule(result.graph, *inputs.csv);
                       }},
    Output<Evaluation>{"csv-comms", &Inputs::csv_comms,
                       [](const Evaluation& result, const Inputs&) {
                         const TaskGraph& graph = result.graph;
                         return traces::write_schedule_csv_comms(graph.schedule(),
                                                                 with_chunk_actions(graph, written_operations(graph)));
                       }},
    Output<Evaluation>{"goal", &Inputs::goal,
                       [](const Evaluation& result, const Inputs&) { return traces::write_goal(result.graph); }},
};

/// Chakra has one file per stage. Throws Error if one of them is an input or another output.
void write_chakra(const Inputs& inputs, const TaskGraph& graph) {
  if (!inputs.chakra) return;
  const std::vector<traces::NamedBytes> files = traces::write_chakra(graph, *inputs.chakra);
  std::vector<Destination> destinations;
  destinations.reserve(outputs.size() + files.size());
  for (const Output<Evaluation>& output : outputs) destinations.push_back({output.option, inputs.*output.path});
  for (const traces::NamedBytes& file : files) destinations.push_back({"chakra", file.name});
  static_cast<void>(uses_stdout(destinations, sources(inputs)));
  write_files(files, "--chakra");
}

/// Notes parts of a run that workload files for other simulators cannot contain.
void note_workload_limits(const Inputs& inputs, const TaskGraph& graph) {
  if (!inputs.chakra && !inputs.goal) return;
  const Scenario& scenario = graph.scenario();
  if (inputs.chakra)
    note("--chakra: ASTRA-sim needs roofline-enabled 0, counts whole microseconds, and reads GB/s as GiB/s; compare "
         "with --transfer link --stages-per-node 1");
  const auto& sizes = scenario.network.boundary_bytes;
  if (graph.transfer_count() > 0 && std::ranges::find(sizes, Bytes{0}) != sizes.end())
    note("transfers without --boundary-bytes are written as 1 byte: the files do not hold their times");
  if (!scenario.update.is_free()) note("the files do not hold reductions and optimizer steps");
  if (graph.schedule().communications() != nullptr || scenario.network.model == TransferModel::streams)
    note("the files do not hold the places of sends and receives among tasks");
}

/// Whether a task waits for `op` of `stage` in a way that the written file loses: no cell expresses it, and after
/// reading, a receive is only waited for by the task that needs it.
bool is_silently_waited_for(const TaskGraph& graph, StageId stage, const CommOp& op) {
  const Schedule& schedule = graph.schedule();
  const std::size_t waiting = index(schedule.first_task(stage)) + op.before + op.holds_after;
  if (!op.holds || waiting >= index(schedule.end_task(stage))) return false;
  return op.is_send || waiting < index(pair_begin(schedule, graph.receiver(op.sender).value()));
}

/// Warns if the order may hang on PyTorch's communicator, or if parts of it have no cell.
void note_written_operations(const Inputs& inputs, const TaskGraph& graph) {
  if (!inputs.csv_comms) return;
  const CommOrder order = written_operations(graph);
  if (find_hang(graph.schedule(), order, Communicators::group))
    note("{}: this order hangs on one communicator for all stages, as PyTorch runs it; '--lowering "
         "pytorch' or 'ppsim place' writes one that does not",
         inputs.place_of("csv-comms"));
  if (std::ranges::any_of(order.ops(), &CommOp::joins))
    note("{}: PyTorch has no BATCH_P2P groups: 'ppsim place' writes single operations", inputs.place_of("csv-comms"));
  std::size_t waits = 0;
  for (const StageId stage : order.stage_ids())
    waits += static_cast<std::size_t>(std::ranges::count_if(
        order.stage(stage), [&](const CommOp& op) { return is_silently_waited_for(graph, stage, op); }));
  if (waits > 0)
    note("{}: stages wait for {} of these {} sends and receives before they go on, which the cells cannot express: "
         "read back, a step may be shorter",
         inputs.place_of("csv-comms"), waits, order.size());
}

/// Shows the number of finished samples if there are many.
Evaluation evaluate_watched(const Inputs& inputs) {
  ProgressCount shown{"samples"};
  return evaluate_fully(inputs, inputs.sensitivity,
                        [&shown](std::size_t done, std::size_t of) { shown.show(done, of); });
}

ExitCode run(const Inputs& inputs) {
  require_chart(inputs);
  const bool stdout_taken = uses_stdout(outputs, inputs);
  if (inputs.chakra == "-")
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("chakra"), "several files cannot go to stdout", "give a prefix: --chakra run"}};
  const Evaluation result = evaluate_watched(inputs);
  check_conditions(inputs, result.report);
  note_all(result.notes);
  write_outputs(outputs, result, inputs);
  write_chakra(inputs, result.graph);
  note_workload_limits(inputs, result.graph);
  note_written_operations(inputs, result.graph);
  if (!stdout_taken) {
    std::string text = viz::text_report(result.graph, result.timeline, result.report, terminal_options());
    if (inputs.tasks) text.append("\n").append(viz::task_table(result.graph, result.timeline));
    write_file("-", text, "report");
  }
  return holds_any(inputs, result.report) || result.report.overflow ? ExitCode::no : ExitCode::done;
}

} // namespace

const Command definition = done_by(run);

} // namespace ppsim::cli::simulate_command
