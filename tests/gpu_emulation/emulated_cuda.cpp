// The CUDA runtime and driver functions that the plugin calls, on the emulated GPU: 32 multiprocessors, in parts of at
// least 8. Undefined or forbidden use of CUDA ends the process with a message.

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "engine.hpp"

using ppsim::emulation::Engine;
using ppsim::emulation::EventState;

using ppsim::emulation::is_set;
using ppsim::emulation::refuse;

namespace {

constexpr unsigned multiprocessors = 32;
constexpr unsigned smallest_part = 8;

/// All allocations, with their sizes.
std::map<char*, std::size_t>& allocations() {
  static std::map<char*, std::size_t> all;
  return all;
}
std::size_t allocated = 0;

std::size_t limit() {
  const char* value = std::getenv("PPSIM_EMULATION_MEMORY");
  return value == nullptr ? std::size_t{4} << 30U : std::strtoull(value, nullptr, 10);
}

void* take(std::size_t bytes) {
  if (allocated + bytes > limit()) return nullptr;
  const std::size_t rounded = (bytes + 255) / 256 * 256;
  void* const memory = std::aligned_alloc(256, rounded);
  std::memset(memory, 0xCD, rounded);
  allocations()[static_cast<char*>(memory)] = bytes;
  allocated += bytes;
  return memory;
}

void give_back(void* memory) {
  const auto found = allocations().find(static_cast<char*>(memory));
  if (found == allocations().end()) refuse("memory is freed that was not allocated");
  allocated -= found->second;
  std::free(memory);
  allocations().erase(found);
}

bool is_device(const void* memory, std::size_t bytes) {
  auto& all = allocations();
  auto found = all.upper_bound(const_cast<char*>(static_cast<const char*>(memory)));
  if (found == all.begin()) return false;
  --found;
  return static_cast<const char*>(memory) + bytes <= found->first + found->second;
}

void check_kind(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (to_device != is_device(to, bytes) || from_device != is_device(from, bytes))
    refuse("a copy leaves its allocation, or is of the wrong kind");
}

thread_local cudaError_t last_error = cudaSuccess; // "from any of the runtime calls in the same host thread"
cudaError_t report(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

CUcontext current = nullptr; // the primary one

/// Streams of green contexts, with their contexts, as long as both are there.
std::map<cudaStream_t, CUgreenCtx>& green_streams() {
  static std::map<cudaStream_t, CUgreenCtx> all;
  return all;
}

/// The default stream of the primary context. All other streams are non-blocking and do not wait for it: its work is
/// delayed until it is waited for.
CUstream_st* default_stream() {
  static auto* const stream = new CUstream_st;
  return stream;
}
void finish_default_stream() {
  const std::lock_guard lock{Engine::get().mutex};
  for (auto& work = default_stream()->work; !work.empty(); work.pop_front()) work.front()();
}

struct PoolState {
  std::set<cudaStream_t> streams; // streams that got memory from it
  std::size_t used = 0, reserved = 0;
};

/// Memory allocated from a pool and not freed yet.
std::map<void*, PoolState*>& pool_of() {
  static std::map<void*, PoolState*> all;
  return all;
}

} // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = is_set("PPSIM_EMULATION_NO_DRIVER") ? 0 : 4;
  return report(*count == 0 ? cudaErrorInsufficientDriver : cudaSuccess);
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = is_set("PPSIM_EMULATION_NO_DRIVER") ? 0 : 13000;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU");
  properties->multiProcessorCount = multiprocessors;
  properties->totalGlobalMem = limit();
  properties->major = 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMultiProcessorCount) return report(cudaErrorInvalidValue);
  *value = multiprocessors;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) {
  return "emulated";
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const std::lock_guard lock{Engine::get().mutex};
  *memory = take(bytes);
  return report(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaFree(void* memory) {
  finish_default_stream();
  const std::lock_guard lock{Engine::get().mutex};
  if (memory != nullptr) give_back(memory);
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = reinterpret_cast<cudaMemPool_t>(new PoolState);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete reinterpret_cast<PoolState*>(pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
  if (keep != 0) refuse("pools are emptied, or left alone");
  const std::lock_guard lock{Engine::get().mutex};
  for (cudaStream_t stream : reinterpret_cast<PoolState*>(pool)->streams) {
    if (!stream->work.empty()) continue; // memory that it has freed may be in use
    for (const auto& [bytes, memory] : stream->freed) give_back(memory);
    stream->freed.clear();
  }
  reinterpret_cast<PoolState*>(pool)->reserved = reinterpret_cast<PoolState*>(pool)->used;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  reinterpret_cast<PoolState*>(pool)->streams.insert(stream);
  *memory = nullptr;
  // Memory freed on this stream may be reused at once: the stream's order separates both uses.
  for (auto it = stream->freed.begin(); it != stream->freed.end(); ++it)
    if (it->first == bytes) {
      *memory = it->second;
      stream->freed.erase(it);
      break;
    }
  if (*memory == nullptr) *memory = take(bytes);
  if (*memory == nullptr) return report(cudaErrorMemoryAllocation);
  // A pool can split its memory to any size; more must come from the device.
  auto& state = *reinterpret_cast<PoolState*>(pool);
  state.used += bytes;
  if (state.used > state.reserved && is_set("PPSIM_EMULATION_FULL_POOLS")) refuse("a pool grows");
  state.reserved = std::max(state.reserved, state.used);
  pool_of()[*memory] = &state;
  ppsim::emulation::Engine::get().append(stream, [to = *memory, bytes] {
    std::memset(to, 0xCD, bytes);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  const auto found = allocations().find(static_cast<char*>(memory));
  if (found == allocations().end()) refuse("memory is freed that was not allocated");
  const std::size_t bytes = found->second;
  pool_of().at(memory)->used -= bytes;
  pool_of().erase(memory);
  stream->freed.emplace_back(bytes, memory);
  Engine::get().append(stream, [memory, bytes] {
    std::memset(memory, 0xFF, bytes); // NaN, for late reads
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  finish_default_stream();
  const std::lock_guard lock{Engine::get().mutex};
  check_kind(to, from, bytes, kind);
  std::memcpy(to, from, bytes); // non-blocking streams and this copy do not wait for each other
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  check_kind(to, from, bytes, kind);
  Engine::get().append(stream, [=] {
    std::memcpy(to, from, bytes);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  if (width > to_pitch || width > from_pitch) refuse("a row is longer than its pitch");
  check_kind(to, from, (height - 1) * std::min(to_pitch, from_pitch) + width, kind);
  Engine::get().append(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  // "asynchronous with respect to the host" (API synchronization behavior)
  return cudaMemsetAsync(to, value, bytes, default_stream());
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  if (!is_device(to, bytes)) refuse("a fill leaves its allocation");
  Engine::get().append(stream, [=] {
    std::memset(to, value, bytes);
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  if (flags != cudaStreamNonBlocking) refuse("a stream that blocks for the default one");
  *stream = new CUstream_st;
  Engine::get().add(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  // "the function will return immediately and the resources ... will be released automatically once the device has
  // completed all work": here, now.
  Engine::get().run_until_done(stream);
  Engine::get().remove(stream);
  const std::lock_guard lock{Engine::get().mutex};
  for (const auto& [bytes, memory] : stream->freed) give_back(memory);
  green_streams().erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (is_set("PPSIM_EMULATION_SLOW_HOST")) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  if (!Engine::get().run_until_done(stream)) refuse("a stream is waited for that never ends");
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  // Work only runs during queries, a little each time.
  return report(Engine::get().run_some(stream) ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock{Engine::get().mutex};
  Engine::get().append(
      stream, [state = event->state, recorded = event->state->recorded] { return state->completed >= recorded; });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->context = current;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock{Engine::get().mutex};
  if (is_set("PPSIM_EMULATION_STRICT_EVENTS") && event->context != stream->context)
    return report(cudaErrorInvalidResourceHandle);
  ++event->state->recorded;
  Engine::get().append(stream, [state = event->state, number = event->state->recorded] {
    state->completed = std::max(state->completed, number);
    state->time = Engine::now();
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock{Engine::get().mutex};
  return report(event->state->completed >= event->state->recorded ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const std::lock_guard lock{Engine::get().mutex};
  if (!start->timed || !end->timed || start->state->recorded == 0 || end->state->recorded == 0)
    return report(cudaErrorInvalidResourceHandle);
  if (start->state->completed < start->state->recorded || end->state->completed < end->state->recorded)
    return report(cudaErrorNotReady);
  *milliseconds = static_cast<float>(static_cast<double>(end->state->time - start->state->time) * 1e-6);
  return cudaSuccess;
}
} // extern "C"

// The driver's functions, found by name.
struct CUgreenCtx_st { // NOLINT
  unsigned multiprocessors = 0;
};
struct CUdevResourceDesc_st { // NOLINT
  unsigned multiprocessors = 0;
};

namespace {

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_resource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  *resource = {};
  resource->type = type;
  resource->sm.smCount = multiprocessors + 4; // so that there is a rest
  return CUDA_SUCCESS;
}
CUresult split(CUdevResource* groups, unsigned* count, const CUdevResource* input, CUdevResource* rest, unsigned,
               unsigned wanted) {
  const unsigned size = std::max(1U, (wanted + smallest_part - 1) / smallest_part) * smallest_part;
  *count = std::min(*count, input->sm.smCount / size);
  for (unsigned i = 0; i < *count; ++i) {
    groups[i] = *input;
    groups[i].sm.smCount = size;
  }
  *rest = *input;
  rest->sm.smCount = input->sm.smCount - *count * size;
  return CUDA_SUCCESS;
}
CUresult generate(CUdevResourceDesc* descriptor, CUdevResource* resources, unsigned) {
  if (is_set("PPSIM_EMULATION_NO_SMALL_PARTS") && resources->sm.smCount < smallest_part)
    return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  *descriptor = new CUdevResourceDesc_st{resources->sm.smCount}; // CUDA also has no call to free it
  return CUDA_SUCCESS;
}
CUresult green_create(CUgreenCtx* context, CUdevResourceDesc descriptor, CUdevice, unsigned flags) {
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) refuse("green contexts need CU_GREEN_CTX_DEFAULT_STREAM");
  const unsigned size = descriptor->multiprocessors;
  delete descriptor;
  if (is_set("PPSIM_EMULATION_NO_GREEN_CONTEXTS")) return CUDA_ERROR_NOT_SUPPORTED;
  *context = new CUgreenCtx_st{size};
  return CUDA_SUCCESS;
}
CUresult green_destroy(CUgreenCtx context) {
  const std::lock_guard lock{Engine::get().mutex};
  for (const auto& [stream, of] : green_streams())
    if (of == context) refuse("a green context is destroyed before its streams");
  delete context;
  return CUDA_SUCCESS;
}
CUresult green_stream(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  if (flags != CU_STREAM_NON_BLOCKING) refuse("streams of green contexts have to be non-blocking");
  cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority);
  (*stream)->context = reinterpret_cast<CUcontext>(context);
  const std::lock_guard lock{Engine::get().mutex};
  green_streams()[*stream] = context;
  return CUDA_SUCCESS;
}
CUresult context_of(CUcontext* context, CUgreenCtx green) {
  *context = reinterpret_cast<CUcontext>(green);
  return CUDA_SUCCESS;
}
CUresult push(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
CUresult pop(CUcontext* context) {
  *context = std::exchange(current, nullptr);
  return CUDA_SUCCESS;
}
CUresult error_name(CUresult, const char** name) {
  *name = "emulated";
  return CUDA_SUCCESS;
}

} // namespace

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                        unsigned long long, cudaDriverEntryPointQueryResult* status) {
  static const std::map<std::string, void*> functions{
      {"cuDeviceGet", reinterpret_cast<void*>(&device_get)},
      {"cuDeviceGetDevResource", reinterpret_cast<void*>(&device_resource)},
      {"cuDevSmResourceSplitByCount", reinterpret_cast<void*>(&split)},
      {"cuDevResourceGenerateDesc", reinterpret_cast<void*>(&generate)},
      {"cuGreenCtxCreate", reinterpret_cast<void*>(&green_create)},
      {"cuGreenCtxDestroy", reinterpret_cast<void*>(&green_destroy)},
      {"cuGreenCtxStreamCreate", reinterpret_cast<void*>(&green_stream)},
      {"cuCtxFromGreenCtx", reinterpret_cast<void*>(&context_of)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(&push)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(&pop)},
      {"cuGetErrorName", reinterpret_cast<void*>(&error_name)}};
  const auto found = functions.find(symbol);
  *function = found == functions.end() ? nullptr : found->second;
  *status = found == functions.end() ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
