#pragma once
// The schedules ppsim can make by name. To add one: a file in sim/src/generators, a line in generators.def, a line in
// CMake.

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/schedule.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ppsim {

/// What a generator is asked for.
struct ScheduleRequest {
  Shape shape;
  std::optional<std::size_t> group_size;   ///< interleaved: microbatches per group of one chunk
  std::optional<bool> descending_backward; ///< gpipe: last microbatch first, as the paper draws it
  bool operator==(const ScheduleRequest&) const = default;
};

/// The bubble that theory gives for these inputs.
struct ClosedForm {
  double bubble_overhead = 0; ///< (makespan - ideal) / ideal
  std::string_view formula;
};

/// Costs that are the same for every chunk and boundary; closed forms are stated for them.
struct UniformCosts {
  Duration forward{0};  ///< of a whole stage, all its chunks
  Duration backward{0}; ///< of a whole stage, I and W
  Duration comm{0};     ///< one transfer
};

/// One schedule by name: what it promises, what it refuses, how it is made.
struct Generator {
  std::string_view name;
  std::string_view placement;
  std::string_view summary;     ///< its order, in one line
  std::string_view promise;     ///< what its tests hold it to
  std::string_view constraints; ///< what it refuses, in words
  std::string_view source;      ///< paper or code that the order follows
  bool takes_group_size = false;
  bool takes_backward_order = false;
  bool takes_vpp = false; ///< false: one chunk per stage
  /// Adds what it refuses about the request.
  void (*refuse)(const ScheduleRequest&, Problems&) = nullptr;
  /// The stage of each chunk; known before the costs, which may follow from it (layers per stage).
  std::vector<StageId> (*place)(const Shape&) = loop_placement;
  /// The order. Most do not look at the scenario; those that search do.
  Schedule (*make)(const ScheduleRequest&, const Scenario&) = nullptr;
  /// The closed form at these costs under `latency`; nothing where none is known.
  std::optional<ClosedForm> (*closed_form)(const ScheduleRequest&, const UniformCosts&) = nullptr;
};

[[nodiscard]] std::span<const Generator* const> generators();
/// Throws Error (--schedule: unknown, did you mean).
[[nodiscard]] const Generator& find_generator(std::string_view name);
/// Throws Error with every rule of the generator that the request breaks.
void check_request(const Generator& generator, const ScheduleRequest& request);
/// Checks the request and makes the schedule for these costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request,
                                     const Scenario& scenario);
/// The same for equal stages (F 1 ms, B 2 ms, free transfers), for orders that do not depend on costs.
[[nodiscard]] Schedule make_schedule(const Generator& generator, const ScheduleRequest& request);
/// The closed form for these inputs; nothing where none holds (unequal chunks, a pair rule, contention, ...).
[[nodiscard]] std::optional<ClosedForm> closed_form(const Generator& generator, const ScheduleRequest& request,
                                                    const Scenario& scenario);

} // namespace ppsim
