#include "ppsim/scenario/document.hpp"

#include "ppsim/base/utf8.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ppsim {
namespace {

std::string on_one_line(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || begins_with_control(text))
      result += '?';
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string text_of(const std::vector<ScenarioDocument::Entry>& entries) {
  std::string text;
  for (const auto& [key, value, comment] : entries) {
    if (!comment.empty()) text += fmt::format("# {}\n", on_one_line(comment));
    if (!key.empty()) text += fmt::format("{} = {}\n", key, value);
    if (key.empty() && comment.empty()) text += '\n';
  }
  return text;
}

} // namespace

std::string toml_time(Duration time) {
  return toml_string(format_closely(time));
}

void ScenarioDocument::add(std::string key, std::string value, std::string comment) {
  std::vector<Entry>& last = tables.empty() ? entries : tables.back().entries;
  last.push_back({std::move(key), std::move(value), std::move(comment)});
}

void ScenarioDocument::add(std::string key, std::size_t value) {
  add(std::move(key), std::to_string(value));
}

void ScenarioDocument::add_comment(std::string text) {
  add({}, std::string{}, std::move(text));
}

void ScenarioDocument::add_empty_line() {
  add({}, std::string{});
}

void ScenarioDocument::add_table(std::string name) {
  tables.push_back({std::move(name), {}});
}

void ScenarioDocument::set(std::string_view key, std::string value) {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  if (entry != entries.end())
    entry->value = std::move(value);
  else
    entries.push_back({std::string{key}, std::move(value)});
}

const ScenarioDocument::Entry* ScenarioDocument::find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &Entry::key);
  return entry == entries.end() ? nullptr : &*entry;
}

std::string ScenarioDocument::text() const {
  std::string text = text_of(entries);
  for (const Table& table : tables) text += fmt::format("\n[{}]\n{}", table.name, text_of(table.entries));
  return text;
}

} // namespace ppsim
