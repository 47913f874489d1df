#pragma once
// Cores: placement and sleep of stages' threads and processes.

#include "ppsim/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace ppsim::runtime {

/// Cores that this process may use.
[[nodiscard]] std::size_t usable_cores();
/// Pins the calling thread to core `stage` mod usable_cores() of this process.
void pin_to_core(std::size_t stage);
/// Lets the calling thread's sleeps end within microseconds; by default Linux adds up to 50 us.
void sleep_precisely();
/// The time that a core takes to wake up: 10 to 50 us, in a virtual machine 100 us and more.
inline constexpr Duration wake_time = std::chrono::microseconds{150};
/// Returns at `moment` of the monotonic clock, in ns, or at once if it has passed. Sleeps until wake_time before it and
/// then polls the clock, because waking up takes time. Polls for at most a sixteenth of the time, so that stages that
/// share a core rarely disturb each other.
void sleep_exactly_until(std::int64_t moment);
/// Starts a thread for `work`. Throws NoThread if the system cannot start one.
[[nodiscard]] std::jthread start_thread(std::string_view whose, std::function<void()> work);
/// "AMD EPYC 9654, 2 cores, Linux 6.1.0".
[[nodiscard]] std::string describe_machine();

} // namespace ppsim::runtime
