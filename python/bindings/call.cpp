// Calls without the interpreter's lock, interruptible by signals.

#include "bindings.hpp"

namespace ppsim::python {
namespace {

/// The interval of polling signals.
constexpr std::chrono::milliseconds patience{20};
/// The time for a search to end with its best result so far, before it is stopped without a result.
constexpr std::chrono::milliseconds grace{1000};

/// Work on its own thread.
class Worker {
public:
  Worker(Call& call, const std::function<void()>& work)
      : thread_{[this, &call, &work] {
          const CallScope scope{&call};
          try {
            work();
          } catch (...) {
            thrown_ = std::current_exception();
          }
          const std::scoped_lock lock{mutex_};
          done_ = true;
          ended_.notify_all();
        }} {}

  /// Whether it ends within that time.
  bool ends_within(std::chrono::milliseconds time) {
    std::unique_lock lock{mutex_};
    return ended_.wait_for(lock, time, [this] { return done_; });
  }
  /// Rethrows the exception of the work.
  void finish() {
    thread_.join();
    if (thrown_) std::rethrow_exception(thrown_);
  }
  void wait() { thread_.join(); }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr thrown_;
  std::jthread thread_; // last, because it uses the other members
};

/// The exception that a signal handler has raised, if any.
std::optional<py::error_already_set> raised_by_signal() {
  const py::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() == 0) return std::nullopt;
  return std::optional<py::error_already_set>{std::in_place};
}

/// `search`: the same call, if it can end with a result.
void run_watched(Call& call, cli::MemoryFiles* search, const std::function<void()>& work) {
  std::optional<py::error_already_set> raised;
  {
    const py::gil_scoped_release unlocked;
    Worker worker{call, work};
    while (!raised && !worker.ends_within(patience)) raised = raised_by_signal();
    if (!raised) return worker.finish();
    if (search != nullptr) search->end_searches();
    if (search == nullptr || !worker.ends_within(grace)) call.stop();
    worker.wait();
  }
  throw py::error_already_set{*raised};
}

void run_here(Call& call, const std::function<void()>& work) {
  const py::gil_scoped_release unlocked;
  const CallScope scope{&call};
  work();
}

void run_watched_if_possible(Call& call, cli::MemoryFiles* search, const std::function<void()>& work) {
  try {
    run_watched(call, search, work);
  } catch (const std::system_error&) { // the system starts no more threads
    run_here(call, work);
  }
}

} // namespace

void work_without_lock(Call& call, bool quick, const std::function<void()>& work) {
  if (quick)
    run_here(call, work);
  else
    run_watched_if_possible(call, nullptr, work);
}

void search_without_lock(cli::MemoryFiles& files, const std::function<void()>& work) {
  run_watched_if_possible(files, &files, work);
}

} // namespace ppsim::python
