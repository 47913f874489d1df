#pragma once
// Messages on stderr, and robust handling of the three standard streams.

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ppsim::cli {

/// Call it once, before any file is opened. Streams that were closed stay unusable, so that no file takes their number
/// and receives messages. Writing to a closed pipe, or beyond the file size limit, becomes an error code.
void prepare_console();

/// Writes to stderr unchanged; nothing if this thread works for a Call. Failures are ignored: result and status do not
/// depend on it.
void say(std::string_view text) noexcept;

/// "ppsim: note: ..." on its own line, with fields as flags (in_flags()). If this thread works for MemoryFiles, it
/// stores the note unchanged.
void note(std::string_view what);
template <class... Arguments>
  requires(sizeof...(Arguments) > 0)
void note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  note(std::string_view{fmt::format(format, std::forward<Arguments>(arguments)...)});
}
void note_all(const auto& notes) {
  for (const std::string_view what : notes) note(what);
}

} // namespace ppsim::cli
