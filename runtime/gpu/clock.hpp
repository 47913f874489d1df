#pragma once
// Clock: converts times on the GPU's streams to nanoseconds of the host's CLOCK_MONOTONIC.

#include "ppsim/runtime/device.hpp"

#include <cstdint>
#include <vector>

#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// Relates the GPU's time to the host's. Stamps are timing events, or (Kind::kernels) %globaltimer values written by
/// small kernels. The latter also work if events cannot be recorded, and other kernels can read them.
class Clock {
public:
  enum class Kind : std::uint8_t { events, kernels };
  Clock(Queue queue, Kind kind);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// Takes a new base: a stamp between two readings of the host's clock, the tightest of several. The error does not
  /// grow with the length of a run or with the precision of an event's time, a float of milliseconds.
  void align();
  /// The number of align() calls.
  [[nodiscard]] std::size_t alignments() const { return alignments_; }
  /// The bound of the error: half of the time between those two readings, for the worst of all bases (each step has
  /// one).
  [[nodiscard]] std::int64_t error() const { return error_; }

  [[nodiscard]] std::int64_t host_time(const Event& event) const;
  [[nodiscard]] std::int64_t host_time(std::uint64_t globaltimer) const;
  /// Whether a stamp was made after the base, not in an earlier step.
  [[nodiscard]] bool is_new(std::uint64_t globaltimer) const { return globaltimer >= base_globaltimer_; }

private:
  void stamp_base();

  Queue queue_;
  Kind kind_;
  Event base_event_;
  Memory base_memory_;
  std::uint64_t base_globaltimer_ = 0;
  std::int64_t base_host_ = 0;
  std::int64_t error_ = 0;
  std::size_t alignments_ = 0;
};

/// The stamps of one stream.
class Stamps {
public:
  Stamps(Clock& clock, const Queue& queue) : clock_{clock}, queue_{queue} {}
  /// Resets all stamps. The first stream to begin a step aligns the clock: all streams begin before the first task of
  /// the step, and have read their stamps before the next step begins.
  void begin_step();
  /// Reserves memory for the stamps of a step: an allocation may make CUDA synchronise the device, which within a step
  /// would wait for receives that wait for a peer.
  void reserve(std::size_t count);
  [[nodiscard]] Stamp add();
  /// The address at which add() stores its %globaltimer; only with Clock::Kind::kernels.
  [[nodiscard]] const std::uint64_t* address(Stamp stamp) const;
  /// Whether the stream has reached this stamp of this step.
  [[nodiscard]] bool has_passed(Stamp stamp) const;
  /// Call it after the stream was synchronised.
  [[nodiscard]] std::vector<std::int64_t> host_times() const;

private:
  Clock& clock_;
  const Queue& queue_;
  std::size_t alignment_ = 0; ///< of its last step
  std::size_t size_ = 0;
  std::vector<Event> events_;
  static constexpr std::size_t block_size = 4096;
  std::vector<Memory> blocks_; ///< of block_size stamps each
};

} // namespace ppsim::runtime::gpu
