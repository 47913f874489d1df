#pragma once
// PipelineStage: one stage of a pipeline: its chunks, its memory, and the order in which it works.

#include "ppsim/measured/measured.hpp"
#include "ppsim/runtime/device.hpp"
#include "ppsim/runtime/fault.hpp"
#include "ppsim/runtime/monitor.hpp"
#include "ppsim/runtime/program.hpp"
#include "ppsim/runtime/transport.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ppsim::runtime {

/// How tasks are made to last.
enum class Compute : std::uint8_t {
  real, ///< as long as the workload takes
  timed ///< as long as the scenario says, the workload being tiny
};

struct StageOptions {
  Compute compute = Compute::real;
  bool poison = false; ///< fill every buffer with NaN before it is used
  std::optional<Fault> fault = std::nullopt;
};

/// What a stage recorded in one step. Times are nanoseconds of its host's CLOCK_MONOTONIC.
struct StageRecord {
  struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
  };
  std::vector<Interval> tasks; ///< in the order of its program
  std::vector<Transport::Arrival> arrivals;
  Interval optimizer; ///< zero where there is none: each microbatch has its own, or nothing is trained
  struct Reduced {
    ChunkId chunk{};
    Interval interval;
  };
  std::vector<Reduced> reductions; ///< of chunks that another stage holds too
  Bytes static_bytes{};
  Bytes peak_bytes{};
  Bytes buffer_bytes{};
  Duration busy{0};
  std::optional<Duration> cpu;
  double losses = 0; ///< sum over the microbatches that ended here
};

/// One stage of a pipeline. All calls come from one thread.
class PipelineStage {
public:
  /// Allocates and initialises its chunks. Throws Error, or std::bad_alloc where memory does not suffice.
  PipelineStage(const Program& program, StageId stage, Device& device, Transport& transport, Monitor& monitor,
                StageOptions options = {});
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;
  ~PipelineStage();

  [[nodiscard]] StageId rank() const { return stage_; }
  [[nodiscard]] std::optional<StageId> previous_rank() const; ///< that its first chunk's input comes from
  [[nodiscard]] std::optional<StageId> next_rank() const;     ///< that its last chunk's output goes to
  [[nodiscard]] bool is_first() const;                        ///< it holds the first chunk
  [[nodiscard]] bool is_last() const;                         ///< it holds the last chunk
  [[nodiscard]] std::span<const std::uint16_t> chunks() const;

  /// One step: all its tasks, then its own optimizer step. The mean loss over the microbatches; nothing where none of
  /// them ended here. Throws Error (failed) naming rank, task and peer.
  std::optional<double> train_step();

  // The parts of train_step(), for one thread that issues the tasks of several stages. It calls the same part of all
  // stages before the next part of any.
  void begin_step();
  /// Runs (or enqueues) its next task; false when there is none left.
  bool run_next();
  /// The next part of what follows the tasks; false when there is none left. First gradients are exchanged with other
  /// copies, then they are added, then the stages meet (where the optimizer is synchronous), last comes the optimizer
  /// step.
  bool finish_next();
  /// Whether all tasks have ended. Where they were enqueued, it tells the monitor at which of them the device is: its
  /// limit is then of tasks there too, and who stops in one is reported too. Does not wait for long.
  bool follow();
  /// Waits for everything and fills the record.
  void end_step();

  /// Waits for all other stages, outside steps.
  void meet();

  /// Of the last step.
  [[nodiscard]] const StageRecord& record() const { return record_; }
  /// Of the last step: summed over microbatches (and copies); of an asynchronous program those of the last microbatch,
  /// as each has its own optimizer step.
  [[nodiscard]] std::vector<float> gradients(ChunkId chunk) const;
  [[nodiscard]] std::vector<float> parameters(ChunkId chunk) const;

  void set_poison(bool poison) { options_.poison = poison; }

private:
  struct State;
  void allocate_chunks();
  void allocate_buffers();
  /// What is being thrown, as Error with rank, task and peer.
  [[noreturn]] void rethrow(const ProgramTask* task) const;

  // The parts of a task.
  void run(const ProgramTask& task);
  [[nodiscard]] const void* take_input(const ProgramTask& task);
  [[nodiscard]] void* place_output(const ProgramTask& task);
  void allocate_stash(const ProgramTask& task);
  void compute(const ProgramTask& task, const void* input, void* output);
  void forward(const ProgramTask& task, const void* input, void* output);
  void update(const ProgramTask& task);
  void send_output(const ProgramTask& task);
  void free_stash(const ProgramTask& task);
  void release_input(const ProgramTask& task);
  [[nodiscard]] bool has_fault(FaultKind kind, const ProgramTask& task) const;
  [[noreturn]] void stall() const;

  // The parts of what follows the tasks.
  void exchange_gradients();
  void add_gradients();
  [[nodiscard]] bool meets_before_optimizer() const;
  void meet_before_optimizer();
  [[nodiscard]] bool has_optimizer_step() const;
  void optimizer_step();
  void note_standing(const ProgramTask& task);
  void fill_record();

  const Program& program_;
  StageId stage_;
  Device& device_;
  Transport& transport_;
  Monitor& monitor_;
  StageOptions options_;
  StageRecord record_;
  std::unique_ptr<State> state_;
};

} // namespace ppsim::runtime
