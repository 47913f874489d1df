#include "outputs.hpp"

#include "ppsim/base/error.hpp"

#include <filesystem>
#include <map>

namespace ppsim::cli {
namespace {

/// A unique name for a file; "-" for stdout. None for devices and pipes, which several outputs may share.
std::optional<std::string> place_of(const std::string& path) {
  if (path == "-") return path;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return std::nullopt;
  return real_path(path);
}

} // namespace

std::vector<Destination> sources(const Inputs& inputs) {
  std::vector<Destination> read{{"--scenario", inputs.scenario},       {"--schedule-file", inputs.schedule_file},
                                {"--jitter-from", inputs.jitter_from}, {"--timeline", inputs.timeline},
                                {"--published", inputs.published},     {"the file argument", inputs.file}};
  for (const std::string& path : inputs.files) read.push_back({"a file argument", path});
  return read;
}

bool uses_stdout(std::span<const Destination> destinations, std::span<const Destination> sources) {
  struct Use {
    std::string words;
    std::string_view remedy;
  };
  std::map<std::string, Use> taken;
  for (const auto& [option, path] : sources)
    if (const auto place = path && *path != "-" ? place_of(*path) : std::nullopt)
      taken.try_emplace(*place, Use{fmt::format("already read as {}", option), "write to another file"});
  for (const auto& [option, path] : destinations) {
    const auto place = path ? place_of(*path) : std::nullopt;
    if (!place) continue;
    const auto [found, is_new] =
        taken.try_emplace(*place, Use{fmt::format("already written by --{}", option), "send one of them elsewhere"});
    if (!is_new)
      throw Error{ExitCode::bad_input,
                  Problem{fmt::format("--{}", option),
                          fmt::format("{} is {}", *path == "-" ? "stdout" : in_quotes(*path), found->second.words),
                          std::string{found->second.remedy}}};
  }
  return taken.contains("-");
}

} // namespace ppsim::cli
