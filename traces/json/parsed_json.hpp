#pragma once
// JSON documents of others, parsed.

#include <string_view>

#include <nlohmann/json.hpp>

namespace ppsim::traces {

/// `text` as a document whose keys stay in their order. Throws Error (bad_input) by line and column where it is no
/// JSON, and where keys occur twice or lists and objects are nested deeper than any document of ours. `where` names the
/// file; `not_one` is the hint where it is no such document, and `range` where a number is out of any range.
[[nodiscard]] nlohmann::ordered_json parsed_json(std::string_view text, std::string_view where,
                                                 std::string_view not_one, std::string_view range);

} // namespace ppsim::traces
