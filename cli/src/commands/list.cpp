// ppsim list: what there is to choose from.

#include "ppsim/sim/report.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A row of a list: its name and its columns.
struct Row {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> columns;
};

std::vector<Row> schedule_rows() {
  std::vector<Row> rows;
  for (const Generator* generator : generators())
    rows.push_back({generator->name,
                    {{"order", generator->summary},
                     {"placement", generator->placement},
                     {"promise", generator->promise},
                     {"constraints", generator->constraints},
                     {"source", generator->source}}});
  return rows;
}

std::vector<Row> format_rows() {
  return {
      {"pytorch-csv",
       {{"files", "*.csv"},
        {"what", "PyTorch pipelining CSV: a row per stage"},
        {"read", "--schedule-file, check"},
        {"write", "--csv, --csv-comms"}}},
      {"infinitrain-tasks",
       {{"files", "*.tasks.csv"},
        {"what", "InfiniTrain task list: a line per task"},
        {"read", "--schedule-file, check"},
        {"write", "--csv"}}},
      {"scenario", {{"files", "*.toml"}, {"what", "options as TOML"}, {"read", "--scenario"}}},
      {"report", {{"files", "*.json"}, {"what", "the report, schema 1"}, {"write", "--json"}}},
      {"comparison", {{"files", "*.json"}, {"what", "a comparison, schema 1"}, {"write", "compare --json"}}},
      {"comparison-table",
       {{"files", "*.md"}, {"what", "a comparison as a GitHub table"}, {"write", "compare --markdown"}}},
      {"chrome-trace", {{"files", "*.json"}, {"what", "Chrome trace events, for Perfetto"}, {"write", "--trace"}}},
      {"svg",
       {{"files", "*.svg"}, {"what", "Gantt chart; of a comparison, several on one time axis"}, {"write", "--svg"}}}};
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

/// One closed set that can be listed.
struct List {
  std::string_view name;
  std::vector<Row> (*rows)();
};
constexpr std::array lists{List{"schedules", schedule_rows}, List{"formats", format_rows},
                           List{"metrics", metric_rows}};

const List& find_list(const std::optional<std::string>& name) {
  std::vector<std::string_view> names;
  for (const List& list : lists) {
    if (name == list.name) return list;
    names.push_back(list.name);
  }
  const std::string choices = fmt::format("one of {}", fmt::join(names, ", "));
  if (!name) throw Error{ExitCode::bad_input, Problem{"list", "needs to know what", choices}};
  throw Error{ExitCode::bad_input,
              Problem{"list", fmt::format("unknown list {}", in_quotes(*name)), did_you_mean(*name, names, choices)}};
}

std::string rows_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{}\n", row.name);
    for (const auto& [column, value] : row.columns) text += fmt::format("  {:<11} {}\n", column, value);
  }
  return text;
}

std::string rows_json(const List& list, const std::vector<Row>& rows) {
  Json json{{"schema", 1}, {std::string{list.name}, Json::array()}};
  for (const Row& row : rows) {
    Json entry{{"name", row.name}};
    for (const auto& [column, value] : row.columns) entry[std::string{column == "name" ? "title" : column}] = value;
    json[std::string{list.name}].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

ExitCode run(const Inputs& inputs) {
  const List& list = find_list(inputs.file);
  const std::vector<Row> rows = list.rows();
  if (inputs.json) write_file(*inputs.json, rows_json(list, rows), "--json");
  if (inputs.json != "-") write_file("-", rows_text(rows), "list");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 1> extra{"json"};
constexpr std::array examples{
    Example{"ppsim list schedules", "every schedule by name, with what it promises and refuses"}};

} // namespace

extern const Command list_command;
const Command list_command{.name = "list",
                           .summary = "schedules, formats and metrics there are",
                           .usage = "ppsim list schedules | formats | metrics [--json[=FILE]]",
                           .argument = "WHAT",
                           .argument_help = "schedules, formats or metrics",
                           .argument_choices = "schedules formats metrics ",
                           .sections = {},
                           .extra = extra,
                           .examples = examples,
                           .run = run};

} // namespace ppsim::cli
