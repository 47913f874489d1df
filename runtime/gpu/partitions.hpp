#pragma once
// Partitions: one GPU's multiprocessors, split among the stages by green contexts.

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// A green context, destroyed with its owner. Its streams must be destroyed before (cuGreenCtxDestroy).
class GreenContext {
public:
  explicit GreenContext(CUdevResource& resource);
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;
  ~GreenContext();
  [[nodiscard]] CUgreenCtx get() const { return context_; }

private:
  CUgreenCtx context_ = nullptr;
};

/// `stages` disjoint parts of equal size, and the rest. The documentation (cuda.h, green contexts) does not guarantee
/// that kernels of different parts run concurrently, or make progress. Kernels of the primary context run everywhere,
/// so none may run there during a step. With PPSIM_GREEN_CONTEXTS=0 there are no parts: each stage and each transfer
/// has a stream of the primary context.
class Partitions {
public:
  /// Throws std::runtime_error if the GPU cannot be split into that many parts.
  explicit Partitions(std::size_t stages);

  [[nodiscard]] Queue queue(std::size_t stage) const { return make(stages_[stage].get(), 0); }
  /// On the rest of the multiprocessors, for transfers and the clock; if there is no rest, on the part of `stage`, with
  /// priority over its tasks.
  [[nodiscard]] Queue transfer_queue(std::size_t stage) const;
  [[nodiscard]] std::size_t multiprocessors() const { return size_; } ///< of each stage
  /// Whether events of the primary context can be recorded and timed on these streams.
  [[nodiscard]] bool primary_events() const { return primary_events_; }
  /// "4 partitions of 32 multiprocessors, 4 for transfers"
  [[nodiscard]] std::string describe() const;

private:
  void split_among(std::size_t stages);
  [[nodiscard]] Queue make(const GreenContext* context, int priority) const; ///< null: the primary context
  [[nodiscard]] bool try_primary_events() const;

  std::vector<std::unique_ptr<GreenContext>> stages_; ///< null without parts
  std::unique_ptr<GreenContext> rest_;
  std::size_t size_ = 0;
  std::size_t rest_size_ = 0;
  bool primary_events_ = true;
};

} // namespace ppsim::runtime::gpu
