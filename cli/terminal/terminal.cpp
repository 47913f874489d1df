#include "terminal.hpp"

#include "ppsim/base/call.hpp"
#include "ppsim/runtime/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace ppsim::cli {
namespace {

constexpr std::size_t default_width = 100;
constexpr std::size_t narrowest = 60;
constexpr std::size_t widest = 240;

std::size_t environment_width() {
  const char* columns = std::getenv("COLUMNS"); // NOLINT(concurrency-mt-unsafe): nothing writes the environment
  const std::string_view text = columns == nullptr ? "" : columns;
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  return width;
}

} // namespace

viz::TextOptions terminal_options() {
  const bool terminal = current_call() == nullptr && ::isatty(STDOUT_FILENO) != 0;
  std::size_t width = environment_width();
  winsize size{};
  if (width == 0 && terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) width = default_width;
  const char* no_color = std::getenv("NO_COLOR"); // NOLINT(concurrency-mt-unsafe)
  const bool plain = no_color != nullptr && *no_color != '\0';
  // mpirun gives its processes their own terminal, wherever their output goes.
  return {std::clamp(width, narrowest, widest), terminal && !plain && !runtime::launch()};
}

} // namespace ppsim::cli
