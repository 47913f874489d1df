// ppsim place: a better placement of a schedule's sends and receives.

#include "ppsim/study/place.hpp"

#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/steady.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/report/stalls.hpp"
#include "ppsim/study/build_run.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "files/files.hpp"
#include "files/outputs.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::place_command {
namespace {

using Json = nlohmann::ordered_json;

/// The operations of a schedule, before and after placement.
struct Placed {
  TaskGraph graph;
  CommOrder given;
  Communicators communicators{};
  Placement placement;
  std::optional<Hang> hang;           ///< of the given order
  std::optional<std::string> astray;  ///< as above, see find_mismatch(): such an order has no time, like one that hangs
  std::vector<std::string> stalls;    ///< of the given order: the longest ones, in words
  std::vector<std::string> remaining; ///< of the new order: the longest ones, in words
  [[nodiscard]] bool given_runs() const { return !hang && !astray; }
};

constexpr std::size_t most_stalls_said = 5;

std::vector<std::string> longest_stalls(const TaskGraph& graph, const CommOrder& order, Communicators communicators) {
  std::vector<std::string> said;
  for (const Stall& stall : find_stalls(graph, order, communicators, simulate(graph, order, communicators))) {
    if (said.size() == most_stalls_said) break;
    said.push_back(describe(graph, order, stall));
  }
  return said;
}

Placed place_inputs(const Inputs& inputs) {
  Inputs streams = inputs;
  streams.transfer = TransferModel::streams;
  if (!inputs.p2p && !inputs.lowering) streams.p2p = P2p::group; // PyTorch runs written operations on it
  BuiltRun run = build_run(streams);
  note_all(run.notes);
  if (inputs.p2p == P2p::batched)
    note("{}: the new order has single sends and receives: it is for group, not for batches", inputs.place_of("p2p"));
  TaskGraph graph = lower(std::move(run.schedule), std::move(run.scenario), run.schedule_place);
  CommOrder given = operations_of(graph);
  const Communicators communicators = communicators_of(graph);
  std::optional<std::string> astray = find_mismatch(graph.schedule(), given, communicators);
  std::optional<Hang> hang;
  if (!astray) hang = find_hang(graph, given, communicators);
  std::vector<std::string> stalls;
  if (!astray && !hang) stalls = longest_stalls(graph, given, communicators);
  Placement placement = place_operations(graph, given, communicators);
  std::vector<std::string> remaining = longest_stalls(graph, placement.order, communicators);
  return {std::move(graph), std::move(given),  communicators,     std::move(placement),
          std::move(hang),  std::move(astray), std::move(stalls), std::move(remaining)};
}

/// Notes settings of the simulation that the written file does not contain.
void note_missing_content(const Inputs& inputs, const TaskGraph& graph) {
  if (!inputs.csv_comms || graph.scenario().recompute.microbatches_without == 0) return;
  if (!graph.schedule().warmup_forwards(StageId{0})) return;
  note("{}: the cells do not say where a stage's warm-up ends, which --microbatches-without-recompute depends on: read "
       "back, a step may take a different time",
       inputs.place_of("csv-comms"));
}

std::string placed_json(const Placed& placed, const Inputs& /*inputs*/) {
  const Placement& placement = placed.placement;
  Json json{{"schema", 1},
            {"schedule", placed.graph.schedule().name()},
            {"p2p", to_string(placed.communicators)},
            {"hung", placed.hang.has_value()},
            {"before_ns", placed.given_runs() ? Json(placement.before.count()) : Json{}},
            {"after_ns", placement.after.count()},
            {"stalls_before_ns", placed.given_runs() ? Json(placement.stalls_before.count()) : Json{}},
            {"stalls_after_ns", placement.stalls_after.count()},
            {"operations", placed.given.size()},
            {"moved", placement.moved},
            {"stalls", placed.stalls},
            {"remaining", placed.remaining}};
  if (placed.hang) json["cycle"] = placed.hang->cycle;
  if (placed.astray) json["mismatch"] = *placed.astray;
  return json.dump(2) + "\n";
}

std::string bullet_list(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("    {}\n", line);
  return text;
}

/// "2.1 % less".
std::string change_of(const Placement& placement) {
  const auto gain = static_cast<double>((placement.before - placement.after).count());
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(gain) / static_cast<double>(placement.before.count()),
                     gain > 0 ? "less" : "more");
}

std::string placed_text(const Placed& placed) {
  const Placement& placement = placed.placement;
  std::string text = fmt::format("{} on p2p {}: ", placed.graph.headline(), to_string(placed.communicators));
  const std::string_view step = has_steady_state(placed.graph) ? "one step alone" : "a step";
  const std::string after = format_duration(placement.after);
  if (!placed.given_runs())
    text += fmt::format("the given order {}; with new places {} takes {}\n",
                        placed.hang ? "hangs" : "sends data astray", step, after);
  else if (placement.after != placement.before)
    text += fmt::format("{} takes {}{} instead of {} ({})\n", step, after,
                        placement.after > placement.before ? " in single operations" : "",
                        format_duration(placement.before), change_of(placement));
  else if (placed.stalls.empty())
    text += fmt::format("nothing stalls; {} takes {}\n", step, after);
  else
    text += fmt::format("found no better places; {} takes {}\n", step, after);
  text += fmt::format("  {:<18}  {} of {} sends and receives; the order of tasks is unchanged\n", "moved",
                      placement.moved, placed.given.size());
  if (placed.astray) {
    text += fmt::format("  in the given order {}\n", *placed.astray);
  } else if (placed.hang) {
    text += "  it hung, as\n" + bullet_list(placed.hang->cycle);
  } else {
    text += fmt::format("  {:<18}  {} before, {} now, over all stages\n", "stalls",
                        format_duration(placement.stalls_before), format_duration(placement.stalls_after));
    if (!placed.stalls.empty()) text += "  the longest before\n" + bullet_list(placed.stalls);
  }
  if (!placed.remaining.empty()) text += "  what remains\n" + bullet_list(placed.remaining);
  return text;
}

constexpr std::array outputs{
    Output<Placed>{"json", &Inputs::json, placed_json},
    Output<Placed>{"csv-comms", &Inputs::csv_comms,
                   [](const Placed& placed, const Inputs&) {
                     return traces::write_schedule_csv_comms(placed.graph.schedule(),
                                                             with_chunk_actions(placed.graph, placed.placement.order));
                   }},
};

ExitCode run(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs, inputs);
  require_writable(outputs, inputs);
  const Placed placed = place_inputs(inputs);
  write_outputs(outputs, placed, inputs);
  note_missing_content(inputs, placed.graph);
  if (!inputs.csv_comms && placed.placement.moved > 0) note("the order was not written: --csv-comms FILE writes it");
  if (!stdout_taken) write_file("-", placed_text(placed), "place");
  return ExitCode::done;
}

constexpr std::array sections{Section::pipeline, Section::model, Section::costs, Section::communication,
                              Section::scenario};
constexpr std::array<std::string_view, 2> extra{"csv-comms", "json"};
constexpr std::array<std::string_view, 4> except{"flops", "transfer", "balance", "send-slices"};
constexpr std::array examples{
    Example{"ppsim place --schedule-file order.csv --forward 10ms --backward 20ms --comm 2ms --csv-comms placed.csv",
            "a PyTorch order with its sends and receives: what stalls, and the same order without the stalls"},
    Example{"ppsim place --stages 8 --mb 16 --vpp 2 --lowering pytorch --csv-comms placed.csv",
            "interleaved 1F1B as PyTorch runs it"},
};

} // namespace

const Command definition{.name = "place",
                         .summary = "move the sends and receives of a schedule to where they stall it least",
                         .usage = "ppsim place [--schedule-file ORDER.csv | --stages P --mb M ...] [--p2p HOW] "
                                  "--csv-comms PLACED.csv [options]",
                         .makes_run = true,
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::place_command
