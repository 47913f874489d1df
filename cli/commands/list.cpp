// ppsim list: the available schedules, models, devices and so on.

#include "ppsim/base/parallel.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/operations/lowering.hpp"
#include "ppsim/report/report.hpp"
#include "ppsim/runtime/backend.hpp"
#include "ppsim/scenario/model.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/traces/import.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <array>

#include "files/files.hpp"
#include "options/commands.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::list_command {
namespace {

using Json = nlohmann::ordered_json;

/// A row of a list: its name and its columns, text or numbers. JSON has `figures` in place of the column of that name.
struct Row {
  std::string_view name;
  std::vector<std::pair<std::string_view, Json>> columns;
  Json figures = Json::object();
};

std::vector<Row> schedule_rows() {
  std::vector<Row> rows;
  for (const Generator* generator : generators())
    rows.push_back({generator->name,
                    {{"order", in_flags(generator->summary)},
                     {"placement", generator->placement},
                     {"promise", in_flags(generator->promise)},
                     {"constraints", in_flags(generator->constraints)},
                     {"source", generator->source}}});
  return rows;
}

/// The pipeline that schedules are held against the best order in.
RunSpec small_pipeline() {
  RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  spec.forward = std::vector{Duration{1'000'000}};
  spec.backward = std::vector{Duration{2'000'000}};
  spec.comm = std::vector{Duration{100'000}};
  spec.bound = true;
  return spec;
}

std::string in_words(const RunSpec& spec) {
  return fmt::format("{} stages, {} microbatches, F {}, B {}, transfers of {}", *spec.stages, *spec.microbatches,
                     format_duration(spec.forward->front()), format_duration(spec.backward->front()),
                     format_duration(spec.comm->front()));
}

/// Adds how far each schedule, at its best number of chunks, is from the best order of that pipeline.
void add_bounds(std::vector<Row>& rows) {
  const ComparedRuns compared = compare(small_pipeline(), machine_threads());
  const std::vector<Contender>& contenders = compared.comparison.contenders; // fastest first
  for (Row& row : rows) {
    const auto best = std::ranges::find_if(
        contenders, [&](const Contender& each) { return compared.candidate_of(each).spec.schedule == row.name; });
    if (best == contenders.end()) continue;
    const RunReport& report = best->report;
    const std::string chunks = best->shape.vpp == 1 ? "" : fmt::format(" with {} chunks per stage", best->shape.vpp);
    row.columns.emplace_back("bound", fmt::format("{}{}; {}", format_duration(report.makespan), chunks,
                                                  report.bound ? viz::bound_text(report) : "no bound is known"));
    row.figures["bound"] = {{"vpp", best->shape.vpp}, {"makespan_ns", report.makespan.count()}};
    if (report.bound) row.figures["bound"]["lower_bound_ns"] = report.bound->makespan.count();
  }
}

/// One kind of file, with the options and commands that read and write it, if any.
struct Format {
  std::string_view name;
  std::string_view files;
  std::string_view what;
  std::string_view read = {};
  std::string_view write = {};
};

std::vector<Row> format_rows() {
  constexpr std::array formats{
      Format{"pytorch-csv", "*.csv", "PyTorch pipelining CSV: a row per stage", "--schedule-file, check",
             "--csv, --csv-comms"},
      Format{"infinitrain-tasks", "*.tasks.csv", "InfiniTrain task list: a line per task", "--schedule-file, check",
             "--csv"},
      Format{"model", "*.toml", "a model's shape (docs/costs.md)", "--model"},
      Format{"device", "*.toml", "a device's datasheet (docs/costs.md)", "--device"},
      Format{"scenario", "*.toml", "options as TOML", "--scenario", "calibrate, scale, import --output"},
      Format{"report", "*.json", "the report, schema 1", "", "--json"},
      Format{"comparison", "*.json", "a comparison, schema 1", "", "compare --json"},
      Format{"comparison-table", "*.md", "a comparison as a GitHub table", "", "compare --markdown"},
      Format{"step-spread", "*.svg", "distribution of step times, schedule by schedule", "", "compare --jitter-svg"},
      Format{"variation", "*.json, *.md, *.svg", "step times over a varied quantity: data, table, plot", "",
             "compare --vary with --json, --markdown, --svg"},
      Format{"sweep", "*.csv, *.jsonl", "a row of figures for each combination of values (docs/sweeps.md)",
             "sweep --resume", "sweep --table"},
      Format{"run", "*.json, *.json.gz", "a measured run, step by step (docs/run-files.md)", "explain, validate",
             "replay --output, import --timeline"},
      Format{"validation", "*.json, *.svg", "a prediction compared with a run (docs/run-files.md)", "",
             "validate with --json, --svg"},
      Format{"accuracy", "*.json, *.md, *.svg",
             "many predictions compared with runs: data, table, plot (docs/run-files.md)", "",
             "validate of several runs with --json, --markdown, --svg"},
      Format{"synthesis", "*.json, *.svg", "an order found by search, what is proven about it, and how the search went",
             "", "synthesize with --json, --progress-svg"},
      Format{"certificate", "*.json", "an order, and a lower bound for all orders (docs/synthesis.md)", "certify",
             "synthesize --certificate"},
      Format{"published-runs", "*.csv", "published step times, and the options that simulate them",
             "validate --published"},
      Format{"published-errors", "*.json, *.md, *.svg",
             "predictions compared with published step times: data, tables, plot", "",
             "validate --published with --json, --markdown, --svg"},
      Format{"chakra", "*.et", "MLCommons Chakra execution trace, one per stage, for ASTRA-sim", "", "--chakra"},
      Format{"goal", "*.goal", "GOAL, for LogGOPSim", "", "--goal"},
      Format{"explanation", "*.json", "an explanation of a run", "", "explain --json"},
      Format{"chrome-trace", "*.json", "Chrome trace events, for Perfetto", "", "--trace"},
      Format{"svg", "*.svg", "Gantt chart; of a comparison, several on one time axis", "", "--svg"},
      Format{"page", "*.html", "a page to look into, with its data (docs/formats.md)", "", "--html"}};
  std::vector<Row> rows;
  for (const auto& [name, files, what, read, write] : formats) {
    Row& row = rows.emplace_back(Row{name, {{"files", files}, {"what", what}}});
    if (!read.empty()) row.columns.emplace_back("read", read);
    if (!write.empty()) row.columns.emplace_back("write", write);
  }
  for (const traces::ImportFormat* format : traces::import_formats())
    rows.push_back(
        {format->name,
         {{"files", format->files}, {"what", format->what}, {"read", fmt::format("import {} FILES", format->name)}}});
  return rows;
}

std::vector<Row> lowering_rows() {
  std::vector<Row> rows;
  for (const Lowering* lowering : lowerings()) {
    rows.push_back({lowering->name, {{"places", lowering->summary}, {"p2p", to_string(lowering->communicators)}}});
    if (lowering->takes_overlap)
      rows.back().columns.emplace_back(
          "overlapped",
          fmt::format("{}; {} on two stages", to_string(lowering->overlapped), to_string(lowering->overlapped_by_two)));
    rows.back().columns.emplace_back("source", lowering->source);
  }
  return rows;
}

std::vector<Row> metric_rows() {
  std::vector<Row> rows;
  for (const Metric& metric : metrics())
    rows.push_back({metric.tag,
                    {{"name", metric.name},
                     {"unit", metric.unit()},
                     {"formula", metric.formula},
                     {"meaning", metric.description}}});
  return rows;
}

std::string shape_in_words(const Model& model) {
  std::string words =
      fmt::format("{} layers of width {}, FFN {}, {} heads", model.layers, model.hidden, model.ffn_hidden, model.heads);
  if (model.has_latent_attention())
    words += " with latent attention";
  else if (model.kv_heads != model.heads)
    words += fmt::format(" with {} key-value heads", model.kv_heads);
  if (model.experts > 0)
    words += fmt::format("; {} experts of {} in all but {} layers, {} per token and {} shared", model.experts,
                         model.expert_ffn_hidden, model.dense_layers, model.experts_per_token, model.shared_experts);
  if (model.expert_groups > 0)
    words += fmt::format(", from {} of {} groups", model.expert_groups_per_token, model.expert_groups);
  if (model.mtp_layers > 0) words += fmt::format("; {} for multi-token prediction", model.mtp_layers);
  return words + fmt::format("; vocabulary {}, sequence {}", model.vocab, model.sequence_length);
}

std::vector<Row> model_rows() {
  std::vector<Row> rows;
  for (const Model& model : models()) {
    const ParameterCount count = count_parameters(model);
    Row row{model.name, {{"parameters", count.total}}};
    if (count.active != count.total) row.columns.emplace_back("active", count.active);
    row.columns.emplace_back("shape", shape_in_words(model));
    row.columns.emplace_back("source", model.source);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string rates_in_words(const DeviceSheet& device) {
  std::string words;
  for (const DataType type : {DataType::bf16, DataType::fp8, DataType::tf32, DataType::fp32})
    if (const std::int64_t rate = device.flops_per_second(type); rate > 0)
      words +=
          fmt::format("{}{} {:g} TFLOPS", words.empty() ? "" : ", ", to_string(type), static_cast<double>(rate) / 1e12);
  return words;
}

std::string reached_in_words(const Reached& reached) {
  const auto percent = [](Share share) { return 100 * static_cast<double>(share) / static_cast<double>(whole_share); };
  return fmt::format("products {:.3g} % (fp8 {:.3g} %), attention fused {:.3g} %, unfused {:.3g} %, memory {:.3g} %; "
                     "{} a launch ({} in "
                     "backwards), {} a pass",
                     percent(reached.products), percent(reached.fp8_products), percent(reached.attention),
                     percent(reached.scores), percent(reached.memory), format_duration(reached.launch),
                     format_duration(reached.grad_launch), format_duration(reached.pass));
}

std::vector<Row> device_rows() {
  std::vector<Row> rows;
  for (const DeviceSheet& device : devices())
    rows.push_back({device.name,
                    {{"rates", rates_in_words(device)},
                     {"memory", fmt::format("{} at {:g} GB/s; {} of it is reserved", format_bytes(device.memory),
                                            static_cast<double>(device.memory_bandwidth.bytes_per_second()) / 1e9,
                                            format_bytes(device.reserved))},
                     {"link", device.link},
                     {"reached", reached_in_words(device.reached)},
                     {"source", device.source}}});
  return rows;
}

std::vector<Row> link_rows() {
  std::vector<Row> rows;
  for (const LinkSheet& link : links())
    rows.push_back({link.name,
                    {{"bandwidth",
                      fmt::format("{:g} GB/s each way", static_cast<double>(link.bandwidth.bytes_per_second()) / 1e9)},
                     {"reached", fmt::format("{:g} %", 100 * static_cast<double>(link.reached) / whole_share)},
                     {"latency", format_duration(link.latency)},
                     {"source", link.source}}});
  return rows;
}

/// The backends of replays, and whether they can be used on this machine.
std::vector<Row> backend_rows() {
  std::vector<Row> rows;
  for (const runtime::BackendEntry& entry : runtime::backends()) {
    const runtime::Usability usability = runtime::usability_of(entry);
    Row row{entry.name, {{"what", entry.summary}, {"usable", usability.usable}, {"here", usability.why}}};
    if (!usability.usable && !usability.remedy.empty()) row.columns.emplace_back("remedy", usability.remedy);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// One closed set that can be listed.
struct List {
  std::string_view name;
  std::vector<Row> (*rows)();
};
constexpr std::array lists{List{"schedules", schedule_rows}, List{"formats", format_rows},
                           List{"metrics", metric_rows},     List{"models", model_rows},
                           List{"devices", device_rows},     List{"links", link_rows},
                           List{"lowerings", lowering_rows}, List{"backends", backend_rows}};

const List& find_list(const std::optional<std::string>& name) {
  std::vector<std::string_view> names;
  for (const List& list : lists) {
    if (name == list.name) return list;
    names.push_back(list.name);
  }
  const std::string choices = fmt::format("one of {}", joined(names, ", "));
  if (!name) throw Error{ExitCode::bad_input, Problem{"list", "no list named", choices}};
  throw Error{ExitCode::bad_input,
              Problem{"list", fmt::format("unknown list {}", in_quotes(*name)), did_you_mean(*name, names, choices)}};
}

std::string rows_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{}\n", row.name);
    for (const auto& [column, value] : row.columns)
      text += fmt::format("  {:<11} {}\n", column,
                          value.is_string()    ? value.get<std::string>()
                          : value.is_boolean() ? (value.get<bool>() ? "yes" : "no")
                                               : value.dump());
  }
  return text;
}

std::string rows_json(const List& list, const std::vector<Row>& rows) {
  Json json{{"schema", 1}, {std::string{list.name}, Json::array()}};
  for (const Row& row : rows) {
    Json entry{{"name", row.name}};
    for (const auto& [column, value] : row.columns) entry[std::string{column == "name" ? "title" : column}] = value;
    entry.update(row.figures);
    json[std::string{list.name}].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

ExitCode run(const Inputs& inputs) {
  const List& list = find_list(inputs.file);
  std::vector<Row> rows = list.rows();
  if (inputs.bound) {
    if (list.rows != schedule_rows)
      throw Error{ExitCode::bad_input,
                  Problem{inputs.place_of("bound"), fmt::format("is for schedules, not for {}", list.name),
                          "leave it out, or 'ppsim list schedules --bound'"}};
    add_bounds(rows);
  }
  if (inputs.json) write_file(*inputs.json, rows_json(list, rows), "--json");
  const std::string note = inputs.bound ? fmt::format("\nbound: with {}\n", in_words(small_pipeline())) : "";
  if (inputs.json != "-") write_file("-", rows_text(rows) + note, "list");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 2> extra{"bound", "json"};
constexpr std::array examples{
    Example{"ppsim list schedules", "every schedule, with its guarantees and constraints"},
    Example{"ppsim list schedules --bound", "and how far each is from the best order in a small pipeline, at most"}};

} // namespace

const Command definition{.name = "list",
                         .summary = "list schedules, formats, metrics, models, devices, links, lowerings or backends",
                         .usage = "ppsim list WHAT [--bound] [--json[=FILE]]",
                         .argument = "WHAT",
                         .argument_help = "schedules, formats, metrics, models, devices, links, lowerings or backends",
                         .argument_choices = "schedules formats metrics models devices links lowerings backends ",
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::list_command
