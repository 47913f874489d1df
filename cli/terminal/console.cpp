#include "console.hpp"

#include "ppsim/base/words.hpp"

#include <csignal>
#include <cstdio>

#include "files/memory_files.hpp"
#include "options/options.hpp"
#include <fcntl.h>
#include <unistd.h>

namespace ppsim::cli {

void prepare_console() {
  // The lowest free number is the closed stream's; opened in the wrong mode, it stays unusable.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0) // NOLINT(cppcoreguidelines-pro-type-vararg)
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)); // NOLINT(*-vararg)
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void say(std::string_view text) noexcept {
  if (current_call() != nullptr) return; // a library caller has its own terminal
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void note(std::string_view what) {
  if (MemoryFiles* const files = MemoryFiles::current()) return files->note(std::string{what});
  say(in_flags(fmt::format("ppsim: note: {}\n", what)));
}

} // namespace ppsim::cli
