#pragma once
// PipelineStage: one stage of a pipeline: its chunks, its memory, and the order of its tasks.

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

/// How long tasks take.
enum class Compute : std::uint8_t {
  real, ///< real computation of the workload
  timed ///< the scenario's times, with a tiny workload
};

struct StageOptions {
  Compute compute = Compute::real;
  bool poison = false; ///< fill every buffer with NaN before its use
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
  Interval optimizer; ///< zero if there is none: asynchronous schedules update per microbatch, or nothing is trained
  struct Reduced {
    ChunkId chunk{};
    Interval interval;
  };
  std::vector<Reduced> reductions; ///< of chunks that another stage also holds
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
  /// Allocates and initialises its chunks. Throws Error, or std::bad_alloc if memory runs out.
  PipelineStage(const Program& program, StageId stage, Device& device, Transport& transport, Monitor& monitor,
                StageOptions options = {});
  PipelineStage(const PipelineStage&) = delete;
  PipelineStage& operator=(const PipelineStage&) = delete;
  ~PipelineStage();

  [[nodiscard]] StageId rank() const { return stage_; }
  [[nodiscard]] std::optional<StageId> previous_rank() const; ///< the stage that sends its first chunk's input
  [[nodiscard]] std::optional<StageId> next_rank() const;     ///< the stage that receives its last chunk's output
  [[nodiscard]] bool is_first() const;                        ///< it holds the first chunk
  [[nodiscard]] bool is_last() const;                         ///< it holds the last chunk
  [[nodiscard]] std::span<const std::uint16_t> chunks() const;

  /// Runs one step: all tasks, then the optimizer step. Returns the mean loss over the microbatches; none if they do
  /// not end on this stage. Throws Error (failed) with rank, task and peer.
  std::optional<double> train_step();

  // The parts of train_step(), for one thread that issues the tasks of several stages. The thread calls one part for
  // all stages before it calls the next part for any.
  void begin_step();
  /// Runs (or enqueues) the next task; false if none is left.
  bool run_next();
  /// Runs the next part after the tasks; false if none is left. The parts: exchange gradients with other replicas, add
  /// them, meet the other stages (with a synchronous optimizer), optimizer step.
  bool finish_next();
  /// Whether all tasks have ended. Reports the task that an enqueuing device has reached to the monitor, so that its
  /// limit applies to single tasks there too. Returns soon.
  bool follow();
  /// Waits for all enqueued work and fills the record.
  void end_step();

  /// Waits for all other stages; call it outside steps.
  void meet();

  /// The record of the last step.
  [[nodiscard]] const StageRecord& record() const { return record_; }
  /// Gradients of the last step, summed over microbatches (and replicas). For an asynchronous program: those of the
  /// last microbatch, because each microbatch has its own optimizer step.
  [[nodiscard]] std::vector<float> gradients(ChunkId chunk) const;
  [[nodiscard]] std::vector<float> parameters(ChunkId chunk) const;

  void set_poison(bool poison) { options_.poison = poison; }

private:
  struct State;
  void allocate_chunks();
  void allocate_buffers();
  /// Rethrows the current exception as Error with rank, task and peer.
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

  // The parts after the tasks.
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
