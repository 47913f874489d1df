#pragma once
// The space of a plan: the degrees of parallelism, schedules and recomputation choices that a cluster could train with.

#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/run_spec.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ppsim {

/// The framework that runs a configuration.
enum class Framework : std::uint8_t { any, megatron, torchtitan, deepspeed };
[[nodiscard]] std::string_view to_string(Framework framework);

/// Whether the framework accepts any split of layers.
[[nodiscard]] bool runs_layouts(Framework framework);

/// What forwards keep for their backwards.
struct Keeping {
  RecomputeKind kind = RecomputeKind::none;
  std::size_t block_layers = 0; ///< with kind `full`: recompute only this many first layers of each chunk; 0: all
  auto operator<=>(const Keeping&) const = default;
};

/// How devices share the work, apart from the schedule. gpus = tensor x context x data x stages.
struct Degrees {
  std::int64_t tensor = 1, context = 1, expert = 1, data = 1, stages = 1;
  std::int64_t microbatch_size = 1, microbatches = 1;
  std::int64_t zero_stage = 1; ///< 0: without a distributed optimizer
  bool sequence_parallel = true;
  auto operator<=>(const Degrees&) const = default;
};

/// How layers are distributed over chunks.
enum class LayerSplit : std::uint8_t {
  even, ///< the first chunks take a remainder
  ends, ///< embedding and loss each count as one layer
  work  ///< minimal work on the busiest stage (work_layout())
};
[[nodiscard]] std::string_view to_string(LayerSplit split);

/// One way to train: one run of the simulator.
struct Configuration {
  Degrees degrees;
  const Generator* schedule = nullptr;
  std::size_t chunks = 1; ///< per stage
  Keeping keeping = {};
  LayerSplit split = LayerSplit::even;
  std::string layout = {}; ///< the content of each chunk (parse_layout()); empty if the split is even
  bool operator==(const Configuration&) const = default;
  /// Its options, in addition to those of the request: ("stages", "8"), ...
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string>> options() const;
};

/// Allowed values; an empty list allows all that the rules permit (docs/planning.md).
struct PlanChoices {
  std::vector<std::int64_t> tensor, context, expert, data, stages, microbatch_size, zero_stage;
  std::vector<std::size_t> chunks;
  std::vector<std::string> schedules;
  std::vector<RecomputeKind> recompute;
  std::vector<LayerSplit> split;
  std::optional<bool> sequence_parallel;
};

/// The configurations to search.
struct PlanRequest {
  RunSpec run; ///< common to all: model, device, links, memory limit
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1; ///< samples per step
  PlanChoices choices;
  Framework framework = Framework::any;
  std::size_t top = 20;   ///< number of ranked rows
  bool by_memory = false; ///< rank by the least memory instead of run.rank_by
};

/// Common options that do not apply to this configuration, because it has nothing to exchange; its run omits them.
[[nodiscard]] std::vector<std::string_view> void_options(const Configuration& configuration);

/// The number of steps to sample for a run: enough for the slowest of its copies. None if nothing varies.
[[nodiscard]] std::optional<std::size_t> samples_of(const PlanRequest& request, const Degrees& degrees);

/// The run of a configuration.
[[nodiscard]] RunSpec spec_of(const PlanRequest& request, const Configuration& configuration);

/// Properties of a schedule's order that do not depend on its shape.
struct ScheduleTraits {
  bool splits_backward = false;
  bool pairs = false; ///< runs a forward and a backward at the same time
  bool asynchronous = false;
};
[[nodiscard]] ScheduleTraits traits_of(const Generator& generator);

/// Whether each chunk is on two stages.
[[nodiscard]] bool goes_both_ways(const Generator& generator);

/// A schedule with a number of chunks and a distribution of layers over them.
struct PlannedOrder {
  const Generator* schedule = nullptr;
  std::size_t chunks = 1;
  LayerSplit split = LayerSplit::even;
  const Layout* layout = nullptr; ///< owned by PlanSpace; null if the split is even
};

/// Layers distributed evenly over the chunks of a placement.
[[nodiscard]] Layout even_layout(const Model& model, const Shape& shape, const std::vector<StageId>& placement);
/// Layers distributed over `chunks` chunks, with embedding and loss counting as one layer each.
[[nodiscard]] Layout ends_layout(const Model& model, std::size_t chunks);

/// Time of forward and backward outside layers, in eighths of their time in one layer.
struct EndsWork {
  std::int64_t embedding = 0; ///< of the first chunk
  std::int64_t loss = 0;      ///< of the last chunk, with multi-token prediction
  auto operator<=>(const EndsWork&) const = default;
};
inline constexpr std::int64_t work_of_layer = 8;

/// Distributes layers over chunks; `stage_of` has the stage of each chunk. All layers count like the last one, without
/// recomputation. Each layer goes to the stage with the least work so far, and there to its chunk with the least; of
/// equals, to the last. Chunks without embedding or loss get at least one layer. None if there are too few layers for
/// that.
[[nodiscard]] std::optional<Layout> work_layout(const Model& model, const EndsWork& work,
                                                const std::vector<std::size_t>& stage_of);

/// The schedules of a plan: the chosen ones, or all except `sequential`. Only those that flush and that the framework
/// runs.
[[nodiscard]] std::vector<const Generator*> planned_schedules(const PlanRequest& request);

/// The space: degrees, and for each of them orders with what they keep. Throws Error if it is empty, with the rule that
/// excludes everything and a remedy.
class PlanSpace {
public:
  explicit PlanSpace(const PlanRequest& request);
  [[nodiscard]] const std::vector<Degrees>& degrees() const { return degrees_; }
  /// Orders that run on such a pipeline, in the order of generators(), by rising number of chunks.
  [[nodiscard]] std::vector<PlannedOrder> orders(const Degrees& degrees) const;
  /// The choices of Keeping for chunks of at most `layers` layers.
  [[nodiscard]] std::vector<Keeping> keepings(std::size_t layers) const;
  /// Layers of the largest chunk.
  [[nodiscard]] std::size_t layers_of_chunk(const Degrees& degrees, const PlannedOrder& order) const;
  [[nodiscard]] static Configuration configuration(const Degrees& degrees, const PlannedOrder& order,
                                                   const Keeping& keeping);
  /// The number of configurations, in all and with these degrees.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t size_of(const Degrees& degrees) const;

private:
  /// The layouts of a schedule with a number of stages and chunks.
  struct Layouts {
    bool even = false;                ///< layers can be spread evenly
    std::optional<Layout> ends, work; ///< none if it equals another split
  };
  /// The candidate values of each choice.
  struct Values {
    std::vector<std::int64_t> tensor, context, expert, stages, microbatch_size, zero_stage;
  };
  [[nodiscard]] Values values() const;
  /// Throws Error if a choice is unknown to the framework.
  void check_framework() const;
  /// Throws Error if a chosen degree does not fit the number of devices.
  void check_divisors() const;
  void find_degrees();
  void add_batches(const Values& all, Degrees degrees);
  void add_divided(const Values& all, Degrees degrees);
  [[nodiscard]] bool runs_alone(const Generator& generator) const;
  [[nodiscard]] std::vector<std::size_t> chunk_counts(const Generator& generator, std::size_t stages) const;
  [[nodiscard]] bool takes(LayerSplit split) const;
  [[nodiscard]] Layouts layouts_of(const Generator& generator, std::size_t stages, std::size_t chunks,
                                   const EndsWork& work) const;
  /// The degrees that determine the work of the ends: tensor, context, expert, and copies.
  using Ranks = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  [[nodiscard]] Ranks ranks_of(const Degrees& degrees) const;
  [[nodiscard]] const EndsWork& work_of(const Degrees& degrees) const;
  void find_layouts();
  void count();

  const PlanRequest& request_;
  Model model_;
  std::vector<const Generator*> schedules_;
  std::vector<Degrees> degrees_;
  std::map<Ranks, EndsWork> work_;
  std::map<std::tuple<const Generator*, std::size_t, std::size_t, EndsWork>, Layouts>
      layouts_; ///< by stages and chunks
  std::uint64_t size_ = 0;
};

} // namespace ppsim
