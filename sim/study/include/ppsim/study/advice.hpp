#pragma once
// Advice: the largest cost of a run, and what to try next. The words are in viz.

#include "ppsim/study/run_report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppsim {

/// What to improve next.
enum class NextStep : std::uint8_t {
  nothing,       ///< no stage is ever idle
  host,          ///< much of the idle time is before tasks that could have run
  run_together,  ///< stages run one at a time
  even_out,      ///< some stages compute much longer than the mean
  transfers,     ///< much of the idle time waits for transfers
  reductions,    ///< much of the idle time waits for reductions and optimizer steps
  pipeline_waits ///< fill, drain and waits for other stages, caused by the schedule
};

/// By how much a stage exceeds the memory limit.
struct Excess {
  StageId stage{};
  Bytes over{};
};

/// A change that was simulated and takes less time per microbatch.
struct Remedy {
  std::string fields;
  double gain = 0; ///< share of the time per microbatch
};

struct Advice {
  std::optional<Excess> excess; ///< to be fixed first
  NextStep next = NextStep::nothing;
  double share = 0;                 ///< share of the idle time for `next`; `pipeline_waits`: share of device time
  std::vector<std::size_t> busiest; ///< `even_out`: these stages
  double imbalance = 1;             ///< `even_out`: their compute time / the mean
  bool can_balance = false;         ///< `even_out`: there are layers to move
  std::vector<Remedy> remedies;     ///< `transfers`, `reductions` and `pipeline_waits`
  bool try_others = false;          ///< `transfers`, `pipeline_waits`: another schedule may help
  bool search = false;              ///< the bound leaves room for a shorter order
};

/// The advice for a run of `graph`.
[[nodiscard]] Advice advice_for(const TaskGraph& graph, const RunReport& report);

} // namespace ppsim
