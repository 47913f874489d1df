#pragma once
// Search: a good order for an instance, and a lower bound that says how good. docs/synthesis.md

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/synthesis/instance.hpp"

#include <functional>

namespace ppsim::synthesis {

/// Microbatches next to each other, in a view's direction.
struct Neighbours {
  std::uint32_t first = 0;
  std::uint32_t count = 0; ///< 0: all that there are
};

/// Supposing that the task starts before `time` in that view leads to a contradiction (rule 8 of docs/synthesis.md).
struct Case {
  std::uint32_t view = 0, sequence = 0;
  std::uint32_t index = 0; ///< of the task in its sequence, in the view's direction
  std::int64_t time = 0;   ///< ns
  Neighbours among = {};   ///< the others are left out
};

/// What is known after some steps, from the first order on.
struct Progress {
  std::uint64_t effort = 0;  ///< rounds that are done
  std::int64_t makespan = 0; ///< of the best order so far
  std::int64_t bound = 0;    ///< no order ends before
};

struct SearchOptions {
  std::uint64_t effort =
      0; ///< rounds of search after the first orders; the result depends on nothing but these and `seed`
  std::uint64_t orders = 0; ///< ends after so many first orders, if one was found; 0: none but its own end
  bool proves = true; ///< looks for the best bound that it can prove; else the first one will do, and the rules are
                      ///< applied for orders only, in a fixed number of steps
  std::uint64_t tabu_steps = 20'000'000; ///< tasks times moves of each tabu search of a round; at first a quarter.
                                         ///< Fewer searches if even 500 moves are more. Also limits each lot of
                                         ///< descents, and orders near others
  std::uint64_t case_steps = 20'000'000; ///< of the cases of a round; up to 8 times as many where they bring
                                         ///< something, and orders get no shorter; 3 times as many for those
                                         ///< from both ends until there are some, unless others soon are. With a
                                         ///< gap 4 times as many more, where its bound is near
  std::uint64_t guide_steps = 400'000;   ///< of the windows for first orders, unless it proves
  std::uint64_t seed = 1;
  std::int64_t gap_ppm = 0; ///< ends where the best order is at most so many millionths longer than the bound
  std::optional<std::int64_t> start_gap_ppm = {}; ///< seeks nothing where a start is that near the first bound
  std::vector<Order> starts = {};        ///< orders from elsewhere; those that do not fit, or do not run, are left out
  std::function<Plan(Plan)> as_run = {}; ///< what really runs instead of a plan found, or a start, in the same
                                         ///< memory: links serve transfers by when they are ready, or tasks are pairs
  std::size_t threads = 1;               ///< runs on up to that many; their number changes nothing
  std::function<bool(const Progress&)> go_on =
      {}; ///< asked often, by one thread at a time, with what is known; false: ends, and what is known is the result
};

/// What was known after so many steps: those of Windows::steps(), and one for each task of the instance for each order
/// that a guide leads to first and for each move of the tabu search. They are the same on every machine.
struct Milestone {
  std::uint64_t steps = 0;
  std::int64_t makespan = 0; ///< of the best order
  std::int64_t bound = 0;
};

/// What a search found.
struct Found {
  std::optional<Plan> plan; ///< the best order; nothing where none was found
  std::int64_t bound = 0;   ///< no order has a makespan below: proven by the windows for bound - 1, under `cases`
  std::vector<Case> cases;
  std::uint64_t effort = 0;            ///< rounds after the first orders that were done
  bool impossible = false;             ///< proven: no order fits
  std::uint64_t steps = 0;             ///< all, as in Milestone
  std::vector<Milestone> history = {}; ///< from the first order on, one where the best order or the bound changed; by
                                       ///< rising steps. The last is the result
};

/// What an order may be longer than the bound, if so many millionths were asked for.
[[nodiscard]] inline std::int64_t allowed_gap(std::int64_t bound, std::int64_t gap_ppm) {
  return static_cast<std::int64_t>(static_cast<Int128>(bound) * gap_ppm / 1'000'000);
}
/// Whether an order of that length is as near to the bound as was asked for.
[[nodiscard]] inline bool is_near_enough(std::int64_t length, std::int64_t bound, std::int64_t gap_ppm) {
  return length - bound <= allowed_gap(bound, gap_ppm);
}
/// The least bound to which an order of that length is near enough.
[[nodiscard]] inline std::int64_t enough_for(std::int64_t length, std::int64_t gap_ppm) {
  constexpr std::int64_t whole = 1'000'000;
  return static_cast<std::int64_t>((static_cast<Int128>(length) * whole + whole + gap_ppm - 1) / (whole + gap_ppm));
}

/// `instance` has passed fault_of().
[[nodiscard]] Found search(const Instance& instance, const SearchOptions& options);

/// A bound that is had at once; 0 where no order fits.
[[nodiscard]] std::int64_t first_bound(const Instance& instance);
/// The same, adding the steps that it takes.
[[nodiscard]] std::int64_t first_bound(const Instance& instance, std::uint64_t& steps);

/// Whether so many steps of the windows' rules prove that no order is as short as `makespan`. A step is the work on one
/// task.
[[nodiscard]] bool is_refuted(const Instance& instance, std::int64_t makespan, std::uint64_t steps);

/// The best bound that so many steps of the windows' rules prove, and `order`, which runs and fits, as the plan. If
/// it is over 2 % above, tries cases from both ends in about `for_ends` steps (0: never), then the rules once more.
[[nodiscard]] Found prove(const Instance& instance, Order order, std::uint64_t steps, std::uint64_t for_ends = 0);

} // namespace ppsim::synthesis
