// The scenario file that a calibration becomes, for example:
//   stages = 2
//   forward = ["5.1 ms", "5.2 ms"]
//   ...
//   [calibration]
//   machine = "..."
//   busy.forward = [["5.1 ms", "5.0 ms", "5.6 ms"], ...]  # median, 5th and 95th percentile, by chunk

#include "ppsim/runtime/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ppsim::runtime {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result + '"';
}

/// The fewest digits that are read back as the same number. TOML has a digit on both sides of a point, and a number
/// with neither point nor exponent is a whole one.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0"; // n: of inf and nan
  return text;
}

std::string time(Duration duration) {
  return quoted(format_closely(duration));
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
  void comment(std::string_view text) { fmt::format_to(std::back_inserter(text_), "# {}\n", text); }
  void gap() { text_ += '\n'; }
  void put(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{} = {}\n", key, value);
  }
  void put(std::string_view key, std::size_t value) { put(key, std::to_string(value)); }
  void table(std::string_view name) { fmt::format_to(std::back_inserter(text_), "\n[{}]\n", name); }
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

const TransferFit* edge_between(const Calibration& calibration, StageId from, StageId to) {
  const auto found = std::ranges::find_if(calibration.edges,
                                          [&](const TransferFit& edge) { return edge.from == from && edge.to == to; });
  return found == calibration.edges.end() ? nullptr : &*found;
}

/// Time of `bytes` over an edge; zero where it was not measured, as between chunks of one stage.
Duration edge_time(const Calibration& calibration, StageId from, StageId to, Bytes bytes) {
  const TransferFit* edge = edge_between(calibration, from, to);
  if (edge == nullptr) return Duration{0};
  return edge->latency + (edge->bandwidth ? edge->bandwidth->time_for(bytes) : Duration{0});
}

/// Time of one activation or gradient over each boundary between chunks: of its two directions, the slower.
std::vector<Duration> boundary_times(const Calibration& calibration) {
  std::vector<Duration> times;
  for (std::size_t chunk = 0; chunk + 1 < calibration.placement.size(); ++chunk) {
    const StageId from = calibration.placement[chunk];
    const StageId to = calibration.placement[chunk + 1];
    times.push_back(std::max(edge_time(calibration, from, to, calibration.sizes.boundary),
                             edge_time(calibration, to, from, calibration.sizes.boundary)));
  }
  return times;
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
  out.put("pair", quoted("serial"));
  if (calibration.placement.size() > 1) {
    out.comment("One activation over each boundary between chunks");
    out.put("comm", list(boundary_times(calibration), time));
  }
}

void put_memory(Writer& out, const Calibration& calibration) {
  const ChunkSizes& sizes = calibration.sizes;
  const auto of_stage = [&](Bytes bytes) {
    return quoted(fmt::format("{}B", bytes.count() * static_cast<std::int64_t>(calibration.shape.vpp)));
  };
  out.comment("Memory of a stage");
  out.put("boundary-bytes", quoted(fmt::format("{}B", sizes.boundary.count())));
  out.put("activation-bytes", of_stage(sizes.stash()));
  out.put("weight-activation-bytes", of_stage(sizes.stash_for_weight));
  out.put("parameter-bytes", of_stage(sizes.parameter_bytes));
  out.put("gradient-bytes", of_stage(sizes.gradient_bytes));
  out.put("optimizer-bytes", of_stage(sizes.optimizer_bytes));
}

void put_workload(Writer& out, const Calibration& calibration) {
  const Workload& workload = calibration.workload;
  out.comment("What 'ppsim replay' runs");
  out.put("backend", quoted(calibration.facts.backend));
  out.put("block", quoted(to_string(workload.block)));
  out.put("tokens", workload.tokens);
  out.put("width", workload.width);
  if (workload.block == Block::transformer) out.put("heads", workload.heads);
  out.put("layers-per-chunk", workload.layers);
  out.put("seed", workload.seed);
  out.put("trainer", quoted(to_string(workload.optimizer)));
  out.put("learning-rate", number(workload.learning_rate));
}

void put_facts(Writer& out, const Calibration& calibration) {
  out.table("calibration");
  out.put("machine", quoted(calibration.facts.machine));
  out.put("compute", quoted(calibration.facts.compute));
  out.put("transport", quoted(calibration.facts.transport));
  if (!calibration.facts.command.empty()) out.put("command", quoted(calibration.facts.command));
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
  out.comment("Transfers: latency and bandwidth fitted to [bytes, time]");
  for (const TransferFit& edge : calibration.edges) {
    out.table("[calibration.edges]");
    out.put("from", index(edge.from));
    out.put("to", index(edge.to));
    out.put("latency", time(edge.latency));
    if (edge.bandwidth) out.put("bandwidth", quoted(format_closely(*edge.bandwidth)));
    out.put("largest-residual", fmt::format("{:.3f}", edge.largest_residual));
    out.put("samples", list(edge.samples, [](const TransferSample& sample) {
              return fmt::format("[{}, {}]", sample.bytes.count(), time(sample.time));
            }));
  }
}

} // namespace

std::string calibration_toml(const Calibration& calibration) {
  Writer out;
  if (calibration.contended) out.comment("CONTENDED: stages shared their cores with others; these times say little");
  out.put("title", quoted(calibration.facts.compute));
  out.put("source", quoted(fmt::format("measured on {}, backend {}{}", calibration.facts.machine,
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
