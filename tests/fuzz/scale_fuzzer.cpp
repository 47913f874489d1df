// Scenario files scaled to another workload: any bytes give a scenario that can be read again or a ppsim::Error.

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/files/scenario_file.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include <unistd.h>

namespace {

using namespace ppsim;

std::string read_all(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Their names; the files are removed at the end of the program.
struct Files {
  std::string input =
      fmt::format("{}/ppsim-scale-fuzzer-{}.toml", std::filesystem::temp_directory_path().string(), ::getpid());
  std::string output = input + ".scaled";
  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    std::error_code ignored;
    for (const std::string& file : {input, output}) std::filesystem::remove(file, ignored);
  }
};

void scale(std::string_view text) {
  static const Files files;
  const auto& [input, output] = files;
  std::ofstream{input, std::ios::binary} << text;
  const cli::Command& command = cli::find_command("scale");
  const cli::Inputs inputs = cli::parse_arguments(
      command, {input, "--tokens", "24", "--width", "48", "--layers-per-chunk", "3", "-o", output});
  command.run(inputs);
  Problems problems;
  cli::Inputs again;
  const cli::ScenarioFile scaled{read_all(output), "scaled.toml", problems};
  cli::assign(scaled.keys(), again, problems);
  static_cast<void>(scaled.transfer_lines());
  PPSIM_ASSERT(scaled.is_calibrated());
  problems.throw_if_any();
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  return std::freopen("/dev/null", "w", stdout) != nullptr ? 0 : 1; // the summary
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    scale({reinterpret_cast<const char*>(data), size}); // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  } catch (const Error&) {                              // a user's error; anything else is a bug
  }
  return 0;
}
