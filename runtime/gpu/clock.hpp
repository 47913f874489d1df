#pragma once
// Clock: moments on the GPU's streams in nanoseconds of the host's CLOCK_MONOTONIC.

#include "ppsim/runtime/device.hpp"

#include <cstdint>
#include <vector>

#include "queue.hpp"

namespace ppsim::runtime::gpu {

/// Ties the GPU's time to the host's. Stamps are timing events, or (Kind::kernels) numbers of %globaltimer that small
/// kernels write: these also work where events cannot be recorded, and other kernels can read them.
class Clock {
public:
  enum class Kind : std::uint8_t { events, kernels };
  Clock(Queue queue, Kind kind);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// Takes a new base: a stamp between two readings of the host's clock, the tightest of several. Its error grows
  /// neither with the length of a run, nor with what an event's time, a float of milliseconds, can hold.
  void align();
  /// How often that was done.
  [[nodiscard]] std::size_t alignments() const { return alignments_; }
  /// Half of the time between those two readings: the moment of the stamp is not known closer. Of all bases the worst,
  /// as every step has its own.
  [[nodiscard]] std::int64_t error() const { return error_; }

  [[nodiscard]] std::int64_t host_time(const Event& event) const;
  [[nodiscard]] std::int64_t host_time(std::uint64_t globaltimer) const;
  /// Whether a stamp was made since the base was taken, or is one of a step before.
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
  /// Forgets all. The first of all streams to begin a step for which the clock was not aligned yet has it aligned: all
  /// begin before the first task of the step, and have read theirs before the next begins.
  void begin_step();
  /// Makes room for so many stamps of a step: CUDA may synchronize the device to allocate, which within a step would
  /// wait for receives that wait for a peer.
  void reserve(std::size_t count);
  [[nodiscard]] Stamp add();
  /// Where add() stores its %globaltimer; with Clock::Kind::kernels only.
  [[nodiscard]] const std::uint64_t* address(Stamp stamp) const;
  /// Whether the stream has come to this one, of this step.
  [[nodiscard]] bool has_passed(Stamp stamp) const;
  /// After the stream was synchronized.
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
