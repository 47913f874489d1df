#pragma once
// Queue: a stream with the context that its events belong to; and owners of all that CUDA hands out.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>

#include <cublasLt.h>

namespace ppsim::runtime::gpu {

/// Calls the C function that gives a handle back; what it returns cannot be acted upon any more.
template <auto destroy>
struct Destroy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    static_cast<void>(destroy(handle));
  }
};

using Stream = std::unique_ptr<CUstream_st, Destroy<&cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroy<&cudaEventDestroy>>;
using Pool = std::unique_ptr<CUmemPoolHandle_st, Destroy<&cudaMemPoolDestroy>>;
using Memory = std::unique_ptr<std::byte, Destroy<static_cast<cudaError_t (*)(void*)>(&cudaFree)>>;
using MatmulHandle = std::unique_ptr<cublasLtContext, Destroy<&cublasLtDestroy>>;
using MatmulDescriptor = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&cublasLtMatmulDescDestroy>>;
using MatrixLayout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&cublasLtMatrixLayoutDestroy>>;
using MatmulPreference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&cublasLtMatmulPreferenceDestroy>>;

/// Device memory outside of any stream's order, for what exists as long as a run; null for zero bytes.
[[nodiscard]] Memory allocate_memory(std::size_t bytes);

/// A stream of the primary context or of a green context, and where events for it are made. "event and stream must be
/// on the same CUDA context" (cudaEventRecord); whether an event of the primary context will do for a green stream is
/// not said, and is tried once (Partitions).
class Queue {
public:
  Queue() = default;
  /// `context`: where events have to be made; null: in the current one.
  Queue(Stream stream, CUcontext context) : stream_{std::move(stream)}, context_{context} {}

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  /// An event for this stream: with time stamps, or only for waiting.
  [[nodiscard]] Event make_event(bool timed) const;
  void wait(const Event& event) const; ///< what comes next waits for what `event` has recorded last
  void record(const Event& event) const;
  void synchronize() const;
  /// Waits for what uses memory that is given back next; whether it went well has been told, or is of no interest.
  void drain() const noexcept { static_cast<void>(cudaStreamSynchronize(get())); }

private:
  Stream stream_;
  CUcontext context_ = nullptr;
};

/// Whether everything on it has ended. Throws std::runtime_error where it has failed.
[[nodiscard]] bool is_done(const Queue& queue);
/// Whether what the event has recorded last has ended. Throws as is_done().
[[nodiscard]] bool is_done(const Event& event);

/// Whether something is still under way on it, or has failed. For destructors.
[[nodiscard]] bool is_busy(const Queue& queue) noexcept;

/// Waits for everything on it, unless `stopped` says to give up: then throws std::runtime_error naming `what`.
void wait_for(const Queue& queue, const std::function<bool()>& stopped, const char* what);

/// A non-blocking stream of the current context.
[[nodiscard]] Queue make_queue(int priority = 0);

} // namespace ppsim::runtime::gpu
