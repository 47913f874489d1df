#include "plugin.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <unistd.h>

namespace ppsim::runtime {

namespace {

/// The folder of the running program; empty if the system does not report it.
std::string program_folder() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path().string();
}

} // namespace

std::vector<std::string> plugin_paths(std::string_view plugin) {
  std::vector<std::string> paths;
  const std::string file = fmt::format("{}.so", plugin);
  // Read before any thread of ppsim starts.
  if (const char* folder = std::getenv("PPSIM_PLUGIN_DIR"); // NOLINT(concurrency-mt-unsafe)
      folder != nullptr && *folder != '\0')
    paths.push_back(fmt::format("{}/{}", folder, file));
  if (const std::string folder = program_folder(); !folder.empty()) {
    paths.push_back(fmt::format("{}/{}", folder, file));
    paths.push_back(fmt::format("{}/{}/{}", folder, PPSIM_PLUGIN_FOLDER, file)); // its place after installation
  }
  return paths;
}

void* plugin_symbol(std::string_view plugin, const std::string& symbol, std::string_view remedy) {
  const std::string where = fmt::format("plugin {}", plugin);
  std::string tried;
  for (const std::string& path : plugin_paths(plugin)) {
    if (access(path.c_str(), F_OK) != 0) {
      tried += fmt::format("{}{}", tried.empty() ? "" : ", ", path);
      continue;
    }
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw Error(ExitCode::failed, {where, fmt::format("does not load: {}", dlerror()), std::string{remedy}});
    void* const address = dlsym(library, symbol.c_str());
    if (address == nullptr)
      throw Error(ExitCode::failed, {where, fmt::format("{} has no '{}'", path, symbol), "build and install it again"});
    return address;
  }
  throw Error(ExitCode::failed,
              {where, fmt::format("was not built or is not installed: found no {}", tried), std::string{remedy}});
}

void check_plugin_version(std::string_view plugin, std::string_view version) {
  if (version == PPSIM_VERSION) return;
  throw Error(ExitCode::failed,
              {fmt::format("plugin {}", plugin),
               fmt::format("belongs to ppsim {}, but the program is ppsim {}", version, PPSIM_VERSION),
               "build and install both together, or unset PPSIM_PLUGIN_DIR"});
}

} // namespace ppsim::runtime
