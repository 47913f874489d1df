#pragma once
// Pieces: tasks that may run together on a stage, in less time than one after another (overlapped pairs).

#include "ppsim/synthesis/search.hpp"

namespace ppsim::synthesis {

/// The next tasks of these sequences of a stage may run in one piece: it starts when all have their inputs, holds what
/// all take, and ends `duration` later, when all give what they give.
struct Joint {
  std::vector<std::uint16_t> sequences;
  std::int64_t duration = 0; ///< ns
  bool whole = false; ///< the last two run on the same microbatch, and the last one waits for nothing but the other
};

/// What may run, each with the number by which an order of pieces calls it: sequences, then joints.
struct Pieces {
  Instance instance;
  std::vector<Joint> joints;
};

/// `pieces.instance` with shorter durations: tasks that run in one piece may run one after another within its time. So
/// a bound of that instance is a bound for all orders of pieces.
[[nodiscard]] Instance relaxed(const Pieces& pieces);

/// An order of pieces.
struct PiecePlan {
  Order order;
  Plan plan; ///< the same with each task by itself, but its starts and makespan are those of the pieces
};

/// Nothing where tasks wait for each other in a circle, or an order exceeds the memory.
[[nodiscard]] std::optional<PiecePlan> run(const Pieces& pieces, Order order);

/// Makes joints of tasks that are next to each other in `order` (of sequences), as long as that runs and fits.
[[nodiscard]] std::optional<PiecePlan> join(const Pieces& pieces, Order order);

/// A shorter order, if so many `moves` in its critical path, which count down, find one: late acceptance hill climbing
/// (Burke and Bykov, European Journal of Operational Research 258, 2017), at first to orders that are up to `slack` ns
/// longer. Ends early at a makespan of at most `target`, or if `ends`.
[[nodiscard]] PiecePlan improve(const Pieces& pieces, PiecePlan start, std::uint64_t seed, std::uint64_t& moves,
                                std::int64_t slack, std::int64_t target, const std::function<bool()>& ends);

struct FoundPieces {
  Found found;                ///< of the relaxed instance; plan, history and steps are those of `order`
  std::optional<Order> order; ///< the best; none was found, where there is none
};
/// A search for orders of tasks of `instance`, which is relaxed(pieces), whose pieces join; then the best of them, or
/// of `known`, is improved.
[[nodiscard]] FoundPieces search_pieces(const Pieces& pieces, const Instance& instance, std::vector<PiecePlan> known,
                                        SearchOptions options);

} // namespace ppsim::synthesis
