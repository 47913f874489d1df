#include "scenario_file.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "load_model.hpp"
#include "options/setters.hpp"
#include "toml_file.hpp"

namespace ppsim::cli {
namespace {

/// Additional results of a calibration, or the origin of scaled costs: for readers, `ppsim validate` and `ppsim scale`;
/// not part of a scenario.
constexpr std::string_view calibration_table = "calibration";
constexpr std::string_view scaled_table = "scaled";
constexpr std::string_view measured_table = "measured"; ///< as above, from an import

bool holds_facts(std::string_view key, const toml::node& node) {
  if (key == measured_table && node.is_table())
    return node.as_table()->size() == 1 && (*node.as_table())["run"].is_string();
  return (key == calibration_table || key == scaled_table) && node.is_table();
}

/// A value as a flag's argument; none for types that no flag accepts (tables, dates).
std::optional<std::string> as_flag_value(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{:#}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) return std::nullopt;
  std::string joined;
  for (const toml::node& element : *array) {
    if (element.is_array()) return std::nullopt;
    const auto value = as_flag_value(element);
    if (!value) return std::nullopt;
    if (!joined.empty()) joined += ',';
    joined += *value;
  }
  return joined;
}

std::vector<std::string_view> scenario_keys() {
  std::vector<std::string_view> keys;
  for (const Option& option : options())
    if (is_scenario_key(option)) {
      keys.push_back(option.name);
      std::ranges::copy(option.aliases(), std::back_inserter(keys));
    }
  return keys;
}

/// The option of a key; adds a problem if there is none.
const Option* option_of(const std::string& key, bool is_table, const std::string& where, Problems& problems) {
  const Option* option = find_option(key);
  if (option == nullptr && is_table) {
    problems.add(where, fmt::format("unknown table {}", in_quotes(key)),
                 did_you_mean(key, {calibration_table, scaled_table},
                              "write its keys without it: a scenario has no tables of its own"));
    return nullptr;
  }
  if (option == nullptr) {
    problems.add(
        where, fmt::format("unknown key {}", in_quotes(key)),
        did_you_mean(
            key, scenario_keys(),
            "keys are the options of 'ppsim simulate --help' and 'ppsim replay --help' without the leading dashes"));
    return nullptr;
  }
  if (is_scenario_key(*option)) return option;
  problems.add(where, fmt::format("{} does not belong in a scenario", in_quotes(key)),
               fmt::format("give --{} on the command line", option->name));
  return nullptr;
}

/// Paths in the file are relative to its folder.
std::string resolve_paths(const Option& option, std::string value, std::string_view scenario_name) {
  const std::filesystem::path folder = std::filesystem::path{scenario_name}.parent_path();
  if (option.name == "schedule-file") return value == "-" ? value : (folder / value).string();
  return from_folder(option, std::move(value), folder.string());
}

/// A TOML value as an option's value; none if it is missing or has another type.
template <class Value>
std::optional<Value> unit_in(const toml::node_view<const toml::node>& node,
                             std::optional<Value> (*parse)(std::string_view)) {
  const auto text = node.value_exact<std::string>();
  return text ? parse(*text) : std::nullopt;
}

std::optional<StageId> stage_in(const toml::node_view<const toml::node>& node) {
  const auto number = node.value_exact<std::int64_t>();
  if (!number || *number < 0) return std::nullopt;
  return make_id<StageId>(static_cast<std::size_t>(*number));
}

std::optional<runtime::TransferFit> edge_in(const toml::node& node) {
  const toml::node_view edge{node};
  const auto from = stage_in(edge["from"]);
  const auto to = stage_in(edge["to"]);
  const auto latency = unit_in<Duration>(edge["latency"], parse_duration);
  const auto bandwidth = unit_in<Bandwidth>(edge["bandwidth"], parse_bandwidth);
  if (!from || !to || !latency || (edge["bandwidth"] && !bandwidth)) return std::nullopt;
  return runtime::TransferFit{.from = *from, .to = *to, .latency = *latency, .bandwidth = bandwidth, .samples = {}};
}

/// Each element of the array `node`, converted by `read`. None if it is missing or an element cannot be converted.
template <class Read>
auto all_in(const toml::node_view<const toml::node>& node, Read read) {
  using Value = typename std::invoke_result_t<Read, const toml::node&>::value_type;
  std::optional<std::vector<Value>> values;
  const toml::array* const array = node.as_array();
  if (array == nullptr || array->empty()) return values;
  values.emplace();
  for (const toml::node& element : *array) {
    const auto value = read(element);
    if (!value) return std::optional<std::vector<Value>>{};
    values->push_back(*value);
  }
  return values;
}

/// The medians of a list of [median, 5th percentile, 95th percentile], one by chunk.
std::vector<Duration> medians(const toml::node_view<const toml::node>& list, std::string_view name) {
  auto times = all_in(list, [](const toml::node& chunk) {
    const toml::array* spread = chunk.as_array();
    const bool has_median = spread != nullptr && !spread->empty();
    return has_median ? unit_in<Duration>(toml::node_view{(*spread)[0]}, parse_duration) : std::nullopt;
  });
  if (times) return std::move(*times);
  throw Error{ExitCode::bad_input,
              Problem{fmt::format("{}: [{}] alone", name, calibration_table),
                      "forward, input-grad and weight-grad are not lists of [median, 5th, 95th percentile]",
                      "calibrate again, or leave the table out"}};
}

/// As people write it: numbers and booleans without quotes, everything else with them.
std::string toml_value(std::string_view text) {
  const std::size_t point = text.find('.');
  const bool digits = is_bare_number(text) && text.size() < 19;
  const bool number = digits && (text[0] != '0' || text.size() == 1 || point == 1) && point != 0 &&
                      point != text.size() - 1; // TOML needs a digit on both sides of a point, and no leading zeros
  return number || text == "true" || text == "false" ? std::string{text} : toml_string(text);
}

std::string toml_value(const Assignment& key) {
  const std::string_view placeholder = key.option->placeholder;
  if (placeholder == "TEXT") return toml_string(key.value);
  const std::vector<std::string_view> items = split_list(key.value);
  if (placeholder.find(',') == std::string_view::npos || items.size() == 1) return toml_value(key.value);
  return toml_list(items, [](std::string_view item) { return toml_value(item); });
}

/// The assignments in the file, key by key.
std::vector<Assignment> keys_of(const toml::table& table, std::string_view name, Problems& problems) {
  std::vector<Assignment> assignments;
  for (const auto& [key, node] : in_file_order(table)) {
    if (holds_facts(key->str(), *node)) continue;
    const std::string position = place(name, key->source());
    const Option* option = option_of(std::string{key->str()}, node->is_table(), position, problems);
    if (option == nullptr) continue;
    const std::string where = fmt::format("{}: {}", position, option->name);
    const auto same = std::ranges::find(assignments, option, &Assignment::option);
    if (same != assignments.end()) problems.add(where, fmt::format("also given at {}", same->where), "give it once");
    auto value = as_flag_value(*node);
    const bool takes_list = option->placeholder.find(',') != std::string_view::npos;
    if (!value || (node->is_array() && !takes_list)) {
      problems.add(where, "has a value of the wrong type", "give a string, a number, or a list of them");
      continue;
    }
    assignments.push_back({option, resolve_paths(*option, std::move(*value), name), where});
  }
  return assignments;
}

} // namespace

struct ScenarioFile::Parsed {
  toml::table table;
};

ScenarioFile::ScenarioFile(std::string_view text, std::string name, Problems& problems)
    : name_{std::move(name)},
      parsed_{std::make_shared<const Parsed>(parse_toml(
          text, name_,
          "keys are the long flags: stages = 4, forward = \"1.5ms\"; a schedule (CSV) is read with --schedule-file"))},
      keys_{keys_of(parsed_->table, name_, problems)} {}

bool ScenarioFile::is_calibrated() const {
  return parsed_->table[calibration_table].is_table() || parsed_->table[scaled_table].is_table();
}

std::optional<AloneCosts> ScenarioFile::alone_costs() const {
  const auto alone = parsed_->table[calibration_table]["alone"];
  if (!alone) return std::nullopt;
  AloneCosts costs{medians(alone["forward"], name_), medians(alone["input-grad"], name_),
                   medians(alone["weight-grad"], name_)};
  if (costs.forward.size() == costs.input_grad.size() && costs.forward.size() == costs.weight_grad.size()) return costs;
  throw Error{ExitCode::bad_input, Problem{fmt::format("{}: [{}] alone", name_, calibration_table),
                                           "forward, input-grad and weight-grad have different numbers of chunks",
                                           "calibrate again, or leave the table out"}};
}

std::optional<TransferLines> ScenarioFile::transfer_lines() const {
  const std::string_view found = parsed_->table[calibration_table]["edges"] ? calibration_table : scaled_table;
  const auto facts = parsed_->table[found];
  if (!facts["edges"]) return std::nullopt;
  auto edges = all_in(facts["edges"], edge_in);
  auto placement = all_in(facts["placement"], [](const toml::node& node) { return stage_in(toml::node_view{node}); });
  if (edges && placement) return TransferLines{std::move(*edges), std::move(*placement)};
  throw Error{ExitCode::bad_input,
              Problem{fmt::format("{}: [{}]", name_, found),
                      "its edges lack stages, a latency or a bandwidth, or the placement of the chunks is missing",
                      "calibrate again"}};
}

std::string ScenarioFile::measured_run() const {
  return parsed_->table[measured_table]["run"].value_exact<std::string>().value_or("");
}

std::optional<Measured> ScenarioFile::measured() const {
  const auto facts = parsed_->table[scaled_table];
  auto work = facts["from"].value_exact<std::string>();
  if (!work) return std::nullopt;
  return Measured{std::move(*work), facts["source"].value_exact<std::string>().value_or("")};
}

ScenarioDocument as_document(const std::vector<Assignment>& keys) {
  ScenarioDocument document;
  const Option* last = nullptr;
  for (const Assignment& key : keys) {
    if (last != nullptr && last->section != key.option->section) document.add_empty_line();
    last = key.option;
    document.add(std::string{key.option->name}, toml_value(key));
  }
  return document;
}

} // namespace ppsim::cli
