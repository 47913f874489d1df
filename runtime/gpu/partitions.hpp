#pragma once
// Partitions: one GPU's multiprocessors, split among the stages by green contexts.

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// A green context that is given back with its owner. Its streams have to be gone by then (cuGreenCtxDestroy).
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

/// `stages` disjoint parts of equal size, and the rest. What is not said of them (cuda.h, green contexts): that kernels
/// of different parts run at the same time, or make progress; and kernels of the primary context run everywhere, so
/// that nothing may run there during a step. With PPSIM_GREEN_CONTEXTS=0 there are no parts: each stage has a stream of
/// the primary context, and so has each transfer.
class Partitions {
public:
  /// Throws std::runtime_error where the GPU cannot be split so often.
  explicit Partitions(std::size_t stages);

  [[nodiscard]] Queue queue(std::size_t stage) const { return make(stages_[stage].get(), 0); }
  /// On the rest of the multiprocessors, for transfers and the clock; where none is left, on those of `stage`, before
  /// its tasks.
  [[nodiscard]] Queue transfer_queue(std::size_t stage) const;
  [[nodiscard]] std::size_t multiprocessors() const { return size_; } ///< of each stage
  /// Whether an event of the primary context can be recorded on these streams and its time be taken.
  [[nodiscard]] bool primary_events() const { return primary_events_; }
  /// "4 partitions of 32 multiprocessors, 4 for transfers"
  [[nodiscard]] std::string describe() const;

private:
  void split_among(std::size_t stages);
  [[nodiscard]] Queue make(const GreenContext* context, int priority) const; ///< null: of the primary context
  [[nodiscard]] bool try_primary_events() const;

  std::vector<std::unique_ptr<GreenContext>> stages_; ///< null where there are no parts
  std::unique_ptr<GreenContext> rest_;
  std::size_t size_ = 0;
  std::size_t rest_size_ = 0;
  bool primary_events_ = true;
};

} // namespace ppsim::runtime::gpu
