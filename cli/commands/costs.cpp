// ppsim costs: what the blocks of a model cost, by its shape.

#include "ppsim/scenario/model.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/files.hpp"
#include "options/commands.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::costs_command {
namespace {

using Json = nlohmann::ordered_json;

/// One figure of a block: a time, a size or a count.
struct Figure {
  std::string_view key;
  std::string_view title;
  Duration (*time)(const BlockCosts&);
  Bytes (*size)(const BlockCosts&);
  std::int64_t (*count)(const BlockCosts&);
};

constexpr Figure time_figure(std::string_view key, std::string_view title, Duration (*get)(const BlockCosts&)) {
  return {key, title, get, nullptr, nullptr};
}
constexpr Figure size_figure(std::string_view key, std::string_view title, Bytes (*get)(const BlockCosts&)) {
  return {key, title, nullptr, get, nullptr};
}
constexpr Figure count_figure(std::string_view key, std::string_view title, std::int64_t (*get)(const BlockCosts&)) {
  return {key, title, nullptr, nullptr, get};
}

using Costs = const BlockCosts&;
constexpr std::array figures{
    time_figure("forward_ns", "F", [](Costs block) { return block.forward; }),
    time_figure("input_grad_ns", "I", [](Costs block) { return block.input_grad; }),
    time_figure("weight_grad_ns", "W", [](Costs block) { return block.weight_grad; }),
    time_figure("forward_collective_ns", "of F, communication", [](Costs block) { return block.forward_collective; }),
    time_figure("input_grad_collective_ns", "of I, communication",
                [](Costs block) { return block.input_grad_collective; }),
    count_figure("forward_flop", "F, operations", [](Costs block) { return block.flops.forward; }),
    count_figure("input_grad_flop", "I, operations", [](Costs block) { return block.flops.input_grad; }),
    count_figure("weight_grad_flop", "W, operations", [](Costs block) { return block.flops.weight_grad; }),
    size_figure("activation_bytes", "activations", [](Costs block) { return block.activation; }),
    size_figure("weight_activation_bytes", "of them, W needs", [](Costs block) { return block.activation_for_weight; }),
    size_figure("selective_checkpoint_bytes", "kept, --recompute selective",
                [](Costs block) { return block.selective.checkpoint; }),
    time_figure("selective_recompute_ns", "its longer backward", [](Costs block) { return block.selective.time; }),
    size_figure("full_checkpoint_bytes", "kept, --recompute full", [](Costs block) { return block.full.checkpoint; }),
    time_figure("full_recompute_ns", "its longer backward", [](Costs block) { return block.full.time; }),
    count_figure("parameters", "parameters, number", [](Costs block) { return block.parameters; }),
    size_figure("parameter_bytes", "parameters, size", [](Costs block) { return block.parameter_bytes; }),
    size_figure("gradient_bytes", "gradients", [](Costs block) { return block.gradient_bytes; }),
    size_figure("optimizer_bytes", "optimizer state", [](Costs block) { return block.optimizer_bytes; }),
    time_figure("reduce_ns", "gradient reduction", [](Costs block) { return block.reduce; }),
    time_figure("optimizer_ns", "optimizer step", [](Costs block) { return block.optimizer; }),
};

/// One kind of block, and how many of it the model has.
struct Row {
  std::string_view key;
  std::string title;
  std::int64_t count;
  const BlockCosts* costs;
};

std::vector<Row> rows_of(const Model& model, const ModelCosts& costs) {
  const std::int64_t dense = model.experts > 0 ? std::min(model.dense_layers, model.layers) : model.layers;
  std::vector<Row> rows{{"embedding", "embedding", 1, &costs.embedding},
                        {"dense_layer", model.experts > 0 ? "dense layer" : "layer", dense, &costs.dense_layer},
                        {"moe_layer", "MoE layer", model.layers - dense, &costs.moe_layer},
                        {"mtp_layer", "MTP layer", model.mtp_layers, &costs.mtp_layer},
                        {"output", "output", 1, &costs.output}};
  std::erase_if(rows, [](const Row& row) { return row.count == 0; });
  return rows;
}

/// 3 to 4 digits: "856 M", "70.55 G".
std::string format_count(std::int64_t count) {
  constexpr std::array<std::pair<double, std::string_view>, 5> units{
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  const auto value = static_cast<double>(count);
  for (const auto& [size, unit] : units)
    if (value >= size) return fmt::format("{:.4g} {}", value / size, unit);
  return fmt::format("{}", count);
}

std::string cell(const Figure& figure, const BlockCosts& block) {
  if (figure.time != nullptr) return format_duration(figure.time(block));
  return figure.size != nullptr ? format_bytes(figure.size(block)) : format_count(figure.count(block));
}

/// ", tensor parallel 8, data parallel 4"
std::string split_words(const Training& training) {
  std::string words;
  for (const auto& [name, ranks] : {std::pair{"tensor", training.tensor_parallel},
                                    {"context", training.context_parallel},
                                    {"expert", training.expert_parallel},
                                    {"data", training.data_parallel}})
    if (ranks > 1) words += fmt::format(", {} parallel {}", name, ranks);
  return words;
}

std::string costs_text(const Inputs& inputs, const Model& model, const ModelCosts& costs) {
  const Training& training = inputs.training;
  const std::vector<Row> rows = rows_of(model, costs);
  const std::int64_t tokens = training.sequence_length > 0 ? training.sequence_length : model.sequence_length;
  const ParameterCount parameters = count_parameters(model);
  std::string text = fmt::format("{}: {} parameters", model.name, format_count(parameters.total));
  if (parameters.active != parameters.total) text += fmt::format(", {} active", format_count(parameters.active));
  if (parameters.mtp > 0) text += fmt::format(", {} more for multi-token prediction", format_count(parameters.mtp));
  text += fmt::format("\ncosts: {}\nof one rank, for a microbatch of {} x {} tokens{}\n\n", cost_source(inputs),
                      training.microbatch_size, tokens, split_words(training));
  text += fmt::format("  {:28}", "");
  for (const Row& row : rows)
    text += fmt::format(" {:>16}", row.count > 1 ? fmt::format("{} x {}", row.count, row.title) : row.title);
  text += '\n';
  for (const Figure& figure : figures) {
    const bool known = std::ranges::any_of(rows, [&](const Row& row) {
      const BlockCosts& block = *row.costs;
      if (figure.time != nullptr) return figure.time(block) > Duration{0};
      return figure.size != nullptr ? figure.size(block) > Bytes{} : figure.count(block) > 0;
    });
    if (!known) continue;
    text += fmt::format("  {:28}", figure.title);
    for (const Row& row : rows) text += fmt::format(" {:>16}", cell(figure, *row.costs));
    text += '\n';
  }
  return text + fmt::format("\n  between stages: {}\n", format_bytes(costs.boundary));
}

std::string costs_json(const Inputs& inputs, const Model& model, const ModelCosts& costs) {
  const ParameterCount parameters = count_parameters(model);
  Json json{{"schema", 1},
            {"model", model.name},
            {"device", inputs.device_sheet->name},
            {"source", cost_source(inputs)},
            {"parameters", parameters.total},
            {"active_parameters", parameters.active},
            {"mtp_parameters", parameters.mtp},
            {"boundary_bytes", costs.boundary.count()},
            {"tied_embedding_bytes", costs.tied_embedding.count()}};
  for (const Row& row : rows_of(model, costs)) {
    Json entry{{"block", row.key}, {"count", row.count}};
    for (const Figure& figure : figures)
      entry[std::string{figure.key}] = figure.time != nullptr   ? figure.time(*row.costs).count()
                                       : figure.size != nullptr ? figure.size(*row.costs).count()
                                                                : figure.count(*row.costs);
    json["blocks"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

ExitCode run(const Inputs& inputs) {
  Problems problems;
  if (!inputs.model) problems.add("--model", "missing", "which model? 'ppsim list models' shows the shipped ones");
  const std::optional<ModelCosts> costs = price_model(inputs, problems);
  problems.throw_if_any();
  const Model model = model_of(inputs);
  if (inputs.json) write_file(*inputs.json, costs_json(inputs, model, *costs), "--json");
  if (inputs.json != "-") write_file("-", costs_text(inputs, model, *costs), "costs");
  return ExitCode::done;
}

constexpr std::array sections{Section::model};
constexpr std::array<std::string_view, 2> extra{"layers", "json"};
constexpr std::array examples{
    Example{"ppsim costs --model llama-3-70b --device h100 --tensor-parallel 8",
            "what a layer takes and keeps, before a schedule is chosen"},
};

} // namespace

const Command definition{.name = "costs",
                         .summary = "what the blocks of a model cost on a device, computed from its shape",
                         .usage = "ppsim costs --model NAME|FILE --device NAME|FILE [options]",
                         .argument = "",
                         .argument_help = "",
                         .sections = sections,
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::costs_command
