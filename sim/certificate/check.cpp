// Applies the rules, stage by stage and between stages, until nothing changes or a contradiction arises.

#include "ppsim/base/words.hpp"
#include "ppsim/certificate/certificate.hpp"

#include <fmt/format.h>

#include <optional>
#include <ranges>
#include <utility>

#include "arcs.hpp"
#include "known.hpp"
#include "replay.hpp"
#include "rules.hpp"

namespace ppsim {
namespace certificate {
namespace {

/// By sequence of `members`: the members from which arcs lead to it, possibly through other sequences.
std::vector<std::vector<bool>> find_followers(const CertificateInstance& instance, const ArcsBySequence& arcs,
                                              const std::vector<std::size_t>& members, Meter& meter) {
  std::vector<std::vector<bool>> follows(members.size(), std::vector<bool>(members.size(), false));
  if (members.size() < 2) return follows;
  for (std::size_t k = 0; k < members.size(); ++k) {
    std::vector<bool> reached(instance.sequences.size(), false);
    std::vector<std::size_t> open{members[k]};
    while (!open.empty() && !meter.is_spent()) {
      const std::size_t sequence = open.back();
      open.pop_back();
      meter.used += 1 + arcs.out_of[sequence].size();
      for (const std::size_t arc : arcs.out_of[sequence]) {
        const std::size_t to = instance.arcs[arc].to;
        if (!reached[to]) open.push_back(to);
        reached[to] = true;
      }
    }
    meter.used += reached.size() / 64;
    for (std::size_t i = 0; i < members.size(); ++i) follows[i][k] = reached[members[i]];
  }
  return follows;
}

class Proof {
public:
  /// Tries to prove that no order of `instance` ends by `end`.
  Proof(const CertificateInstance& instance, Time end, Meter& meter)
      : instance_{instance}, arcs_{instance}, meter_{meter}, place_of_(instance.sequences.size()) {
    std::vector<std::vector<std::size_t>> members(instance.capacity.size());
    for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
      std::vector<std::size_t>& stage = members[instance.sequences[i].stage];
      place_of_[i] = stage.size();
      stage.push_back(i);
    }
    for (std::size_t stage = 0; stage < members.size(); ++stage) {
      const auto follows = find_followers(instance, arcs_, members[stage], meter);
      known_.stages.emplace_back(instance, stage, members[stage], follows, end, meter);
    }
    known_.looked_at.assign(members.size(), 0);
  }

  /// Applies all rules until nothing changes.
  void propagate() {
    do apply_cheap_rules();
    while (!is_over() && apply_other_rules());
  }

  /// Whether the task cannot start before the time of `step`. If so, it starts no earlier from then on.
  bool show(const CertificateCase& step) {
    const CertificateSequence& sequence = instance_.sequences[step.sequence];
    const Place task{place_of_[step.sequence], step.index};
    State before = known_;
    Known& stage = known_.stages[sequence.stage];
    raise(stage, 1 - step.view, stage.other(task), stage.end() - sequence.duration.count() - step.start.count() + 1);
    propagate();
    if (!known_.contradiction) return false;
    known_ = std::move(before);
    raise(known_.stages[sequence.stage], step.view, task, step.start.count());
    propagate();
    return true;
  }

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

  void raise(Known& stage, std::size_t view, Place task, Time time) {
    stage.raise_earliest(view, task, time);
    note_contradiction(stage);
  }
  void note_contradiction(const Known& stage) {
    if (!known_.contradiction) known_.contradiction = stage.contradiction();
  }

  /// Rule 1 along the arcs to the sequences of a stage, in each view.
  void take_arcs(Known& stage) {
    for (const std::size_t member : stage.members()) {
      for (const std::size_t arc : arcs_.into[member])
        take_arc(stage, 0, member, instance_.arcs[arc].from, instance_.arcs[arc].lag.count());
      for (const std::size_t arc : arcs_.out_of[member])
        take_arc(stage, 1, member, instance_.arcs[arc].to, instance_.arcs[arc].lag.count());
    }
  }
  void take_arc(Known& stage, std::size_t view, std::size_t member, std::size_t from, Time lag) {
    const Known& source = known_.stages[instance_.sequences[from].stage];
    const Time after = instance_.sequences[from].duration.count() + lag;
    for (std::size_t index = 0; index < instance_.microbatches && !stage.is_over(); ++index)
      stage.raise_earliest(view, {place_of_[member], index}, source.earliest(view, {place_of_[from], index}) + after);
    meter_.used += instance_.microbatches;
  }

  /// Whether anything changed.
  bool settle(Known& stage) {
    if (is_over()) return false;
    take_arcs(stage);
    const bool changes = stage.has_news();
    apply_rules_of_tasks(stage);
    note_contradiction(stage);
    return changes;
  }

  /// Forward and backward along the stages, because most changes come from neighbours.
  void apply_cheap_rules() {
    for (bool changed = true; changed && !is_over(); ++passes_) {
      changed = false;
      for (Known& stage : known_.stages) changed = settle(stage) || changed;
      for (Known& stage : std::views::reverse(known_.stages)) changed = settle(stage) || changed;
    }
  }

  /// Rules 5c, 6 and 7 on stages that have changed since. Returns whether anything changed.
  bool apply_other_rules() {
    bool changed = false;
    for (std::size_t i = 0; i < known_.stages.size() && !is_over(); ++i) {
      Known& stage = known_.stages[i];
      const std::uint64_t changes = stage.changes();
      if (changes == std::exchange(known_.looked_at[i], changes)) continue;
      apply_rule_of_two_givers(stage);
      apply_rules_of_tasks(stage);
      apply_rule_of_two_orders(stage);
      apply_rules_of_tasks(stage);
      apply_rule_of_idle_time(stage);
      note_contradiction(stage);
      changed = changed || stage.changes() != changes;
    }
    return changed;
  }

  const CertificateInstance& instance_;
  ArcsBySequence arcs_;
  Meter& meter_;
  std::vector<std::size_t> place_of_; ///< position of a sequence among those of its stage
  State known_;
  std::size_t passes_ = 0;
};

std::string Proof::contradiction() const {
  if (!known_.contradiction) return {};
  using Kind = Contradiction::Kind;
  const Contradiction& found = *known_.contradiction;
  if (found.kind == Kind::idle) return fmt::format("stage {} would idle for longer than it can", found.stage);
  const Known& stage = known_.stages[found.stage];
  const Place place = found.view == 0 ? found.place : stage.other(found.place);
  std::string_view what = "would not fit into memory";
  if (found.kind == Kind::late) what = "would have to start later than it can";
  if (found.kind == Kind::itself) what = "would have to run before itself";
  return fmt::format("task {} of {}, on stage {}, {}{}", place.index,
                     in_quotes(instance_.sequences[stage.members()[place.sequence]].name), found.stage, what,
                     found.view == 0 ? "" : ", seen backwards in time");
}

BoundVerdict prove(const Certificate& certificate, std::uint64_t steps) {
  Meter meter{.used = 0, .limit = steps};
  const Time end = certificate.lower_bound.count() - 1;
  BoundVerdict verdict;
  Proof proof{certificate.instance, end, meter};
  proof.propagate();
  for (const CertificateCase& step : certificate.cases) {
    if (proof.is_over()) break;
    if (!proof.show(step)) {
      verdict.faults.push_back(fmt::format(
          "case {}: assuming that task {} of {} starts before {} ns{} leads to no contradiction", verdict.cases_shown,
          step.view == 0 ? step.index : certificate.instance.microbatches - 1 - step.index,
          in_quotes(certificate.instance.sequences[step.sequence].name), step.start.count(),
          step.view == 0 ? "" : ", seen backwards in time,"));
      break;
    }
    ++verdict.cases_shown;
  }
  verdict.passes = proof.passes();
  verdict.steps = meter.used;
  if (verdict.faults.empty()) verdict.contradiction = proof.contradiction();
  verdict.proven = !verdict.contradiction.empty();
  if (verdict.proven) return verdict;
  if (meter.is_spent()) verdict.faults = {fmt::format("given up after {} steps", steps)};
  if (verdict.faults.empty())
    verdict.faults.push_back(fmt::format("assuming a makespan of {} ns leads to no contradiction", end));
  return verdict;
}

} // namespace
} // namespace certificate

CertificateVerdict check_certificate(const Certificate& certificate, std::string_view where, std::uint64_t steps) {
  require_well_formed(certificate, where);
  CertificateVerdict verdict;
  if (certificate.order) verdict.order = certificate::replay(certificate);
  if (verdict.order && verdict.order->holds() && *certificate.makespan < certificate.lower_bound)
    verdict.bound.faults.push_back(
        fmt::format("the order's makespan, {} ns, is below it", certificate.makespan->count()));
  else
    verdict.bound = certificate::prove(certificate, steps);
  return verdict;
}

} // namespace ppsim
