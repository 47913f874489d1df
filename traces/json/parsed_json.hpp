#pragma once
// Parses JSON documents from others.

#include <string_view>

#include <nlohmann/json.hpp>

namespace ppsim::traces {

/// `text` as a document that keeps the order of keys. Throws Error (bad_input) by line and column if it is not JSON, if
/// keys are repeated, or if lists and objects are nested deeper than in any document of ppsim. `where` names the file;
/// `not_one` is the hint for other documents, and `range` for a number out of range.
[[nodiscard]] nlohmann::ordered_json parsed_json(std::string_view text, std::string_view where,
                                                 std::string_view not_one, std::string_view range);

} // namespace ppsim::traces
