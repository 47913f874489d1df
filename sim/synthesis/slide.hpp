#pragma once
// Slide: from one end of the step to the other, then back in the other view, the tasks of one microbatch after the
// other are supposed to start early (rule 8 of docs/synthesis.md), by the windows of a few near it.

#include <array>
#include <optional>
#include <span>

#include "attempt.hpp"
#include "near.hpp"

namespace ppsim::synthesis {

class Slide {
public:
  /// Tries cases on up to `threads` threads, whose number changes nothing.
  Slide(const Views& views, std::size_t threads);

  /// The windows have changed otherwise, or the makespan is a shorter one.
  void look_again();
  /// Tries a few tasks.
  Outcome go_on(Attempt& attempt);
  /// Of windows, beyond those of attempts.
  [[nodiscard]] std::uint64_t root_steps() const { return near_.root().steps(); }

private:
  /// How the tasks of a sequence fare, from microbatch to microbatch.
  struct Pace {
    std::int64_t step = 0; ///< ns by which the next one may be later: the first trial
    bool pauses = false;   ///< for the next microbatch
  };
  /// Times before which a task cannot start, each given those before.
  struct Delay {
    std::vector<std::int64_t> times = {};
    std::int64_t step = 0; ///< for the next one
    std::uint64_t steps = 0;
  };

  void start_over(bool with_pauses);
  bool begin(Attempt& attempt);
  void take_sequences();
  [[nodiscard]] Delay delay(std::uint32_t sequence) const;
  bool try_batch(Attempt& attempt);
  bool end(Attempt& attempt);
  bool next_microbatch();
  [[nodiscard]] std::array<std::int64_t, 2> shifts() const;

  const Views& views_;
  std::size_t threads_;
  Near near_;
  std::int64_t unit_;                      ///< ns: hardly less is tried
  std::array<std::vector<Pace>, 2> paces_; ///< by view and sequence
  bool with_pauses_ = true;                ///< after tasks that brought nothing
  std::size_t view_ = 0;
  std::size_t next_ = 0;                 ///< the microbatch in hand, in that view
  std::optional<Windows> few_;           ///< near it, while it is tried
  std::vector<std::uint32_t> sequences_; ///< whose tasks are tried
  std::size_t tried_ = 0;                ///< of those
  std::size_t known_ = 0;                ///< cases before this microbatch's
  std::size_t quiet_ = 0;                ///< microbatches since the last case
  bool has_news_ = false;                ///< cases since the rules were applied to all windows
};

} // namespace ppsim::synthesis
