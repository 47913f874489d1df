#pragma once
// A proof in progress: what is known of every order that ends by a given time.

#include <optional>
#include <string>

#include "arcs.hpp"
#include "known.hpp"

namespace ppsim::certificate {

/// Applies the rules, stage by stage and between stages, until nothing changes or a contradiction arises.
class Proof {
public:
  /// Tries to prove that no order of `instance` ends by `end`. Its microbatch 0 is called `first`.
  Proof(const CertificateInstance& instance, Time end, Meter& meter, std::size_t first = 0);

  /// Applies all rules until nothing changes.
  void propagate();
  /// Whether the task, `index` of its sequence in that view, cannot start before `time`. If so, it starts no earlier
  /// from then on.
  bool show(std::size_t view, std::size_t sequence, std::size_t index, Time time);
  /// Takes the starts that `other` knows, of the same sequences: its microbatch i is i + `shift` here.
  void learn(const Proof& other, std::ptrdiff_t shift);

  /// Whether the other microbatches of any order remain an order if some are left out.
  [[nodiscard]] bool may_leave_out() const { return may_leave_out_; }
  [[nodiscard]] bool is_over() const { return meter_.is_spent() || known_.contradiction; }
  [[nodiscard]] std::size_t passes() const { return passes_; }
  /// The contradiction in words; empty if there is none.
  [[nodiscard]] std::string contradiction() const;

private:
  struct State {
    std::vector<Known> stages;
    std::vector<std::uint64_t> looked_at; ///< by stage: its changes() when the expensive rules last ran
    std::optional<Contradiction> contradiction;
  };

  [[nodiscard]] bool is_separate(std::size_t stage, const std::vector<std::size_t>& members,
                                 const std::vector<std::vector<bool>>& follows) const;
  void raise(Known& stage, std::size_t view, Place task, Time time);
  void note_contradiction(const Known& stage);
  void take_arcs(Known& stage);
  void take_arc(Known& stage, std::size_t view, std::size_t member, std::size_t from, Time lag);
  bool settle(Known& stage);
  void apply_cheap_rules();
  bool apply_other_rules();

  const CertificateInstance& instance_;
  ArcsBySequence arcs_;
  Meter& meter_;
  std::size_t first_;
  std::vector<std::size_t> place_of_; ///< position of a sequence among those of its stage
  bool may_leave_out_ = true;
  State known_;
  std::size_t passes_ = 0;
};

} // namespace ppsim::certificate
