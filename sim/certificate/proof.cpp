#include "proof.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "rules.hpp"

namespace ppsim::certificate {
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

} // namespace

Proof::Proof(const CertificateInstance& instance, Time end, Meter& meter, std::size_t first)
    : instance_{instance}, arcs_{instance}, meter_{meter}, first_{first}, place_of_(instance.sequences.size()) {
  std::vector<std::vector<std::size_t>> members(instance.capacity.size());
  for (std::size_t i = 0; i < instance.sequences.size(); ++i) {
    std::vector<std::size_t>& stage = members[instance.sequences[i].stage];
    place_of_[i] = stage.size();
    stage.push_back(i);
  }
  for (std::size_t stage = 0; stage < members.size(); ++stage) {
    const auto follows = find_followers(instance, arcs_, members[stage], meter);
    may_leave_out_ = may_leave_out_ && is_separate(stage, members[stage], follows);
    known_.stages.emplace_back(instance, stage, members[stage], follows, end, meter);
  }
  known_.looked_at.assign(members.size(), 0);
}

/// Whether each microbatch holds 0 or more of the stage's memory at any time, and in the end as much as at first: what
/// gives more than it takes runs after all that takes some.
bool Proof::is_separate(std::size_t stage, const std::vector<std::size_t>& members,
                        const std::vector<std::vector<bool>>& follows) const {
  if (!instance_.capacity[stage]) return true;
  std::int64_t left = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const CertificateSequence& taker = instance_.sequences[members[k]];
    left += taker.take - taker.give;
    for (std::size_t i = 0; i < members.size() && taker.take > 0; ++i) {
      const CertificateSequence& giver = instance_.sequences[members[i]];
      if (i != k && giver.give > giver.take && !follows[i][k]) return false;
    }
  }
  return left == 0;
}

void Proof::propagate() {
  do apply_cheap_rules();
  while (!is_over() && apply_other_rules());
}

bool Proof::show(std::size_t view, std::size_t sequence, std::size_t index, Time time) {
  const Place task{place_of_[sequence], index};
  State before = known_;
  Known& stage = known_.stages[instance_.sequences[sequence].stage];
  const Time duration = instance_.sequences[sequence].duration.count();
  raise(stage, 1 - view, stage.other(task), stage.end() - duration - time + 1);
  propagate();
  if (!known_.contradiction) return false;
  known_ = std::move(before);
  raise(known_.stages[instance_.sequences[sequence].stage], view, task, time);
  propagate();
  return true;
}

void Proof::learn(const Proof& other, std::ptrdiff_t shift) {
  const auto here = static_cast<std::ptrdiff_t>(instance_.microbatches);
  const auto there = static_cast<std::ptrdiff_t>(other.instance_.microbatches);
  for (std::size_t stage = 0; stage < known_.stages.size(); ++stage)
    for (const std::size_t view : both_views) {
      const std::ptrdiff_t behind = view == 0 ? shift : here - there - shift;
      for (std::size_t i = 0; i < known_.stages[stage].sequences(); ++i)
        for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(0, behind); j < std::min(here, there + behind); ++j)
          raise(known_.stages[stage], view, {i, static_cast<std::size_t>(j)},
                other.known_.stages[stage].earliest(view, {i, static_cast<std::size_t>(j - behind)}));
      meter_.used += known_.stages[stage].sequences() * static_cast<std::size_t>(std::min(here, there));
    }
}

void Proof::raise(Known& stage, std::size_t view, Place task, Time time) {
  stage.raise_earliest(view, task, time);
  note_contradiction(stage);
}

void Proof::note_contradiction(const Known& stage) {
  if (!known_.contradiction) known_.contradiction = stage.contradiction();
}

/// Rule 1 along the arcs to the sequences of a stage, in each view.
void Proof::take_arcs(Known& stage) {
  for (const std::size_t member : stage.members()) {
    for (const std::size_t arc : arcs_.into[member])
      take_arc(stage, 0, member, instance_.arcs[arc].from, instance_.arcs[arc].lag.count());
    for (const std::size_t arc : arcs_.out_of[member])
      take_arc(stage, 1, member, instance_.arcs[arc].to, instance_.arcs[arc].lag.count());
  }
}

void Proof::take_arc(Known& stage, std::size_t view, std::size_t member, std::size_t from, Time lag) {
  const Known& source = known_.stages[instance_.sequences[from].stage];
  const Time after = instance_.sequences[from].duration.count() + lag;
  for (std::size_t index = 0; index < instance_.microbatches && !stage.is_over(); ++index)
    stage.raise_earliest(view, {place_of_[member], index}, source.earliest(view, {place_of_[from], index}) + after);
  meter_.used += instance_.microbatches;
}

/// Whether anything changed.
bool Proof::settle(Known& stage) {
  if (is_over()) return false;
  take_arcs(stage);
  const bool changes = stage.has_news();
  apply_rules_of_tasks(stage);
  note_contradiction(stage);
  return changes;
}

/// Forward and backward along the stages, because most changes come from neighbours.
void Proof::apply_cheap_rules() {
  for (bool changed = true; changed && !is_over(); ++passes_) {
    changed = false;
    for (Known& stage : known_.stages) changed = settle(stage) || changed;
    for (Known& stage : std::views::reverse(known_.stages)) changed = settle(stage) || changed;
  }
}

/// Rules 5c, 6 and 7 on stages that have changed since. Returns whether anything changed.
bool Proof::apply_other_rules() {
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
  return fmt::format("task {} of {}, on stage {}, {}{}", place.index + first_,
                     in_quotes(instance_.sequences[stage.members()[place.sequence]].name), found.stage, what,
                     found.view == 0 ? "" : ", seen backwards in time");
}

} // namespace ppsim::certificate
