#include "progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include <unistd.h>

namespace ppsim::cli {
namespace {

/// Who waits for less does not ask how far it is.
constexpr std::chrono::seconds patience{1};

} // namespace

Progress::Progress(std::string what, std::size_t count)
    : what_{std::move(what)}, count_{count}, terminal_{::isatty(STDERR_FILENO) != 0} {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::step() {
  const std::scoped_lock lock{mutex_};
  ++done_;
  if (!terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
  const std::string of = count_ == 0 ? "" : fmt::format(" of {}", count_);
  std::fputs(fmt::format("\r\033[Kppsim: {}{} {}", done_, of, what_).c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

ShareShown::ShareShown(std::string what) : what_{std::move(what)}, terminal_{::isatty(STDERR_FILENO) != 0} {}

ShareShown::~ShareShown() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ShareShown::show(double share) {
  if (!terminal_ || std::chrono::steady_clock::now() - start_ < patience) return;
  std::fputs(fmt::format("\r\033[Kppsim: {:.0f} % {}", 100 * share, what_).c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

} // namespace ppsim::cli
