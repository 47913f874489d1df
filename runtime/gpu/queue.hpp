#pragma once
// Queue: a stream with the context of its events; and owners of CUDA handles.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>

#include <cublasLt.h>

namespace ppsim::runtime::gpu {

/// Calls the C function that destroys a handle; its result is ignored.
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

/// Device memory outside of stream order, for the duration of a run; null for zero bytes.
[[nodiscard]] Memory allocate_memory(std::size_t bytes);

/// A stream of the primary context or of a green context, with the context for its events. "event and stream must be on
/// the same CUDA context" (cudaEventRecord); whether an event of the primary context works on a green stream is not
/// documented and is tested once (Partitions).
class Queue {
public:
  Queue() = default;
  /// `context`: the context for events; null: the current one.
  Queue(Stream stream, CUcontext context) : stream_{std::move(stream)}, context_{context} {}

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  /// An event for this stream: with time stamps, or only for waiting.
  [[nodiscard]] Event make_event(bool timed) const;
  void wait(const Event& event) const; ///< later work waits for the last recording of `event`
  void record(const Event& event) const;
  void synchronize() const;
  /// Waits before memory in use is freed; errors have been reported or do not matter.
  void drain() const noexcept { static_cast<void>(cudaStreamSynchronize(get())); }

private:
  Stream stream_;
  CUcontext context_ = nullptr;
};

/// Whether all its work has ended. Throws std::runtime_error if it has failed.
[[nodiscard]] bool is_done(const Queue& queue);
/// Whether the last recording of the event has ended. Throws as is_done().
[[nodiscard]] bool is_done(const Event& event);

/// Whether it has unfinished or failed work. For destructors.
[[nodiscard]] bool is_busy(const Queue& queue) noexcept;

/// Waits for all its work. If `stopped` returns true, throws std::runtime_error with `what`.
void wait_for(const Queue& queue, const std::function<bool()>& stopped, const char* what);

/// A non-blocking stream of the current context.
[[nodiscard]] Queue make_queue(int priority = 0);

} // namespace ppsim::runtime::gpu
