#pragma once
// The schedules that ppsim makes by name. To add one: a file in sim/schedule/generators, a line in generators.def, a
// line in CMake.

#include "ppsim/base/error.hpp"
#include "ppsim/schedule/schedule.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// The theoretical value for these inputs.
struct ClosedForm {
  double value = 0;
  std::string_view formula;
  std::string_view metric = "bubble_overhead"; ///< tag of the metric (metrics()) that it predicts; a ratio
};

/// Costs that are equal for every chunk and boundary, as closed forms assume.
struct UniformCosts {
  Duration forward{0};     ///< of a whole stage, all its chunks
  Duration backward{0};    ///< of a whole stage, I and W as one task
  Duration input_grad{0};  ///< of a whole stage, as separate tasks
  Duration weight_grad{0}; ///< as above
  Duration comm{0};        ///< one transfer
  PairRule pair;           ///< duration of an overlapped pair of F and B
};

/// The placements that depend only on the shape, with the signature of Generator::place.
[[nodiscard]] inline std::vector<StageId> loop_placement(const ScheduleRequest& request) {
  return loop_placement(request.shape);
}
[[nodiscard]] inline std::vector<StageId> wave_placement(const ScheduleRequest& request) {
  return wave_placement(request.shape);
}

/// The numbers of chunks per stage that a schedule supports.
struct VppRule {
  std::size_t standard = 1; ///< if `vpp` is not given
  std::size_t multiple = 0; ///< any multiple of this; 0: only the standard
  bool matters = true;      ///< the order depends on it, so a comparison tries several
};

/// A schedule by name: its guarantees, its constraints, and how to make it.
struct Generator {
  std::string_view name;
  std::string_view placement;
  std::string_view summary;      ///< its order, in one line
  std::string_view promise;      ///< what its tests guarantee
  std::string_view constraints;  ///< what it refuses, in words
  std::string_view source;       ///< the paper or code that the order follows
  std::string_view options = {}; ///< the schedule_options() that it accepts, comma-separated
  VppRule vpp = {};
  /// Adds the constraints that the request violates.
  void (*refuse)(const ScheduleRequest&, Problems&) = nullptr;
  /// The stage of each chunk (with replicas or two directions, that of microbatch 0). It does not depend on costs,
  /// because costs may depend on it (layers per stage).
  std::vector<StageId> (*place)(const ScheduleRequest&) = loop_placement;
  /// Adds the order of one stage, for orders whose stages do not depend on each other.
  void (*add_stage)(ScheduleBuilder&, const ScheduleRequest&, std::size_t stage) = nullptr;
  /// Makes all other orders that do not depend on costs and memory.
  Schedule (*make)(const ScheduleRequest&, const Scenario&) = nullptr;
  /// Searches for an order by costs and memory, which takes longer. The first is the best with transfers by `latency`.
  /// `rivals`: then come schedules by name of this placement that fit into the same memory; with other transfers one of
  /// them can be shorter.
  std::vector<Schedule> (*search)(const ScheduleRequest&, const Scenario&, bool rivals) = nullptr;
  [[nodiscard]] bool searches() const { return search != nullptr; }
  /// The closed form at these costs under `latency`; none if it is unknown.
  std::optional<ClosedForm> (*closed_form)(const ScheduleRequest&, const UniformCosts&) = nullptr;
  /// Whether it accepts this one of schedule_options().
  [[nodiscard]] bool takes(std::string_view option) const;
};

/// An option that only some schedules accept.
struct ScheduleOption {
  std::string_view name; ///< long flag without dashes
  bool (*is_given)(const ScheduleRequest&);
  std::string_view refusal; ///< the missing property of schedules that refuse it
};
[[nodiscard]] std::span<const ScheduleOption> schedule_options();

[[nodiscard]] std::span<const Generator* const> generators();
/// Throws Error (place `schedule`) for an unknown name, with the nearest name as hint.
[[nodiscard]] const Generator& find_generator(std::string_view name);
/// Throws Error with every constraint of the generator that the request violates.
void check_request(const Generator& generator, const ScheduleRequest& request);
/// Checks the request and makes the schedule for these costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request,
                                     const Scenario& scenario);
/// Checks the request and makes what Generator::search() does with rivals; of others, the schedule.
[[nodiscard]] std::vector<Schedule> make_with_rivals(const Generator& generator, const ScheduleRequest& request,
                                                     const Scenario& scenario);
/// As make_schedule(), for equal stages (F 1 ms, B 2 ms, no transfer time), for orders that do not depend on costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request);
/// The generator that makes this order with default options; null if there is none. Does not try generators that
/// search.
[[nodiscard]] const Generator* generator_of(const Schedule& schedule);
/// The closed form for these inputs; none if none applies (unequal chunks, a pair rule, contention, ...).
[[nodiscard]] std::optional<ClosedForm> closed_form(const Generator& generator, const ScheduleRequest& request,
                                                    const Scenario& scenario);

} // namespace ppsim
