#pragma once
// Words for people.

#include <cstddef>
#include <string>
#include <string_view>

namespace ppsim {

/// "4 stages", "1 stage"; with "es" as the ending of several, "2 microbatches".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun, std::string_view plural_ending = "s");

} // namespace ppsim
