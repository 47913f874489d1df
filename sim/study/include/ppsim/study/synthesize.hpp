#pragma once
// Synthesis: the best order that a search finds for a run's costs within its memory, and a bound that no order beats
// (docs/synthesis.md).

#include "ppsim/certificate/certificate.hpp"
#include "ppsim/study/balance.hpp"
#include "ppsim/study/run_report.hpp"
#include "ppsim/study/run_spec.hpp"
#include "ppsim/synthesis/search.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Where chunks are: "linear", one per stage; "v", two in a V; "loop:N", N in a loop.
struct ChunkPlacement {
  std::string name;
  std::size_t vpp = 1;
  std::vector<StageId> (*place)(const Shape&) = nullptr;
};
/// Nothing where there is none of that name.
[[nodiscard]] std::optional<ChunkPlacement> find_chunk_placement(std::string_view name);

/// What is to be short. They differ only with an optimizer step per stage, where stages do not meet between steps.
enum class Objective : std::uint8_t {
  makespan,  ///< of one step
  step_time, ///< between steps in the long run
};
[[nodiscard]] std::string_view to_string(Objective objective);
[[nodiscard]] std::string_view in_words(Objective objective); ///< "step time"

/// Orders by their backwards.
enum class Backwards : std::uint8_t {
  any,
  split, ///< whole ones can be shorter, as they pay an overhead once, or hold less, as they recompute layer by layer
  whole, ///< split ones can be shorter
};
[[nodiscard]] std::string_view to_string(Backwards backwards);

/// What is asked of a synthesis, beside the run.
struct SynthesisRequest {
  std::vector<ChunkPlacement> placements;
  bool splits_backward = true; ///< I and W are tasks of their own
  Objective objective = Objective::makespan;
  std::uint64_t effort = 0; ///< as SearchOptions; for each placement
  std::uint64_t seed = 1;
  std::int64_t gap_ppm = 0;
  std::size_t threads = 1; ///< as SearchOptions
  bool certifies = false;  ///< the result must have a certificate
  std::vector<Schedule> starts =
      {}; ///< orders to begin with, where their placement and passes are those that are sought
  std::function<void(const ChunkPlacement&)> begins = {}; ///< called at the beginning of each search
  std::function<bool(const ChunkPlacement&, const synthesis::Progress&)> go_on = {};
};

/// A schedule by name, with the same placement and within the same memory.
struct NamedOrder {
  std::string name;
  Duration length{0}; ///< as SynthesizedOrder::run_length()
};

/// What came of one placement.
struct SynthesizedOrder {
  ChunkPlacement placement;
  RunSpec spec; ///< the run with this order, or with a shorter one where `simulated` is set: evaluate() simulates it
  Objective objective = Objective::makespan;
  TransferModel transfers = TransferModel::latency; ///< the model of the search: `latency` or `link`
  Duration length{0};   ///< the objective of this order, under `transfers`, with what follows the tasks at least
  Duration makespan{0}; ///< the same, of one step
  Duration bound{0};    ///< no order of this placement within this memory has a length below
  std::optional<Duration> simulated = {}; ///< length under the run's transfer model, if that is another, of the
                                          ///< shortest of what was found and schedules by name; max() if all deadlock
  std::optional<Schedule> found_schedule = {}; ///< what was found, where `spec` has a shorter one
  std::optional<NamedOrder> best_named;
  std::optional<Balance> balance = {}; ///< where the split was sought too: `bound` is of the one that was found
  synthesis::Instance instance;        ///< what the order was sought for; links follow the stages
  std::optional<std::uint32_t> span_of =
      {};                     ///< where stages do not meet between steps: the bound is that of this stage's span
  bool by_microbatch = false; ///< microbatches differ: `instance` has their mean durations. Lengths, `bound` and
                              ///< `found` are those of the true durations; `bound` covers any order of microbatches
  bool pairs = false;         ///< pairs overlap: `instance` has shorter durations (relaxed()), for which there is a
                              ///< bound. Lengths and `found` are those of the order of pieces
  Backwards bound_of = Backwards::any; ///< the orders that have this bound
  synthesis::Found found;              ///< of `instance`, or the span_instance() of that stage; `history` has lengths
  std::vector<std::string> sequence_names; ///< "F0", by chunk, and "F0>1" for transfers: for people
  [[nodiscard]] double gap() const { return fraction(length - bound, bound); }
  [[nodiscard]] Duration run_length() const { return simulated.value_or(length); }
  [[nodiscard]] bool deadlocks() const { return simulated == Duration::max(); }
};

/// The objective in a simulation.
[[nodiscard]] Duration length_of(Objective objective, const RunReport& simulated);

/// What was found, for others to check; not for costs by microbatch.
[[nodiscard]] Certificate certificate_of(const SynthesizedOrder& order);

struct Synthesis {
  std::vector<SynthesizedOrder>
      orders; ///< the shortest first, by the run's transfer model; as they were asked for among equals
  std::vector<std::string> notes; ///< for people
};

/// Searches each placement; one without room is left out with a note, if another has some. Throws Error: bad_input
/// where the run is none that orders can be sought for (an order that is given, ...), `no` where
/// the memory cannot hold one microbatch, with what would fit.
[[nodiscard]] Synthesis synthesize(const RunSpec& spec, const SynthesisRequest& request);

/// A synthesis at one value of what varies.
struct FrontPoint {
  std::int64_t value = 0;
  Synthesis synthesis;
  std::string refusal; ///< why there is no order, where there is none
};

/// The same at up to so many values of `axis`, see points_of(). A search begins with the orders of the
/// value before, so that where memory grows a step never gets longer. Throws Error as synthesize(), but where memory is
/// short.
[[nodiscard]] std::vector<FrontPoint> synthesize_along(const RunSpec& spec, SynthesisRequest request, const Axis& axis,
                                                       std::size_t points);

} // namespace ppsim
