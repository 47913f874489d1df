#include "partitions.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "check.hpp"
#include "cuda_device.hpp"
#include "driver.hpp"

namespace ppsim::runtime::gpu {

namespace {

CUdevice current_device() {
  int ordinal = 0;
  PPSIM_GPU_CHECK(cudaGetDevice(&ordinal));
  CUdevice device = 0;
  PPSIM_GPU_CHECK(driver().device_get(&device, ordinal));
  return device;
}

struct Split {
  std::vector<CUdevResource> groups;
  CUdevResource rest{};
};

/// $PPSIM_GREEN_CONTEXTS=0: stages share the GPU through plain streams, if a driver or a tool does not support green
/// contexts.
bool wants_green_contexts() {
  const char* const set = std::getenv("PPSIM_GREEN_CONTEXTS"); // NOLINT(concurrency-mt-unsafe): nothing sets it
  return set == nullptr || std::string_view{set} != "0";
}

/// `groups` groups of maximal equal size; the rest may be empty.
Split split(std::size_t groups) {
  CUdevResource all{};
  PPSIM_GPU_CHECK(driver().device_get_dev_resource(current_device(), &all, CU_DEV_RESOURCE_TYPE_SM));
  // The driver rounds a minimum up to its granularity ("often rounding up and aligning the minCount"), and "may lead to
  // fewer groups created than purely dividing". It does not report its granularity before CUDA 13, so smaller minimums
  // are tried until there are enough groups.
  CUresult status = CUDA_SUCCESS;
  for (auto wanted = static_cast<unsigned>(all.sm.smCount / groups); wanted > 0; --wanted) {
    Split found;
    found.groups.resize(groups);
    auto made = static_cast<unsigned>(groups);
    status = driver().split_by_count(found.groups.data(), &made, &all, &found.rest, 0, wanted);
    if (status == CUDA_SUCCESS && made == groups) return found;
  }
  throw std::runtime_error{
      "its " + std::to_string(all.sm.smCount) + " multiprocessors cannot be split among " + std::to_string(groups) +
      " stages" + (status == CUDA_SUCCESS ? "" : " (" + driver().error_name(status) + ")") + ": use fewer stages"};
}

} // namespace

GreenContext::GreenContext(CUdevResource& resource) {
  CUdevResourceDesc descriptor = nullptr;
  PPSIM_GPU_CHECK(driver().generate_desc(&descriptor, &resource, 1));
  PPSIM_GPU_CHECK(driver().green_create(&context_, descriptor, current_device(), CU_GREEN_CTX_DEFAULT_STREAM));
}

GreenContext::~GreenContext() {
  static_cast<void>(driver().green_destroy(context_));
}

Partitions::Partitions(std::size_t stages) {
  if (!wants_green_contexts()) {
    stages_.resize(stages);
    size_ = gpu::multiprocessors() / stages; // the size that products are planned for
    return;
  }
  try {
    split_among(stages);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error{std::string{error.what()} +
                             ", or set PPSIM_GREEN_CONTEXTS=0, and the stages share all multiprocessors"};
  }
  primary_events_ = try_primary_events();
}

void Partitions::split_among(std::size_t stages) {
  Split found = split(stages);
  size_ = found.groups.front().sm.smCount;
  for (CUdevResource& group : found.groups) stages_.push_back(std::make_unique<GreenContext>(group));
  if (found.rest.type == CU_DEV_RESOURCE_TYPE_SM && found.rest.sm.smCount > 0) {
    try {
      rest_ = std::make_unique<GreenContext>(found.rest);
      rest_size_ = found.rest.sm.smCount;
    } catch (const std::runtime_error&) {
      // A rest below the smallest part cannot be a context: transfers then share the stages' parts (transfer_queue()).
    }
  }
}

Queue Partitions::transfer_queue(std::size_t stage) const {
  // If kernels share a partition, streams with a lower number have priority.
  return rest_ ? make(rest_.get(), 0) : make(stages_[stage].get(), -1);
}

Queue Partitions::make(const GreenContext* context, int priority) const {
  if (context == nullptr) return make_queue(priority);
  CUstream stream = nullptr;
  // "CU_STREAM_NON_BLOCKING: This must be specified."
  PPSIM_GPU_CHECK(driver().green_stream_create(&stream, context->get(), CU_STREAM_NON_BLOCKING, priority));
  CUcontext of_events = nullptr;
  if (!primary_events_) PPSIM_GPU_CHECK(driver().context_of(&of_events, context->get()));
  return {Stream{stream}, of_events};
}

bool Partitions::try_primary_events() const {
  const Queue one = queue(0);
  const Queue other = queue(stages_.size() - 1);
  const Queue base = transfer_queue(0); // the clock's base is taken on it
  const Event first = one.make_event(true);
  const Event second = other.make_event(true);
  const Event zero = base.make_event(true);
  float milliseconds = 0;
  const bool works =
      cudaEventRecord(zero.get(), base.get()) == cudaSuccess && cudaStreamSynchronize(base.get()) == cudaSuccess &&
      cudaEventRecord(first.get(), one.get()) == cudaSuccess &&
      cudaEventRecord(second.get(), other.get()) == cudaSuccess && cudaStreamSynchronize(one.get()) == cudaSuccess &&
      cudaStreamSynchronize(other.get()) == cudaSuccess &&
      cudaEventElapsedTime(&milliseconds, zero.get(), first.get()) == cudaSuccess &&
      cudaEventElapsedTime(&milliseconds, zero.get(), second.get()) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  return works;
}

std::string Partitions::describe() const {
  if (!stages_.front())
    return "no partitions (PPSIM_GREEN_CONTEXTS is 0): " + std::to_string(stages_.size()) +
           " stages share all multiprocessors";
  return std::to_string(stages_.size()) + (stages_.size() == 1 ? " partition of " : " partitions of ") +
         std::to_string(size_) + " multiprocessors, " + (rest_ ? std::to_string(rest_size_) : std::string{"none"}) +
         " left for transfers";
}

} // namespace ppsim::runtime::gpu
