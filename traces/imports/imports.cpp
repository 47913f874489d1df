#include "ppsim/traces/import.hpp"

#include <algorithm>

#include "gunzip.hpp"
#include "import_list.hpp"

namespace ppsim::traces {

std::span<const ImportFormat* const> import_formats() {
  static const std::vector<const ImportFormat*> formats{
#define PPSIM_IMPORT(format) &format::definition,
#include "imports.def"
#undef PPSIM_IMPORT
  };
  return formats;
}

const ImportFormat* find_import_format(std::string_view name) {
  const auto found = std::ranges::find(import_formats(), name, &ImportFormat::name);
  return found == import_formats().end() ? nullptr : *found;
}

const ImportFormat* guess_import_format(std::string_view bytes) {
  constexpr std::size_t searched = std::size_t{1} << 18; // logs begin with the settings of the training
  const std::string unpacked = is_gzip(bytes) ? gunzip_beginning(bytes, searched) : std::string{};
  const std::string_view beginning = is_gzip(bytes) ? unpacked : bytes.substr(0, searched);
  const auto found = std::ranges::find_if(import_formats(), [beginning](const ImportFormat* format) {
    return beginning.find(format->sign) != std::string_view::npos;
  });
  return found == import_formats().end() ? nullptr : *found;
}

} // namespace ppsim::traces
