#include "outputs.hpp"

#include "ppsim/sim/error.hpp"

#include <filesystem>
#include <map>

namespace ppsim::cli {

bool uses_stdout(std::span<const Destination> destinations) {
  std::map<std::string, std::string_view> taken;
  for (const auto& [option, path] : destinations) {
    if (!path) continue;
    std::error_code error;
    const auto status = std::filesystem::status(*path, error);
    if (*path != "-" && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      continue; // a device
    const auto target = *path == "-" ? std::filesystem::path{*path} : std::filesystem::weakly_canonical(*path, error);
    const auto [place, is_new] = taken.try_emplace(error ? *path : target.string(), option);
    if (!is_new)
      throw Error{ExitCode::bad_input,
                  Problem{fmt::format("--{}", option),
                          fmt::format("{} is taken by --{}", *path == "-" ? "stdout" : in_quotes(*path), place->second),
                          "send one of them elsewhere"}};
  }
  return taken.contains("-");
}

} // namespace ppsim::cli
