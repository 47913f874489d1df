#pragma once
// The space of a plan: which degrees of parallelism, schedules and ways to save memory a cluster could train with.

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

/// What a configuration is to be run with.
enum class Framework : std::uint8_t { any, megatron, torchtitan, deepspeed };
[[nodiscard]] std::string_view to_string(Framework framework);

/// Whether it takes any split of layers.
[[nodiscard]] bool runs_layouts(Framework framework);

/// What forwards keep for their backwards.
struct Keeping {
  RecomputeKind kind = RecomputeKind::none;
  std::size_t block_layers = 0; ///< full: of each chunk the first so many alone; 0: all
  auto operator<=>(const Keeping&) const = default;
};

/// How devices share the work, beside the order of a pipeline. gpus = tensor x context x data x stages.
struct Degrees {
  std::int64_t tensor = 1, context = 1, expert = 1, data = 1, stages = 1;
  std::int64_t microbatch_size = 1, microbatches = 1;
  std::int64_t zero_stage = 1; ///< 0: without a distributed optimizer
  bool sequence_parallel = true;
  auto operator<=>(const Degrees&) const = default;
};

/// How layers are spread over chunks.
enum class LayerSplit : std::uint8_t {
  even, ///< the first chunks take a remainder
  ends, ///< embedding and loss each take the place of a layer
  work  ///< the busiest stage does as little as it can (work_layout())
};
[[nodiscard]] std::string_view to_string(LayerSplit split);

/// One way to train: a run of the simulator.
struct Configuration {
  Degrees degrees;
  const Generator* schedule = nullptr;
  std::size_t chunks = 1; ///< per stage
  Keeping keeping = {};
  LayerSplit split = LayerSplit::even;
  std::string layout = {}; ///< what each chunk holds (parse_layout()); empty where the split is even
  bool operator==(const Configuration&) const = default;
  /// The options that say it, beside those of the request: ("stages", "8"), ...
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string>> options() const;
};

/// What may be chosen; where a list is empty, all that the rules allow (docs/planning.md).
struct PlanChoices {
  std::vector<std::int64_t> tensor, context, expert, data, stages, microbatch_size, zero_stage;
  std::vector<std::size_t> chunks;
  std::vector<std::string> schedules;
  std::vector<RecomputeKind> recompute;
  std::vector<LayerSplit> split;
  std::optional<bool> sequence_parallel;
};

/// Which configurations are looked at.
struct PlanRequest {
  RunSpec run; ///< what holds for all of them: model, device, links, memory limit
  std::int64_t gpus = 1;
  std::int64_t global_batch = 1; ///< samples in a step
  PlanChoices choices;
  Framework framework = Framework::any;
  std::size_t top = 20;   ///< so many are ranked
  bool by_memory = false; ///< by the least memory, and not by run.rank_by
};

/// What holds for all, and is refused of this one, as it has nothing to exchange: options that its run leaves out.
[[nodiscard]] std::vector<std::string_view> void_options(const PlanRequest& request,
                                                         const Configuration& configuration);

/// How many steps are sampled of a run: enough for the slowest of its copies. None where nothing varies.
[[nodiscard]] std::optional<std::size_t> samples_of(const PlanRequest& request, const Degrees& degrees);

/// The run of a configuration.
[[nodiscard]] RunSpec spec_of(const PlanRequest& request, const Configuration& configuration);

/// What the order of a schedule is like, whatever its shape.
struct ScheduleTraits {
  bool splits_backward = false;
  bool pairs = false; ///< runs a forward and a backward at the same time
  bool asynchronous = false;
};
[[nodiscard]] ScheduleTraits traits_of(const Generator& generator);

/// Whether each chunk is on two stages.
[[nodiscard]] bool goes_both_ways(const Generator& generator);

/// A schedule with a number of chunks, and how layers are spread over them.
struct PlannedOrder {
  const Generator* schedule = nullptr;
  std::size_t chunks = 1;
  LayerSplit split = LayerSplit::even;
  const Layout* layout = nullptr; ///< of its PlanSpace; none where the split is even
};

/// Layers spread evenly over the chunks of a placement.
[[nodiscard]] Layout even_layout(const Model& model, const Shape& shape, const std::vector<StageId>& placement);
/// Layers spread over so many chunks, embedding and loss counting as one each.
[[nodiscard]] Layout ends_layout(const Model& model, std::size_t chunks);

/// How long forward and backward take beside layers, in eighths of what they take in a layer.
struct EndsWork {
  std::int64_t embedding = 0; ///< of the first chunk
  std::int64_t loss = 0;      ///< of the last chunk, with multi-token prediction
  auto operator<=>(const EndsWork&) const = default;
};
inline constexpr std::int64_t work_of_layer = 8;

/// Layers, taken to be all like the last one and not recomputed, spread over chunks, of which `stage_of` says the
/// stage: one by one to the stage that does the least so far, and there to its chunk that does the least; of equals to
/// the last. Chunks without embedding and loss have one at least. Nothing where there are too few layers for that.
[[nodiscard]] std::optional<Layout> work_layout(const Model& model, const EndsWork& work,
                                                const std::vector<std::size_t>& stage_of);

/// The schedules that a plan looks at: those that are named, or all but `sequential`; that flush, and that the
/// framework runs.
[[nodiscard]] std::vector<const Generator*> planned_schedules(const PlanRequest& request);

/// The space, in its two halves: degrees, and for each of them orders with what they keep. Throws Error where it is
/// empty: with the rule that leaves nothing, and what would.
class PlanSpace {
public:
  explicit PlanSpace(const PlanRequest& request);
  [[nodiscard]] const std::vector<Degrees>& degrees() const { return degrees_; }
  /// What runs on such a pipeline, in the order of generators(), more chunks after fewer.
  [[nodiscard]] std::vector<PlannedOrder> orders(const Degrees& degrees) const;
  /// What a chunk of at most so many layers may keep.
  [[nodiscard]] std::vector<Keeping> keepings(std::size_t layers) const;
  /// Layers of the fullest chunk.
  [[nodiscard]] std::size_t layers_of_chunk(const Degrees& degrees, const PlannedOrder& order) const;
  [[nodiscard]] static Configuration configuration(const Degrees& degrees, const PlannedOrder& order,
                                                   const Keeping& keeping);
  /// How many configurations there are; and those with these degrees.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t size_of(const Degrees& degrees) const;

private:
  /// Those of a schedule on so many stages, with so many chunks.
  struct Layouts {
    bool even = false;                ///< layers can be spread evenly
    std::optional<Layout> ends, work; ///< nothing where it is not a split of its own
  };
  /// What each choice may be.
  struct Values {
    std::vector<std::int64_t> tensor, context, expert, stages, microbatch_size, zero_stage;
  };
  [[nodiscard]] Values values() const;
  /// Throws Error where something is chosen that the framework does not have.
  void check_framework() const;
  /// Throws Error where a degree that is named cannot be one of these devices.
  void check_divisors() const;
  void find_degrees();
  void add_batches(const Values& all, Degrees degrees);
  void add_divided(const Values& all, Degrees degrees);
  [[nodiscard]] bool runs_alone(const Generator& generator) const;
  [[nodiscard]] std::vector<std::size_t> chunk_counts(const Generator& generator, std::size_t stages) const;
  [[nodiscard]] bool takes(LayerSplit split) const;
  [[nodiscard]] Layouts layouts_of(const Generator& generator, std::size_t stages, std::size_t chunks,
                                   const EndsWork& work) const;
  /// What work of ends follows from: tensor, context, expert degree, and copies.
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
