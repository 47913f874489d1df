#pragma once
// Plugins: shared libraries, loaded when a backend needs them. Each exports one constant, a table of functions, whose
// first member is the version of ppsim that it was built with.

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::runtime {

/// Paths at which `plugin` ("ppsim_mpi") is searched, in this order: $PPSIM_PLUGIN_DIR; next to the program; the plugin
/// folder of the installation, relative to the program.
[[nodiscard]] std::vector<std::string> plugin_paths(std::string_view plugin);

/// Loads `plugin` permanently and returns the address of `symbol`. Throws Error (failed) with the tried paths, the
/// reason, and `remedy`.
[[nodiscard]] void* plugin_symbol(std::string_view plugin, const std::string& symbol, std::string_view remedy);

/// Throws Error (failed) if the plugin was built with another version of ppsim.
void check_plugin_version(std::string_view plugin, std::string_view version);

/// The table that `plugin` exports: load_plugin<MpiPlugin>("ppsim_mpi", "ppsim_mpi_plugin", "apt-get install ...").
/// Throws Error (failed), as above.
template <class Table>
[[nodiscard]] const Table& load_plugin(std::string_view plugin, const std::string& symbol, std::string_view remedy) {
  const auto& table = *static_cast<const Table*>(plugin_symbol(plugin, symbol, remedy));
  check_plugin_version(plugin, table.version);
  return table;
}

} // namespace ppsim::runtime
