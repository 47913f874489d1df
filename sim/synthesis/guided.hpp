#pragma once
// Orders made task by task, each step taking what the windows of a good makespan say is most urgent.

#include "ppsim/base/random.hpp"

#include "windows.hpp"

namespace ppsim::synthesis {

/// How an order is made, in one direction of time.
struct Guide {
  std::size_t direction = 0;         ///< 0 from the first task on, 1 from the last one backwards
  std::vector<std::int64_t> urgency; ///< by task of that view: the least goes first
  double wait = 0; ///< 0: a stage never idles while it could run something; 1: it may idle for what is urgent up to
                   ///< the end of what it could run; and what lies between
  const Windows* known = nullptr; ///< if given, what must run before a task does
};

/// An order that fits in memory; nothing where this way leads to none.
[[nodiscard]] std::optional<Plan> make_order(const Views& views, const Guide& guide);

/// The latest starts by windows for a makespan of `most`: urgencies.
[[nodiscard]] std::vector<std::int64_t> latest_starts(const Views& views, const Windows& windows, std::size_t direction,
                                                      std::int64_t most);

/// By the starts of `plan`, in either direction.
[[nodiscard]] Guide guide_of(const Views& views, const Plan& plan, std::size_t direction, double wait);

/// Starts of a view that are moved by chance.
struct Moved {
  double most = 0;                       ///< ns between the farthest: by up to half of it, earlier or later
  std::int64_t from = 0, to = unlimited; ///< ns: what starts then
};

/// Those in a part of the step, of that share of its length, `length` ns.
void limit_to_part(Moved& moved, std::int64_t length, double share, SplitMix64& dice);

/// Moves the urgencies of a guide by starts.
void move_starts(Guide& guide, const Moved& moved, SplitMix64& dice);

/// The shortest of `plan` and its reruns: backwards, forwards and so on, each by the starts of the one before, up to 12
/// and until 4 in a row are no shorter than one before.
[[nodiscard]] Plan improve_in_turns(const Views& views, Plan plan);

} // namespace ppsim::synthesis
