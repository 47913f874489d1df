#include "support/golden.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ppsim::test {

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

/// The first difference of two texts, with the line of each; whole SVGs in a log would not help.
std::string first_difference(std::string_view stored, std::string_view actual) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(stored, actual).in1 - stored.begin());
  const auto line_around = [at](std::string_view text) {
    const auto before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return std::string{text.substr(begin, text.find('\n', begin) - begin)};
  };
  const auto line = 1 + std::ranges::count(stored.substr(0, at), '\n');
  return "line " + std::to_string(line) + "\n  stored: " + line_around(stored) + "\n  actual: " + line_around(actual);
}

} // namespace

std::filesystem::path source_path(std::string_view path) {
  return std::filesystem::path{PPSIM_SOURCE_DIR} / path;
}

void check_golden(std::string_view name, std::string_view actual) {
  const auto path = source_path("tests/golden") / name;
  const std::string stored = read_file(path);
  if (stored == actual) {
    SUCCEED();
    return;
  }
  if (std::getenv("PPSIM_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << actual;
    FAIL_CHECK("updated " << path.string() << "; look at the diff, then run again");
    return;
  }
  FAIL_CHECK("golden file " << path.string() << " differs first in " << first_difference(stored, actual)
                            << "\nto accept: PPSIM_UPDATE_GOLDEN=1 ./test -L golden, then git diff");
}

} // namespace ppsim::test
