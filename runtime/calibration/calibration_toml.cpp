// The scenario file that a calibration becomes, for example:
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

namespace ppsim::runtime {
namespace {

/// The fewest digits that are read back as the same number. TOML has a digit on both sides of a point, and a number
/// with neither point nor exponent is a whole one.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0"; // n: of inf and nan
  return text;
}

std::string time(Duration duration) {
  return toml_string(format_closely(duration));
}

/// "[a, b]", each made by `render`.
template <class Values, class Render>
std::string list(const Values& values, Render render) {
  std::string text = "[";
  for (const auto& value : values) text.append(text.size() > 1 ? ", " : "").append(render(value));
  return text + "]";
}

std::string spread(const Spread& spread) {
  return fmt::format("[{}, {}, {}]", time(spread.median), time(spread.p5), time(spread.p95));
}

class Writer {
public:
  void comment(std::string_view text) { text_ += fmt::format("# {}\n", text); }
  void gap() { text_ += '\n'; }
  void put(std::string_view key, std::string_view value) { text_ += fmt::format("{} = {}\n", key, value); }
  void put(std::string_view key, std::size_t value) { put(key, std::to_string(value)); }
  void table(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void times(std::string_view prefix, const std::vector<ChunkTimes>& chunks) {
    const auto pass = [&](std::string_view name, Spread ChunkTimes::*member) {
      put(fmt::format("{}.{}", prefix, name),
          list(chunks, [&](const ChunkTimes& times) { return spread(times.*member); }));
    };
    pass("forward", &ChunkTimes::forward);
    pass("input-grad", &ChunkTimes::input_grad);
    pass("weight-grad", &ChunkTimes::weight_grad);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

private:
  std::string text_;
};

/// Zero for an edge that was not measured.
Duration edge_time(std::span<const TransferFit> edges, StageId from, StageId to, Bytes bytes) {
  const auto edge = std::ranges::find_if(edges, [&](const TransferFit& it) { return it.from == from && it.to == to; });
  if (edge == edges.end()) return Duration{0};
  return edge->latency + (edge->bandwidth ? edge->bandwidth->time_for(bytes) : Duration{0});
}

void put_costs(Writer& out, const Calibration& calibration) {
  const auto medians = [&](Spread ChunkTimes::*member) {
    return list(calibration.busy, [&](const ChunkTimes& times) { return time((times.*member).median); });
  };
  out.comment("Times by chunk, all stages at work");
  out.put("forward", medians(&ChunkTimes::forward));
  out.put("input-grad", medians(&ChunkTimes::input_grad));
  out.put("weight-grad", medians(&ChunkTimes::weight_grad));
  out.put("overhead", time(calibration.overhead.median));
  const auto slowest = std::ranges::max_element(calibration.optimizer,
                                                [](const Spread& a, const Spread& b) { return a.median < b.median; });
  if (slowest != calibration.optimizer.end() && slowest->median > Duration{0})
    out.put("optimizer", time(slowest->median));
  out.put("pair", toml_string("serial"));
  if (calibration.placement.size() > 1) {
    out.comment("One activation over each boundary between chunks");
    out.put("comm", list(boundary_times(calibration.edges, calibration.placement, calibration.sizes.boundary), time));
  }
}

void put_memory(Writer& out, const Calibration& calibration) {
  out.comment("Memory of a stage");
  for (const auto& [key, bytes] : memory_keys(calibration.sizes, calibration.shape.vpp))
    out.put(key, toml_string(fmt::format("{}B", bytes.count())));
}

void put_workload(Writer& out, const Calibration& calibration) {
  const Workload& workload = calibration.workload;
  out.comment("What 'ppsim replay' runs");
  out.put("backend", toml_string(calibration.facts.backend));
  out.put("block", toml_string(to_string(workload.block)));
  out.put("tokens", workload.tokens);
  out.put("width", workload.width);
  if (workload.block == Block::transformer) out.put("heads", workload.heads);
  out.put("layers-per-chunk", workload.layers);
  out.put("seed", workload.seed);
  out.put("trainer", toml_string(to_string(workload.optimizer)));
  out.put("learning-rate", number(workload.learning_rate));
}

void put_facts(Writer& out, const Calibration& calibration) {
  out.table("calibration");
  out.put("machine", toml_string(calibration.facts.machine));
  out.put("compute", toml_string(calibration.facts.compute));
  out.put("transport", toml_string(calibration.facts.transport));
  if (!calibration.facts.command.empty()) out.put("command", toml_string(calibration.facts.command));
  if (calibration.core_share) out.put("core-share", fmt::format("{:.3f}", *calibration.core_share));
  out.put("contended", calibration.contended ? "true" : "false");
  out.comment(
      "Median, 5th and 95th percentile, by chunk: all stages at work, and one at a time (there the backward was");
  out.comment("measured in one piece, and is divided as with all at work)");
  out.times("busy", calibration.busy);
  out.times("alone", calibration.alone);
  out.put("optimizer", list(calibration.optimizer, spread));
  out.put("overhead", spread(calibration.overhead));
  if (calibration.edges.empty()) return;
  out.comment("The stage of each chunk");
  out.put("placement", list(calibration.placement, [](StageId stage) { return std::to_string(index(stage)); }));
  out.comment("Transfers: latency and bandwidth fitted to [bytes, time]");
  for (const TransferFit& edge : calibration.edges) {
    out.table("[calibration.edges]");
    out.put("from", index(edge.from));
    out.put("to", index(edge.to));
    out.put("latency", time(edge.latency));
    if (edge.bandwidth) out.put("bandwidth", toml_string(format_closely(*edge.bandwidth)));
    out.put("largest-residual", fmt::format("{:.3f}", edge.largest_residual));
    out.put("samples", list(edge.samples, [](const TransferSample& sample) {
              return fmt::format("[{}, {}]", sample.bytes.count(), time(sample.time));
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

std::vector<std::pair<std::string_view, Bytes>> memory_keys(const ChunkSizes& sizes, std::size_t vpp) {
  const auto of_stage = [&](Bytes bytes) { return Bytes{bytes.count() * static_cast<std::int64_t>(vpp)}; };
  return {{"boundary-bytes", sizes.boundary},
          {"activation-bytes", of_stage(sizes.stash())},
          {"weight-activation-bytes", of_stage(sizes.stash_for_weight)},
          {"parameter-bytes", of_stage(sizes.parameter_bytes)},
          {"gradient-bytes", of_stage(sizes.gradient_bytes)},
          {"optimizer-bytes", of_stage(sizes.optimizer_bytes)}};
}

std::string calibration_toml(const Calibration& calibration) {
  Writer out;
  if (calibration.contended) out.comment("CONTENDED: stages shared their cores with others; these times say little");
  out.put("title", toml_string(calibration.facts.compute));
  out.put("source", toml_string(fmt::format("measured on {}, backend {}{}", calibration.facts.machine,
                                            calibration.facts.backend, calibration.contended ? ", contended" : "")));
  out.put("stages", calibration.shape.stages);
  if (calibration.shape.vpp > 1) out.put("vpp", calibration.shape.vpp);
  out.gap();
  put_costs(out, calibration);
  out.gap();
  put_memory(out, calibration);
  out.gap();
  put_workload(out, calibration);
  put_facts(out, calibration);
  return out.take();
}

} // namespace ppsim::runtime
