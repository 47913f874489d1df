#include "cores.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/runtime/backend.hpp"
#include "ppsim/runtime/monotonic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

namespace ppsim::runtime {

namespace {

/// Read once, before any thread is pinned (which narrows the set).
const std::vector<std::size_t>& cores() {
  static const std::vector<std::size_t> found = [] {
    std::vector<std::size_t> usable;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
      for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set)) usable.push_back(core);
    // More cores than the set can hold, or an error.
    if (usable.empty()) {
      usable.resize(std::max(1U, std::thread::hardware_concurrency()));
      std::iota(usable.begin(), usable.end(), std::size_t{0});
    }
    return usable;
  }();
  return found;
}

std::string processor() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown processor";
}

} // namespace

std::size_t usable_cores() {
  return cores().size();
}

void pin_to_core(std::size_t stage) {
  const std::size_t core = cores()[stage % cores().size()];
  if (core >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  // On failure, the thread is not pinned: less precise, but correct.
  sched_setaffinity(0, sizeof set, &set);
}

void sleep_precisely() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void sleep_exactly_until(std::int64_t moment) {
  constexpr std::int64_t most_awake = 16;
  const std::int64_t now = monotonic_now();
  const std::int64_t wake = moment - std::min(wake_time.count(), (moment - now) / most_awake);
  if (wake > now) {
    const timespec until{.tv_sec = wake / 1'000'000'000, .tv_nsec = wake % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  while (monotonic_now() < moment) {
  }
}

std::jthread start_thread(std::string_view whose, std::function<void()> work) {
  try {
    return std::jthread{std::move(work)};
  } catch (const std::system_error& error) {
    throw NoThread{{std::string{whose}, fmt::format("the system cannot start its thread: {}", error.code().message()),
                    "every stage needs a thread, and the run one more: raise the limit of processes (ulimit -u, or of "
                    "the container), or use fewer stages"}};
  }
}

std::string describe_machine() {
  utsname system{};
  uname(&system);
  return fmt::format("{}, {}, {} {}", processor(), counted(usable_cores(), "core"), system.sysname, system.release);
}

} // namespace ppsim::runtime
