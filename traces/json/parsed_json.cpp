// Parses JSON documents from others; refuses hostile ones.

#include "parsed_json.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace ppsim::traces {
using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t deepest = 8;      ///< far deeper than any document of ppsim
constexpr std::size_t most_keys = 1000; ///< far more than any document of ppsim; lookups are linear in an object's keys

/// Checks for repeated keys, and excessive nesting and objects, which the parser accepts.
class StructureCheck {
public:
  StructureCheck(std::string_view where, std::string_view hint) : where_{where}, hint_{hint} {}

  bool operator()(Json::parse_event_t event, const Json& parsed) {
    switch (event) {
    case Json::parse_event_t::object_start:
    case Json::parse_event_t::array_start:
      if (open_.size() == deepest)
        refuse(fmt::format("lists and objects are nested more than {} deep", deepest), hint_);
      open_.emplace_back();
      break;
    case Json::parse_event_t::object_end:
    case Json::parse_event_t::array_end:
      open_.pop_back();
      break;
    case Json::parse_event_t::key:
      if (!open_.back().insert(parsed.get<std::string>()).second)
        refuse(fmt::format("the key {} occurs twice in one object", in_quotes(parsed.get<std::string>())),
               "keep one of them");
      if (open_.back().size() > most_keys) refuse(fmt::format("an object has more than {} keys", most_keys), hint_);
      break;
    case Json::parse_event_t::value:
      break;
    }
    return true;
  }

private:
  [[noreturn]] void refuse(std::string what, std::string_view hint) const {
    throw Error{ExitCode::bad_input, {std::string{where_}, std::move(what), std::string{hint}}};
  }

  std::string_view where_;
  std::string_view hint_;
  std::vector<std::set<std::string>> open_;
};

/// "run.json:3:17" of a byte, counted from 1.
std::string place_of(std::string_view text, std::size_t byte, std::string_view where) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const std::size_t line_begin = before.rfind('\n') + 1; // npos + 1 is 0
  return fmt::format("{}:{}:{}", where, std::ranges::count(before, '\n') + 1, before.size() - line_begin + 1);
}

} // namespace

nlohmann::ordered_json parsed_json(std::string_view text, std::string_view where, std::string_view not_one,
                                   std::string_view range) {
  try {
    return Json::parse(text.begin(), text.end(),
                       [check = StructureCheck{where, not_one}](int, Json::parse_event_t event, Json& parsed) mutable {
                         return check(event, parsed);
                       });
  } catch (const Json::parse_error& error) {
    const bool has_begun = text.find_first_not_of(" \t\r\n") != std::string_view::npos;
    if (has_begun && error.byte > text.size())
      throw Error{ExitCode::bad_input,
                  {place_of(text, error.byte, where), "the JSON ends too early", "copy it again: a part is missing"}};
    throw Error{ExitCode::bad_input, {place_of(text, error.byte, where), "this is not JSON", std::string{not_one}}};
  } catch (const Json::out_of_range&) {
    throw Error{ExitCode::bad_input, {std::string{where}, "a number in it is out of range", std::string{range}}};
  }
}

} // namespace ppsim::traces
