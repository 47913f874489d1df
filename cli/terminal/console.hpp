#pragma once
// What the program says on stderr, and what it owes to those who gave it its three streams.

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace ppsim::cli {

/// To be called once, before any file is opened. Streams that were given closed stay without a reader or a writer, so
/// that no file of ours is opened in their place and then written to as stderr. Writing to a pipe whose reader has
/// left, or past the limit on a file's size, becomes an error that is looked at.
void prepare_console();

/// To stderr as it is; nothing where this thread works for a Call. Where that cannot be written nothing is said: the
/// result and its status do not depend on it.
void say(std::string_view text) noexcept;

/// "ppsim: note: ..." on a line of its own, with fields as flags (in_flags()); to MemoryFiles, where this thread works
/// for such a call, as it is.
void note(std::string_view what);
template <class... Arguments>
  requires(sizeof...(Arguments) > 0)
void note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  note(std::string_view{fmt::format(format, std::forward<Arguments>(arguments)...)});
}
/// Each of them.
void note_all(const auto& notes) {
  for (const std::string_view what : notes) note(what);
}

} // namespace ppsim::cli
