// The scenario file of a calibration, for example:
//   stages = 2
//   forward = ["5.1 ms", "5.2 ms"]
//   ...
//   [calibration]
//   machine = "..."
//   busy.forward = [["5.1 ms", "5.0 ms", "5.6 ms"], ...]  # median, 5th and 95th percentile, by chunk

#include "ppsim/base/words.hpp"
#include "ppsim/runtime/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim::runtime {
namespace {

/// The fewest digits that are read back as the same number. TOML needs a digit on both sides of a point, and reads a
/// number with neither point nor exponent as an integer.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0"; // n: for inf and nan
  return text;
}

std::string spread(const Spread& spread) {
  return toml_list(std::array{spread.median, spread.p5, spread.p95}, toml_time);
}

constexpr std::array<std::pair<std::string_view, Spread ChunkTimes::*>, 3> passes{
    {{"forward", &ChunkTimes::forward},
     {"input-grad", &ChunkTimes::input_grad},
     {"weight-grad", &ChunkTimes::weight_grad}}};

void add_times(ScenarioDocument& out, std::string_view prefix, const std::vector<ChunkTimes>& chunks) {
  for (const auto& [name, pass] : passes)
    out.add(fmt::format("{}.{}", prefix, name),
            toml_list(chunks, [member = pass](const ChunkTimes& times) { return spread(times.*member); }));
}

/// Zero for an unmeasured edge.
Duration edge_time(std::span<const TransferFit> edges, StageId from, StageId to, Bytes bytes) {
  const auto edge = std::ranges::find_if(edges, [&](const TransferFit& it) { return it.from == from && it.to == to; });
  if (edge == edges.end()) return Duration{0};
  return edge->latency + (edge->bandwidth ? edge->bandwidth->time_for(bytes) : Duration{0});
}

void put_costs(ScenarioDocument& out, const Calibration& calibration) {
  out.add_comment("Times by chunk, all stages at work");
  for (const auto& [name, pass] : passes)
    out.add(std::string{name}, toml_list(calibration.busy, [member = pass](const ChunkTimes& times) {
              return toml_time((times.*member).median);
            }));
  out.add("overhead", toml_time(calibration.overhead.median));
  const auto slowest = std::ranges::max_element(calibration.optimizer,
                                                [](const Spread& a, const Spread& b) { return a.median < b.median; });
  if (slowest != calibration.optimizer.end() && slowest->median > Duration{0})
    out.add("optimizer", toml_time(slowest->median));
  out.add("pair", toml_string("serial"));
  if (calibration.placement.size() > 1) {
    out.add_comment("One activation over each boundary between chunks");
    out.add("comm",
            toml_list(boundary_times(calibration.edges, calibration.placement, calibration.sizes.boundary), toml_time));
  }
}

void put_memory(ScenarioDocument& out, const Calibration& calibration) {
  out.add_comment("Memory of a stage");
  for (const auto& [key, value] : memory_keys(calibration.sizes, calibration.shape.vpp)) out.add(key, value);
}

void put_workload(ScenarioDocument& out, const Calibration& calibration) {
  const Workload& workload = calibration.workload;
  out.add_comment("What 'ppsim replay' runs");
  out.add("backend", toml_string(calibration.facts.backend));
  out.add("block", toml_string(to_string(workload.block)));
  out.add("tokens", workload.tokens);
  out.add("width", workload.width);
  if (workload.block == Block::transformer) out.add("heads", workload.heads);
  out.add("layers-per-chunk", workload.layers);
  out.add("seed", workload.seed);
  out.add("trainer", toml_string(to_string(workload.optimizer)));
  out.add("learning-rate", number(workload.learning_rate));
}

void put_facts(ScenarioDocument& out, const Calibration& calibration) {
  out.add_table("calibration");
  out.add("machine", toml_string(calibration.facts.machine));
  out.add("compute", toml_string(calibration.facts.compute));
  out.add("transport", toml_string(calibration.facts.transport));
  if (!calibration.facts.command.empty()) out.add("command", toml_string(calibration.facts.command));
  if (calibration.core_share) out.add("core-share", fmt::format("{:.3f}", *calibration.core_share));
  out.add("contended", calibration.contended ? "true" : "false");
  out.add_comment(
      "Median, 5th and 95th percentile, by chunk: all stages at work, and one at a time (whose backward was");
  out.add_comment("measured whole, and is split as with all at work)");
  add_times(out, "busy", calibration.busy);
  add_times(out, "alone", calibration.alone);
  out.add("optimizer", toml_list(calibration.optimizer, spread));
  out.add("overhead", spread(calibration.overhead));
  if (calibration.edges.empty()) return;
  out.add_comment("The stage of each chunk");
  out.add("placement", toml_placement(calibration.placement));
  out.add_comment("Transfers: latency and bandwidth fitted to [bytes, time]");
  for (const TransferFit& edge : calibration.edges) {
    add_edge_table("[calibration.edges]", edge, out);
    out.add("largest-residual", fmt::format("{:.3f}", edge.largest_residual));
    out.add("samples", toml_list(edge.samples, [](const TransferSample& sample) {
              return fmt::format("[{}, {}]", sample.bytes.count(), toml_time(sample.time));
            }));
  }
}

} // namespace

std::vector<Duration> boundary_times(std::span<const TransferFit> edges, std::span<const StageId> placement,
                                     Bytes bytes) {
  std::vector<Duration> times;
  for (std::size_t chunk = 0; chunk + 1 < placement.size(); ++chunk)
    times.push_back(std::max(edge_time(edges, placement[chunk], placement[chunk + 1], bytes),
                             edge_time(edges, placement[chunk + 1], placement[chunk], bytes)));
  return times;
}

std::vector<std::pair<std::string, std::string>> memory_keys(const ChunkSizes& sizes, std::size_t vpp) {
  const auto times = [](std::size_t count, Bytes bytes) {
    return toml_string(fmt::format("{}B", static_cast<std::int64_t>(count) * bytes.count()));
  };
  const auto of_stage = [&](Bytes bytes) { return times(vpp, bytes); };
  return {{"boundary-bytes", times(1, sizes.boundary)},
          {"activation-bytes", of_stage(sizes.stash())},
          {"weight-activation-bytes", of_stage(sizes.stash_for_weight)},
          {"parameter-bytes", of_stage(sizes.parameter_bytes)},
          {"gradient-bytes", of_stage(sizes.gradient_bytes)},
          {"optimizer-bytes", of_stage(sizes.optimizer_bytes)}};
}

std::string toml_placement(std::span<const StageId> placement) {
  return toml_list(placement, [](StageId stage) { return std::to_string(index(stage)); });
}

void add_edge_table(std::string name, const TransferFit& edge, ScenarioDocument& document) {
  document.add_table(std::move(name));
  document.add("from", index(edge.from));
  document.add("to", index(edge.to));
  document.add("latency", toml_time(edge.latency));
  if (edge.bandwidth) document.add("bandwidth", toml_string(format_closely(*edge.bandwidth)));
}

std::string calibration_toml(const Calibration& calibration) {
  ScenarioDocument out;
  if (calibration.contended)
    out.add_comment("CONTENDED: stages shared their cores with others; these times are unreliable");
  out.add("title", toml_string(calibration.facts.compute));
  out.add("source", toml_string(fmt::format("measured on {}, backend {}{}", calibration.facts.machine,
                                            calibration.facts.backend, calibration.contended ? ", contended" : "")));
  out.add("stages", calibration.shape.stages);
  if (calibration.shape.vpp > 1) out.add("vpp", calibration.shape.vpp);
  out.add_empty_line();
  put_costs(out, calibration);
  out.add_empty_line();
  put_memory(out, calibration);
  out.add_empty_line();
  put_workload(out, calibration);
  put_facts(out, calibration);
  return out.text();
}

} // namespace ppsim::runtime
