#include "progress.hpp"

#include "ppsim/base/call.hpp"

#include <fmt/format.h>

#include <cmath>

#include "console.hpp"
#include <unistd.h>

namespace ppsim::cli {
namespace {

/// Shorter waits need no progress.
constexpr std::chrono::seconds patience{1};

/// False for a library caller, which has its own terminal.
bool shows_progress() {
  return current_call() == nullptr && ::isatty(STDERR_FILENO) != 0;
}

} // namespace

std::string progress_line(std::size_t done, std::size_t of, std::string_view what,
                          std::chrono::steady_clock::duration elapsed) {
  const double seconds = std::chrono::duration<double>{elapsed}.count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = of == 0 ? fmt::format("{} {}", done, what) : fmt::format("{} of {} {}", done, of, what);
  if (rate > 0) line += fmt::format(", {:.{}f} a second", rate, rate < 10 ? 1 : 0);
  if (rate > 0 && of > done) line += fmt::format(", {:.0f} s left", std::ceil(static_cast<double>(of - done) / rate));
  return line;
}

Progress::Progress(std::string what) : what_{std::move(what)}, terminal_{shows_progress()} {}

Progress::~Progress() {
  if (shown_) say("\r\033[K");
}

void Progress::step(std::size_t count) {
  const std::scoped_lock lock{mutex_};
  ++done_;
  if (!terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
  say(fmt::format("\r\033[Kppsim: {}", progress_line(done_, count, what_, std::chrono::steady_clock::now() - start_)));
  shown_ = true;
}

ComparedRuns compare_watched(const RunSpec& spec, std::size_t threads) {
  Progress progress{"schedules"};
  return compare(spec, threads, watched_by(progress));
}

ProgressLine::ProgressLine() : terminal_{shows_progress()} {}

ProgressLine::~ProgressLine() {
  if (shown_) say("\r\033[K");
}

void ProgressLine::show(const std::string& line) {
  if (!terminal_) return;
  constexpr std::chrono::milliseconds pause{100};
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < patience || now - last_ < pause) return;
  last_ = now;
  say(fmt::format("\r\033[Kppsim: {}", line));
  shown_ = true;
}

void ProgressCount::show(std::size_t done, std::size_t of) {
  line_.show(progress_line(done, of, what_, std::chrono::steady_clock::now() - start_));
}

void ProgressShare::show(double share) {
  line_.show(fmt::format("{:.0f} % {}", 100 * share, what_));
}

} // namespace ppsim::cli
