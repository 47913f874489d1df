#pragma once
// Plugins: shared libraries that are loaded when a backend needs them. Each exports one constant, a table of functions,
// the first member of which is the version of ppsim that it was built with.

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::runtime {

/// Where `plugin` ("ppsim_mpi") is looked for, in this order: $PPSIM_PLUGIN_DIR; beside the program; in the
/// folder that plugins are installed to, as it lies from there.
[[nodiscard]] std::vector<std::string> plugin_paths(std::string_view plugin);

/// Loads `plugin` (it stays loaded) and returns the address of `symbol`. Throws Error (failed): what was tried, why it
/// did not do, and `remedy`.
[[nodiscard]] void* plugin_symbol(std::string_view plugin, const std::string& symbol, std::string_view remedy);

/// Throws Error (failed) where a plugin was built with another version of ppsim.
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
