#pragma once
// Tabu search: a good order made better by turning neighbours on its critical path.

#include "ppsim/base/random.hpp"

#include "views.hpp"

namespace ppsim::synthesis {

/// Looks for better orders near one that fits. Each move takes a task of a critical block (tasks of one stage without
/// idle time between them, on a longest path) to another place in it; of those that lead back to where the search was
/// none is taken for a while (Nowicki and Smutnicki 1996; the moves and their estimates: Balas and Vazacopoulos 1998).
class Tabu {
public:
  /// `durations`: of each task, if microbatches differ (by_microbatch.hpp).
  Tabu(const Views& views, const Plan& start, std::uint64_t seed, std::span<const std::int64_t> durations = {});
  /// Makes up to `moves` moves; ends early at a makespan of at most `target`. True: best() is better than before.
  bool run(std::uint64_t moves, std::int64_t target);
  /// Makes up to `moves` moves by chance, to another order near by.
  void walk(std::uint64_t moves);
  [[nodiscard]] std::int64_t best() const { return best_; }
  [[nodiscard]] std::uint64_t moves() const { return done_; } ///< made so far
  [[nodiscard]] Plan best_plan() const;

private:
  using Id = std::uint32_t;
  static constexpr Id none = 0xFFFFFFFFU;

  /// `moved` goes after or before `place`, another task of its block.
  struct Move {
    Id moved = none;
    Id place = none;
    bool behind = false;
    std::int64_t estimate = 0;
    bool tabu = false;
  };

  void load(const Order& order);
  void sort_tasks();
  void find_all_times();
  bool step();
  void find_path();
  void collect_moves();
  void collect_moves_of(std::size_t begin, std::size_t end);
  void consider(Move move);
  bool lay_out(const Move& move);
  [[nodiscard]] bool may_turn(Id first, Id second) const;
  [[nodiscard]] bool makes_no_circle(const Move& move) const;
  [[nodiscard]] bool fits_in_memory() const;
  [[nodiscard]] std::int64_t estimate();
  [[nodiscard]] bool is_tabu(const Move& move) const;
  void forbid(const Move& move, std::uint64_t until);
  bool apply(const Move& move);
  [[nodiscard]] bool is_led(Id task, Id moved) const;
  [[nodiscard]] bool leads(Id task, Id moved) const;
  bool sort_again(const Move& move);
  bool make(const Move& move);
  void update_heads(std::size_t from, std::size_t marked);
  void update_tails(std::size_t to, std::size_t marked);
  [[nodiscard]] std::int64_t head_of(Id task) const;
  [[nodiscard]] std::int64_t tail_of(Id task) const;
  [[nodiscard]] std::int64_t makespan_now() const;
  [[nodiscard]] std::size_t slot(Id first, Id second) const;
  [[nodiscard]] Order order_now() const;

  const Views& views_;
  SplitMix64 dice_;
  std::vector<std::int64_t> duration_;    // by task
  std::vector<std::uint32_t> sequence_;   // by task
  std::vector<Id> previous_, next_;       // by task: on its stage
  std::vector<Id> first_;                 // by stage
  std::vector<std::int64_t> head_, tail_; // start; from the end to the end of the step
  std::vector<std::int64_t> held_;        // by task: memory of its stage before it starts
  std::vector<Id> sorted_;                // each after what it waits for
  std::vector<std::uint32_t> position_;   // there
  std::vector<std::uint8_t> dirty_;
  std::vector<Id> path_;    // critical, from the first to the last task
  std::vector<Id> segment_; // tasks of one stage in the order that a move gives them
  std::vector<std::int64_t> segment_head_;
  Id begin_ = none, end_ = none; // of the segment, as it was
  std::vector<Move> moves_;
  std::vector<std::uint64_t> tabu_; // by slot: up to which move
  std::vector<Id> marked_, unmarked_;
  std::uint64_t done_ = 0; // moves
  std::int64_t makespan_ = 0;
  std::int64_t best_ = 0;
  Order best_order_;
};

} // namespace ppsim::synthesis
