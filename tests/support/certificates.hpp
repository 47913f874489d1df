#pragma once
// Small instances of the problem of docs/synthesis.md, and their shortest orders by trying all.

#include "ppsim/certificate/certificate.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace ppsim::test {

using StageRows = std::vector<std::vector<std::size_t>>;

/// Every order of one stage that fits into its memory and keeps to the arcs between its own sequences.
class StageOrders {
public:
  StageOrders(const CertificateInstance& instance, std::size_t stage) : instance_{instance}, stage_{stage} {
    done_.assign(instance.sequences.size(), 0);
    for (const CertificateSequence& sequence : instance.sequences)
      if (sequence.stage == stage) length_ += instance.microbatches;
    extend(0);
  }
  [[nodiscard]] const StageRows& all() const { return found_; }

private:
  [[nodiscard]] bool is_ready(std::size_t sequence) const {
    if (instance_.sequences[sequence].stage != stage_ || done_[sequence] == instance_.microbatches) return false;
    return std::ranges::all_of(instance_.arcs, [&](const CertificateArc& arc) {
      return arc.to != sequence || instance_.sequences[arc.from].stage != stage_ || done_[arc.from] > done_[sequence];
    });
  }
  void extend(std::int64_t held) {
    if (row_.size() == length_) return found_.push_back(row_);
    for (std::size_t i = 0; i < instance_.sequences.size(); ++i) {
      const std::int64_t peak = held + instance_.sequences[i].take;
      if (!is_ready(i) || (instance_.capacity[stage_] && peak > *instance_.capacity[stage_])) continue;
      ++done_[i];
      row_.push_back(i);
      extend(peak - instance_.sequences[i].give);
      row_.pop_back();
      --done_[i];
    }
  }

  const CertificateInstance& instance_;
  std::size_t stage_;
  std::size_t length_ = 0;
  std::vector<std::size_t> done_, row_;
  StageRows found_;
};

using Ends = std::vector<std::vector<std::int64_t>>; ///< of tasks, by sequence

/// The ends of an order's tasks; none where it does not run to its end.
inline std::optional<Ends> ends_of(const CertificateInstance& instance, const StageRows& rows) {
  Ends ends(instance.sequences.size());
  std::vector<std::size_t> next(rows.size(), 0);
  std::vector<std::int64_t> free(rows.size(), 0);
  const auto run_next = [&](std::size_t stage) {
    if (next[stage] == rows[stage].size()) return false;
    const std::size_t sequence = rows[stage][next[stage]];
    const std::size_t microbatch = ends[sequence].size();
    std::int64_t start = free[stage];
    for (const CertificateArc& arc : instance.arcs) {
      if (arc.to != sequence) continue;
      if (ends[arc.from].size() <= microbatch) return false;
      start = std::max(start, ends[arc.from][microbatch] + arc.lag.count());
    }
    free[stage] = start + instance.sequences[sequence].duration.count();
    ends[sequence].push_back(free[stage]);
    ++next[stage];
    return true;
  };
  for (bool ran = true; ran;) {
    ran = false;
    for (std::size_t stage = 0; stage < rows.size(); ++stage)
      while (run_next(stage)) ran = true;
  }
  for (const std::vector<std::int64_t>& of_sequence : ends)
    if (of_sequence.size() != instance.microbatches) return std::nullopt;
  return ends;
}

/// The makespan of an order; none where it does not run to its end.
inline std::optional<std::int64_t> makespan_of(const CertificateInstance& instance, const StageRows& rows) {
  const std::optional<Ends> ends = ends_of(instance, rows);
  if (!ends) return std::nullopt;
  std::int64_t makespan = 0;
  for (std::size_t i = 0; i < ends->size(); ++i)
    makespan = std::max(makespan, (*ends)[i].back() + instance.sequences[i].tail.count());
  return makespan;
}

struct Shortest {
  std::optional<std::int64_t> makespan; ///< none where no order fits, or runs
  StageRows rows;
};

/// The shortest order, by trying every combination of orders of stages; empty if there are more than `most`.
inline std::optional<Shortest> try_all_orders(const CertificateInstance& instance, std::size_t most) {
  std::vector<StageRows> orders;
  std::size_t combinations = 1;
  for (std::size_t stage = 0; stage < instance.capacity.size(); ++stage) {
    orders.push_back(StageOrders{instance, stage}.all());
    combinations *= orders.back().size();
    if (combinations > most) return std::nullopt;
  }
  Shortest shortest;
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    StageRows rows;
    std::size_t rest = combination;
    for (const StageRows& of_stage : orders) {
      rows.push_back(of_stage[rest % of_stage.size()]);
      rest /= of_stage.size();
    }
    const std::optional<std::int64_t> makespan = makespan_of(instance, rows);
    if (makespan && (!shortest.makespan || *makespan < *shortest.makespan)) shortest = {makespan, rows};
  }
  return shortest;
}

/// Numbers that are the same on every machine.
class Draw {
public:
  explicit Draw(std::uint32_t seed) : engine_{seed} {}
  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }

private:
  std::mt19937_64 engine_;
};

/// A pipeline: which stage a chunk is on, and whether weight gradients are tasks of their own.
struct PipelineShape {
  enum class Chunks { one, v, loop };
  std::size_t stages = 1;
  std::size_t microbatches = 1;
  Chunks chunks = Chunks::one;
  bool split = false;
};

/// A pipeline with random costs from `draw`, each between 0 and 5; F of chunk c is its first sequence, then B, then W.
inline CertificateInstance pipeline(const PipelineShape& shape, Draw& draw) {
  CertificateInstance instance{.microbatches = shape.microbatches, .capacity = {}, .sequences = {}, .arcs = {}};
  const std::size_t chunks = shape.chunks == PipelineShape::Chunks::one ? shape.stages : 2 * shape.stages;
  const std::size_t passes = shape.split ? 3 : 2;
  const bool is_even = draw(0, 1) == 0; // all chunks alike
  const std::int64_t forward = draw(1, 5);
  const std::int64_t lag = draw(0, 2);
  std::vector<std::int64_t> held(shape.stages, 0);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    std::size_t stage = chunk % shape.stages;
    if (shape.chunks == PipelineShape::Chunks::v && chunk >= shape.stages) stage = chunks - 1 - chunk;
    const std::int64_t take = draw(1, 2);
    const std::int64_t again = draw(0, 1); // computed again by B
    const std::int64_t of_weights = shape.split ? draw(0, take) : 0;
    const auto add = [&](const char* pass, std::int64_t duration, std::int64_t takes, std::int64_t gives) {
      instance.sequences.push_back({.name = pass + std::to_string(chunk),
                                    .stage = stage,
                                    .duration = Duration{is_even ? forward : duration},
                                    .take = takes,
                                    .give = gives,
                                    .tail = Duration{draw(0, 9) == 0 ? draw(0, 4) : 0}});
    };
    add("F", draw(0, 5), take, 0);
    add("B", draw(0, 5), again, take + again - of_weights);
    if (shape.split) add("W", draw(0, 5), 0, of_weights);
    held[stage] += take + again;
  }
  const auto join = [&](std::size_t from, std::size_t to, std::int64_t after) {
    instance.arcs.push_back({.from = from, .to = to, .lag = Duration{after}});
  };
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    join(passes * chunk, passes * chunk + 1, 0);
    if (shape.split) join(passes * chunk + 1, passes * chunk + 2, 0);
    if (chunk + 1 == chunks) break;
    join(passes * chunk, passes * (chunk + 1), lag);
    join(passes * (chunk + 1) + 1, passes * chunk + 1, lag);
  }
  for (const std::int64_t most : held)
    if (draw(0, 3) == 0)
      instance.capacity.emplace_back();
    else
      instance.capacity.emplace_back(draw(most, most * static_cast<std::int64_t>(shape.microbatches)));
  return instance;
}

/// Sequences that take and give what they like, on two stages, with arcs between any of them.
inline CertificateInstance any_instance(Draw& draw) {
  CertificateInstance instance{
      .microbatches = static_cast<std::size_t>(draw(1, 3)), .capacity = {}, .sequences = {}, .arcs = {}};
  const auto stages = static_cast<std::size_t>(draw(1, 2));
  const std::size_t sequences = stages + static_cast<std::size_t>(draw(1, 2));
  for (std::size_t stage = 0; stage < stages; ++stage)
    if (draw(0, 4) == 0)
      instance.capacity.emplace_back();
    else
      instance.capacity.emplace_back(draw(0, 8));
  for (std::size_t i = 0; i < sequences; ++i) {
    const std::size_t stage = i < stages ? i : static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(stages) - 1));
    instance.sequences.push_back({.name = "S" + std::to_string(i),
                                  .stage = stage,
                                  .duration = Duration{draw(0, 4)},
                                  .take = draw(0, 3),
                                  .give = draw(0, 3),
                                  .tail = Duration{draw(0, 3)}});
    for (std::size_t from = 0; from < i; ++from)
      if (draw(0, 3) == 0) instance.arcs.push_back({.from = from, .to = i, .lag = Duration{draw(0, 3)}});
  }
  return instance;
}

/// Passes of one stage that wait for what they have begun, and cannot all begin at once: it idles.
inline CertificateInstance waiting_instance(Draw& draw) {
  CertificateInstance instance{
      .microbatches = static_cast<std::size_t>(draw(1, 2)), .capacity = {}, .sequences = {}, .arcs = {}};
  const auto pairs = static_cast<std::size_t>(instance.microbatches == 1 ? draw(2, 4) : 2);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::int64_t take = draw(1, 5);
    most = std::max(most, take);
    instance.sequences.push_back({.name = "F" + std::to_string(i),
                                  .stage = 0,
                                  .duration = Duration{draw(1, 12)},
                                  .take = take,
                                  .give = 0,
                                  .tail = Duration{0}});
    instance.sequences.push_back({.name = "B" + std::to_string(i),
                                  .stage = 0,
                                  .duration = Duration{draw(0, 3)},
                                  .take = 0,
                                  .give = take,
                                  .tail = Duration{draw(0, 2)}});
    instance.arcs.push_back({.from = 2 * i, .to = 2 * i + 1, .lag = Duration{draw(0, 30)}});
  }
  instance.capacity.emplace_back(most + draw(0, 4));
  return instance;
}

/// The checker's result for a bound alone.
inline BoundVerdict bound_of(const CertificateInstance& instance, std::int64_t bound) {
  Certificate certificate;
  certificate.instance = instance;
  certificate.lower_bound = Duration{bound};
  return check_certificate(certificate).bound;
}

/// The largest bound that the rules alone prove, up to `most`.
inline std::int64_t largest_bound(const CertificateInstance& instance, std::int64_t most) {
  std::int64_t proven = 0;
  std::int64_t not_proven = most + 1;
  while (not_proven - proven > 1) {
    const std::int64_t middle = proven + (not_proven - proven) / 2;
    (bound_of(instance, middle).proven ? proven : not_proven) = middle;
  }
  return proven;
}

} // namespace ppsim::test
