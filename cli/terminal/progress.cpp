#include "progress.hpp"

#include <fmt/format.h>

#include "console.hpp"
#include <unistd.h>

namespace ppsim::cli {
namespace {

/// Who waits for less does not ask how far it is.
constexpr std::chrono::seconds patience{1};

} // namespace

Progress::Progress(std::string what) : what_{std::move(what)}, terminal_{::isatty(STDERR_FILENO) != 0} {}

Progress::~Progress() {
  if (shown_) say("\r\033[K");
}

void Progress::step(std::size_t count) {
  const std::scoped_lock lock{mutex_};
  ++done_;
  if (!terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
  const std::string of = count == 0 ? "" : fmt::format(" of {}", count);
  say(fmt::format("\r\033[Kppsim: {}{} {}", done_, of, what_));
  shown_ = true;
}

ComparedRuns compare_watched(const RunSpec& spec, std::size_t threads) {
  Progress progress{"schedules"};
  return compare(spec, threads, watched_by(progress));
}

LineShown::LineShown() : terminal_{::isatty(STDERR_FILENO) != 0} {}

LineShown::~LineShown() {
  if (shown_) say("\r\033[K");
}

void LineShown::show(const std::string& line) {
  if (!terminal_) return;
  constexpr std::chrono::milliseconds pause{100};
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < patience || now - last_ < pause) return;
  last_ = now;
  say(fmt::format("\r\033[Kppsim: {}", line));
  shown_ = true;
}

void ShareShown::show(double share) {
  line_.show(fmt::format("{:.0f} % {}", 100 * share, what_));
}

} // namespace ppsim::cli
