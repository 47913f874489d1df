// ppsim costs: the costs of a model's blocks, from its shape.

#include "ppsim/scenario/model.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/files.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::costs_command {
namespace {

using Json = nlohmann::ordered_json;

/// 3 to 4 digits: "856 M", "70.55 G".
std::string as_count(std::int64_t count) {
  constexpr std::array<std::pair<double, std::string_view>, 5> units{
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  const auto value = static_cast<double>(count);
  for (const auto& [size, unit] : units)
    if (value >= size) return fmt::format("{:.4g} {}", value / size, unit);
  return fmt::format("{}", count);
}

std::string as_time(std::int64_t ns) {
  return format_duration(Duration{ns});
}
std::string as_size(std::int64_t bytes) {
  return format_bytes(Bytes{bytes});
}

/// One figure of a block: a time, a size or a count.
struct Figure {
  std::string_view key;
  std::string_view title;
  std::string (*in_words)(std::int64_t);
  std::int64_t (*number)(const BlockCosts&);
};

using Costs = const BlockCosts&;
constexpr std::array figures{
    Figure{"forward_ns", "F", as_time, [](Costs block) { return block.forward.count(); }},
    Figure{"input_grad_ns", "I", as_time, [](Costs block) { return block.input_grad.count(); }},
    Figure{"weight_grad_ns", "W", as_time, [](Costs block) { return block.weight_grad.count(); }},
    Figure{"forward_collective_ns", "of F, communication", as_time,
           [](Costs block) { return block.forward_collective.count(); }},
    Figure{"input_grad_collective_ns", "of I, communication", as_time,
           [](Costs block) { return block.input_grad_collective.count(); }},
    Figure{"forward_flop", "F, operations", as_count, [](Costs block) { return block.flops.forward; }},
    Figure{"input_grad_flop", "I, operations", as_count, [](Costs block) { return block.flops.input_grad; }},
    Figure{"weight_grad_flop", "W, operations", as_count, [](Costs block) { return block.flops.weight_grad; }},
    Figure{"activation_bytes", "activations", as_size, [](Costs block) { return block.activation.count(); }},
    Figure{"weight_activation_bytes", "of these, W needs", as_size,
           [](Costs block) { return block.activation_for_weight.count(); }},
    Figure{"selective_checkpoint_bytes", "kept, --recompute selective", as_size,
           [](Costs block) { return block.selective.checkpoint.count(); }},
    Figure{"selective_recompute_ns", "its longer backward", as_time,
           [](Costs block) { return block.selective.time.count(); }},
    Figure{"full_checkpoint_bytes", "kept, --recompute full", as_size,
           [](Costs block) { return block.full.checkpoint.count(); }},
    Figure{"full_recompute_ns", "its longer backward", as_time, [](Costs block) { return block.full.time.count(); }},
    Figure{"parameters", "parameters, number", as_count, [](Costs block) { return block.parameters; }},
    Figure{"parameter_bytes", "parameters, size", as_size, [](Costs block) { return block.parameter_bytes.count(); }},
    Figure{"gradient_bytes", "gradients", as_size, [](Costs block) { return block.gradient_bytes.count(); }},
    Figure{"optimizer_bytes", "optimizer state", as_size, [](Costs block) { return block.optimizer_bytes.count(); }},
    Figure{"reduce_ns", "gradient reduction", as_time, [](Costs block) { return block.reduce.count(); }},
    Figure{"optimizer_ns", "optimizer step", as_time, [](Costs block) { return block.optimizer.count(); }},
    Figure{"gather_ns", "parameters gathered", as_time, [](Costs block) { return block.gather.count(); }},
};

/// One kind of block, with its number in the model.
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
  std::string text = fmt::format("{}: {} parameters", model.name, as_count(parameters.total));
  if (parameters.active != parameters.total) text += fmt::format(", {} active", as_count(parameters.active));
  if (parameters.mtp > 0) text += fmt::format(", {} more for multi-token prediction", as_count(parameters.mtp));
  text += fmt::format("\ncosts: {}\nper rank, for a microbatch of {} x {} tokens{}\n\n", cost_source(inputs),
                      training.microbatch_size, tokens, split_words(training));
  text += fmt::format("  {:28}", "");
  for (const Row& row : rows)
    text += fmt::format(" {:>16}", row.count > 1 ? fmt::format("{} x {}", row.count, row.title) : row.title);
  text += '\n';
  for (const Figure& figure : figures) {
    if (std::ranges::none_of(rows, [&](const Row& row) { return figure.number(*row.costs) > 0; })) continue;
    text += fmt::format("  {:28}", figure.title);
    for (const Row& row : rows) text += fmt::format(" {:>16}", figure.in_words(figure.number(*row.costs)));
    text += '\n';
  }
  text += fmt::format("\n  between stages: {}\n", format_bytes(costs.boundary));
  if (costs.pass > Duration{0})
    text += fmt::format("  in addition to its blocks, each forward and backward of a chunk takes {}\n",
                        format_duration(costs.pass));
  return text;
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
            {"tied_embedding_bytes", costs.tied_embedding.count()},
            {"pass_ns", costs.pass.count()}};
  for (const Row& row : rows_of(model, costs)) {
    Json entry{{"block", row.key}, {"count", row.count}};
    for (const Figure& figure : figures) entry[std::string{figure.key}] = figure.number(*row.costs);
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
  note_all(link_notes(inputs));
  if (inputs.json) write_file(*inputs.json, costs_json(inputs, model, *costs), "--json");
  if (inputs.json != "-") write_file("-", costs_text(inputs, model, *costs), "costs");
  return ExitCode::done;
}

constexpr std::array sections{Section::model};
constexpr std::array<std::string_view, 2> extra{"layers", "json"};
constexpr std::array<std::string_view, 2> except{"flops", "measured-step"}; // there is no step
constexpr std::array examples{
    Example{"ppsim costs --model llama-3-70b --device h100 --tensor-parallel 8",
            "how long a layer takes and what it keeps in memory, before you choose a schedule"},
};

} // namespace

const Command definition{.name = "costs",
                         .summary = "show what the blocks of a model cost on a device, computed from its shape",
                         .usage = "ppsim costs --model NAME|FILE --device NAME|FILE [options]",
                         .sections = sections,
                         .extra = extra,
                         .except = except,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::costs_command
