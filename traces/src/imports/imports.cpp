#include "ppsim/traces/import.hpp"

#include <algorithm>

namespace ppsim::traces {

#define PPSIM_IMPORT(format) extern const ImportFormat format;
#include "imports.def"
#undef PPSIM_IMPORT

std::span<const ImportFormat* const> import_formats() {
  static const std::vector<const ImportFormat*> formats{
#define PPSIM_IMPORT(format) &format,
#include "imports.def"
#undef PPSIM_IMPORT
  };
  return formats;
}

const ImportFormat* find_import_format(std::string_view name) {
  const auto found = std::ranges::find(import_formats(), name, &ImportFormat::name);
  return found == import_formats().end() ? nullptr : *found;
}

} // namespace ppsim::traces
