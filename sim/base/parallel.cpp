#include "ppsim/base/parallel.hpp"

#include "ppsim/base/call.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace ppsim {

void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<std::size_t> next{0};
  Call* const call = current_call();
  const auto take_turns = [&] {
    const CallScope same{call};
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        check_stop();
        work(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t helper = 1; helper < std::min(threads, count); ++helper) try {
        helpers.emplace_back(take_turns);
      } catch (const std::system_error&) { // the system starts no more threads: the existing ones do all the work
        break;
      }
    take_turns();
  } // joins
  for (const std::exception_ptr& exception : thrown)
    if (exception) std::rethrow_exception(exception);
}

std::size_t machine_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

} // namespace ppsim
