#pragma once
// The schedules ppsim can make by name. To add one: a file in sim/schedule/generators, a line in generators.def, a line
// in CMake.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// What theory gives for these inputs.
struct ClosedForm {
  double value = 0;
  std::string_view formula;
  std::string_view metric = "bubble_overhead"; ///< tag of the metric (metrics()) that it is a form of; a ratio
};

/// Costs that are the same for every chunk and boundary; closed forms are stated for them.
struct UniformCosts {
  Duration forward{0};     ///< of a whole stage, all its chunks
  Duration backward{0};    ///< of a whole stage, I and W in one piece
  Duration input_grad{0};  ///< of a whole stage, as tasks of their own
  Duration weight_grad{0}; ///< as above
  Duration comm{0};        ///< one transfer
  PairRule pair;           ///< how long an overlapped pair of F and B lasts
};

/// The placements that follow from the shape alone, as Generator::place asks for them.
[[nodiscard]] inline std::vector<StageId> loop_placement(const ScheduleRequest& request) {
  return loop_placement(request.shape);
}
[[nodiscard]] inline std::vector<StageId> wave_placement(const ScheduleRequest& request) {
  return wave_placement(request.shape);
}

/// How many chunks per stage a schedule can have.
struct VppRule {
  std::size_t standard = 1; ///< where `vpp` is not given
  std::size_t multiple = 0; ///< any multiple of this; 0: only the standard
  bool matters = true;      ///< the order gains or loses by it, so that a comparison tries several
};

/// One schedule by name: what it promises, what it refuses, how it is made.
struct Generator {
  std::string_view name;
  std::string_view placement;
  std::string_view summary;      ///< its order, in one line
  std::string_view promise;      ///< what its tests hold it to
  std::string_view constraints;  ///< what it refuses, in words
  std::string_view source;       ///< paper or code that the order follows
  std::string_view options = {}; ///< those of schedule_options() that it takes, comma-separated
  VppRule vpp = {};
  bool searches = false; ///< the order follows costs and memory; making it takes longer
  /// Adds what it refuses about the request.
  void (*refuse)(const ScheduleRequest&, Problems&) = nullptr;
  /// The stage of each chunk (with replicas or two directions that of its microbatch 0); known before the costs, which
  /// may follow from it (layers per stage).
  std::vector<StageId> (*place)(const ScheduleRequest&) = loop_placement;
  /// Adds the order of one stage; for orders in which each stage follows from the request by itself.
  void (*add_stage)(ScheduleBuilder&, const ScheduleRequest&, std::size_t stage) = nullptr;
  /// Makes all other orders. Those that search look at the scenario.
  Schedule (*make)(const ScheduleRequest&, const Scenario&) = nullptr;
  /// The closed form at these costs under `latency`; nothing where none is known.
  std::optional<ClosedForm> (*closed_form)(const ScheduleRequest&, const UniformCosts&) = nullptr;
  /// Whether it takes that one of schedule_options().
  [[nodiscard]] bool takes(std::string_view option) const;
};

/// An option that only some schedules take.
struct ScheduleOption {
  std::string_view name; ///< long flag without dashes
  bool (*is_given)(const ScheduleRequest&);
  std::string_view refusal; ///< what a schedule lacks that does not take it
};
[[nodiscard]] std::span<const ScheduleOption> schedule_options();

[[nodiscard]] std::span<const Generator* const> generators();
/// Throws Error (`schedule`: unknown, did you mean).
[[nodiscard]] const Generator& find_generator(std::string_view name);
/// Throws Error with every rule of the generator that the request breaks.
void check_request(const Generator& generator, const ScheduleRequest& request);
/// Checks the request and makes the schedule for these costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request,
                                     const Scenario& scenario);
/// The same for equal stages (F 1 ms, B 2 ms, free transfers), for orders that do not depend on costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request);
/// Whose order `schedule` has, by its options' standard values; null where it is none's. Those that search are not
/// asked.
[[nodiscard]] const Generator* generator_of(const Schedule& schedule);
/// The closed form for these inputs; nothing where none holds (unequal chunks, a pair rule, contention, ...).
[[nodiscard]] std::optional<ClosedForm> closed_form(const Generator& generator, const ScheduleRequest& request,
                                                    const Scenario& scenario);

} // namespace ppsim
