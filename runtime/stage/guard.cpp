#include "guard.hpp"

#include "ppsim/base/error.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "host/cores.hpp"

namespace ppsim::runtime {

namespace {

sigset_t just_sigterm() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void say(const std::string& what) {
  std::fputs(("ppsim: error: " + what + "\n").c_str(), stderr);
}

[[noreturn]] void end_by_signal() {
  std::signal(SIGTERM, SIG_DFL);
  const sigset_t signals = just_sigterm();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(SIGTERM);
  std::_Exit(128 + SIGTERM);
}

} // namespace

Guard::Guard() {
  const sigset_t signals = just_sigterm();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = start_thread("the process's guard", [this] { watch(); });
}

Guard::~Guard() {
  done_ = true;
  watcher_.join();
  const sigset_t signals = just_sigterm();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void Guard::set_last_words(std::function<std::optional<std::string>(bool is_ending)> words) {
  const std::lock_guard lock{mutex_};
  words_ = std::move(words);
}

void Guard::set_end(std::function<void()> end) {
  const std::lock_guard lock{mutex_};
  end_ = std::move(end);
}

void Guard::set_limit(Duration limit, std::string what) {
  const std::lock_guard lock{mutex_};
  until_ = std::chrono::steady_clock::now() + limit;
  what_ = std::move(what);
}

void Guard::lift_limit() {
  const std::lock_guard lock{mutex_};
  until_.reset();
}

void Guard::watch() {
  const sigset_t signals = just_sigterm();
  const timespec wait{0, std::chrono::nanoseconds{look_every}.count()};
  auto last = std::chrono::steady_clock::now();
  while (!done_) {
    const bool is_signalled = sigtimedwait(&signals, nullptr, &wait) == SIGTERM;
    const auto now = std::chrono::steady_clock::now();
    if (now - last > 20 * look_every) woke_ = now;
    last = now;
    look(is_signalled);
    if (is_signalled) end_by_signal();
    check_limit();
  }
}

void Guard::look(bool is_ending) {
  const std::lock_guard lock{mutex_};
  if (quiet_ || stood_still() || !words_) return;
  const std::optional<std::string> words = words_(is_ending);
  if (!words) return;
  quiet_ = true;
  say(*words);
}

bool Guard::stood_still() const {
  constexpr std::chrono::seconds others_take{7}; // to conclude (FailureLimits), plus up to 3 s of mpirun
  const auto woke = woke_.load();
  return woke != std::chrono::steady_clock::time_point::min() && std::chrono::steady_clock::now() - woke < others_take;
}

void Guard::check_limit() {
  const std::lock_guard lock{mutex_};
  if (!until_ || std::chrono::steady_clock::now() < *until_) return;
  if (!quiet_) say(what_);
  if (end_) end_();
  std::_Exit(static_cast<int>(ExitCode::failed));
}

} // namespace ppsim::runtime
