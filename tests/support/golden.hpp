#pragma once
// Files of the repository in tests. Golden files: whole outputs, compared byte by byte with what tests/golden holds.

#include <filesystem>
#include <string_view>

namespace ppsim::test {

/// Of a file by its path in the repository.
std::filesystem::path source_path(std::string_view path);

/// Fails the test unless tests/golden/`name` holds exactly `actual`. With PPSIM_UPDATE_GOLDEN set, a file that differs
/// is rewritten and the test fails this once, so that a change is always seen.
void check_golden(std::string_view name, std::string_view actual);

} // namespace ppsim::test
