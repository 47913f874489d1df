#pragma once
// The emulated GPU: work on streams is delayed until it is waited for, and then runs in a random order among those that
// streams and events allow. Every behaviour of a real GPU is one of these orders.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace ppsim::emulation {

/// Prints what the emulation does not support, and aborts.
[[noreturn]] void refuse(const char* what);

/// Whether an environment variable is neither empty nor 0.
bool is_set(const char* name);

struct EventState {
  std::uint64_t recorded = 0;  ///< number of recordings enqueued
  std::uint64_t completed = 0; ///< number of them completed
  std::int64_t time = 0;       ///< of the last that completed
};

} // namespace ppsim::emulation

/// Work of a stream is done when its function returns true; until then it is called again.
struct CUstream_st { // NOLINT
  std::deque<std::function<bool()>> work;
  CUcontext context = nullptr;
  std::vector<std::pair<std::size_t, void*>> freed; ///< by cudaFreeAsync: for reuse on this stream
};

struct CUevent_st { // NOLINT
  std::shared_ptr<ppsim::emulation::EventState> state = std::make_shared<ppsim::emulation::EventState>();
  CUcontext context = nullptr;
  bool timed = false;
};

namespace ppsim::emulation {

class Engine {
public:
  static Engine& get();
  void add(CUstream_st* stream);
  void remove(CUstream_st* stream);
  void append(CUstream_st* stream, std::function<bool()> work);
  /// Runs work of any stream until `stream` has none left (true), or nothing can run (false).
  bool run_until_done(CUstream_st* stream);
  /// The same, but runs only a few pieces of work.
  bool run_some(CUstream_st* stream);
  /// Nanoseconds, with another origin than the host's clock.
  static std::int64_t now();

  std::recursive_mutex mutex;

private:
  Engine();
  bool run_one();
  std::vector<CUstream_st*> streams_;
  std::minstd_rand random_;
};

} // namespace ppsim::emulation
