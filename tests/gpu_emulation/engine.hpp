#pragma once
// The emulated GPU: streams whose work waits until somebody waits for it, and is then run in an order drawn by chance,
// as far as streams and events leave it open. What a real GPU may do, some order does.

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

/// Says on stderr what the emulation cannot do, and aborts.
[[noreturn]] void refuse(const char* what);

/// Whether an environment variable is neither empty nor 0.
bool is_set(const char* name);

struct EventState {
  std::uint64_t recorded = 0;  ///< how often, as enqueued
  std::uint64_t completed = 0; ///< of those
  std::int64_t time = 0;       ///< of the last that completed
};

} // namespace ppsim::emulation

/// Work of a stream is done when its function says so; until then it is asked again.
struct CUstream_st { // NOLINT
  std::deque<std::function<bool()>> work;
  CUcontext context = nullptr;
  std::vector<std::pair<std::size_t, void*>> freed; ///< by cudaFreeAsync: to be handed out again on this stream
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
  /// Runs work, whosever it is, until `stream` has none left (true), or nothing more can run (false).
  bool run_until_done(CUstream_st* stream);
  /// The same, but runs only a few pieces of work.
  bool run_some(CUstream_st* stream);
  /// Nanoseconds; not the host's zero.
  static std::int64_t now();

  std::recursive_mutex mutex;

private:
  Engine();
  bool run_one();
  std::vector<CUstream_st*> streams_;
  std::minstd_rand random_;
};

} // namespace ppsim::emulation
