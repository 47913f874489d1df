#pragma once
// Inputs: everything that a user set, by flag or scenario file.

#include "ppsim/base/error.hpp"
#include "ppsim/plan/space.hpp"
#include "ppsim/runtime/backend.hpp"
#include "ppsim/study/run_spec.hpp"
#include "ppsim/study/sweep.hpp"
#include "ppsim/study/synthesize.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppsim::cli {

/// Options of real runs.
struct ReplaySpec {
  std::optional<std::string> backend, transport;
  std::optional<runtime::Compute> compute;
  runtime::Workload workload; ///< default: its members' defaults
  std::optional<std::size_t> slots, warmup, steps;
  std::optional<Duration> timeout;
  std::optional<runtime::Fault> fault;
  std::optional<std::string> output, timeline;
  std::optional<std::string> published; ///< a table of runs
  std::optional<std::size_t> replica;
  bool by_microbatch = false, mean_stage = false;
  std::optional<double> calibrate;
  std::optional<double> tolerance;
};

/// Options of a search for an order.
struct SearchSpec {
  std::vector<ChunkPlacement> placements;
  bool no_split = false;
  std::optional<Objective> objective;
  std::optional<std::size_t> effort;
  std::optional<Duration> search_time;
  std::optional<double> gap;
};

/// The configurations of a plan.
struct PlanSpec {
  std::optional<std::int64_t> gpus, global_batch;
  PlanChoices choices;
  std::optional<Framework> framework;
  std::optional<std::size_t> top;
  bool by_memory = false; ///< rank rows by memory instead of rank_by
};

/// Outputs, and conditions on the result.
struct OutputSpec {
  std::optional<std::string> json, markdown, svg, html, jitter_svg, trace, certificate, progress_svg, csv, csv_comms,
      chakra, goal;
  bool svg_memory = false;
  bool tasks = false;
  bool sensitivity = false;
  bool rows = false; ///< list all rows of a table of runs
  std::vector<std::string> fail_if;
};

/// Options of runs at every point of a grid.
struct SweepSpec {
  SweepGrid grid;
  std::optional<std::string> table;
  bool resume = false;
};

class ScenarioFile;
struct Option;

/// `option` gets `value`, set at `where`.
struct Assignment {
  const Option* option = nullptr;
  std::string value;
  std::string where;
};

/// Each value is well-formed by itself; build_run() checks whether they fit together.
struct Inputs : RunSpec, ReplaySpec, SearchSpec, SweepSpec, PlanSpec, OutputSpec {
  std::optional<std::string> scenario, schedule_file, model, device; ///< names, or files
  std::optional<std::string> jitter_from;                            ///< a run file
  std::vector<std::string> tensor_link_files, expert_link_files, data_link_files, context_link_files; ///< of nccl-tests
  std::optional<std::size_t> threads, points;
  std::optional<std::string> precision; ///< in the unit of the axis
  std::optional<std::string> file;      ///< a command's first argument
  std::vector<std::string> files;       ///< further arguments of a command that accepts several
  std::vector<Assignment> flags;        ///< all from the command line
  /// The content of `scenario`, which can be read only once; set by parse_arguments().
  std::shared_ptr<const ScenarioFile> scenario_file;
};

} // namespace ppsim::cli
