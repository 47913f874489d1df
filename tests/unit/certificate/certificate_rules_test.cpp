// The rules, compared with all orders of small instances: proven bounds are true; and how tight they are.

#include "ppsim/certificate/certificate.hpp"
#include "support/certificates.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ppsim::test::certificate_rules_test {

namespace {

using Chunks = PipelineShape::Chunks;

/// Up to three stages and microbatches, of one chunk, V or loop, with weight gradients or without.
CertificateInstance small_pipeline(Draw& draw) {
  PipelineShape shape{.stages = static_cast<std::size_t>(draw(1, 3)),
                      .microbatches = static_cast<std::size_t>(draw(1, 3)),
                      .chunks = static_cast<Chunks>(draw(0, 2)),
                      .split = draw(0, 1) == 1};
  if (shape.chunks != Chunks::one) {
    shape.stages = std::min<std::size_t>(shape.stages, shape.split ? 1 : 2);
    shape.microbatches = std::min<std::size_t>(shape.microbatches, 2);
  }
  return pipeline(shape, draw);
}

CertificateInstance larger_pipeline(std::uint32_t seed) {
  Draw draw{seed};
  const PipelineShape shape{.stages = static_cast<std::size_t>(draw(2, 4)),
                            .microbatches = static_cast<std::size_t>(draw(3, 9)),
                            .chunks = static_cast<Chunks>(draw(0, 2)),
                            .split = draw(0, 2) > 0};
  return pipeline(shape, draw);
}

/// Results of the rules on instances small enough to try all orders.
struct Tried {
  int instances = 0;   ///< with an order
  int best_proven = 0; ///< of them: no order is shorter than the best, by rules alone
  int without_order = 0;
  int none_proven = 0; ///< of those: by rules alone, too
};

template <class Make>
Tried try_many(std::uint32_t seeds, std::size_t most_orders, const Make& make) {
  Tried tried;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    Draw draw{seed};
    const CertificateInstance instance = make(draw);
    const std::optional<Shortest> shortest = try_all_orders(instance, most_orders);
    if (!shortest) continue;
    INFO("seed " << seed);
    if (!shortest->makespan) {
      ++tried.without_order;
      tried.none_proven += bound_of(instance, 1'000'000).proven ? 1 : 0;
      continue;
    }
    ++tried.instances;
    // The rules say nothing that is not so.
    if (bound_of(instance, *shortest->makespan + 1).proven) FAIL_CHECK("proven, and there is an order that is shorter");
    tried.best_proven += bound_of(instance, *shortest->makespan).proven ? 1 : 0;
  }
  return tried;
}

/// Ranges of microbatches that have that one.
std::vector<CertificateNeighbours> all_among(std::size_t index, std::size_t microbatches) {
  std::vector<CertificateNeighbours> all;
  for (std::size_t first = 0; first <= index; ++first)
    for (std::size_t count = index - first + 1; first + count <= microbatches; ++count) all.push_back({first, count});
  return all;
}

/// How many cases are shown, at the makespan of the best order, that say that a task of it starts `later` than it does,
/// in either view; among all microbatches, or among each range of them.
int cases_shown(const CertificateInstance& instance, const Shortest& shortest, std::int64_t later, bool in_ranges) {
  int shown = 0;
  const Ends ends = ends_of(instance, shortest.rows).value();
  Certificate certificate;
  certificate.instance = instance;
  certificate.lower_bound = Duration{*shortest.makespan + 1};
  const auto show = [&](std::size_t view, std::size_t sequence, std::size_t index, std::int64_t start) {
    std::vector<CertificateNeighbours> ranges{{}};
    if (in_ranges) ranges = all_among(index, instance.microbatches);
    for (const CertificateNeighbours& among : ranges) {
      certificate.cases = {{view, sequence, index, Duration{start + later}, among}};
      const BoundVerdict bound = check_certificate(certificate).bound;
      CHECK_FALSE(bound.proven); // there is an order
      shown += static_cast<int>(bound.cases_shown);
    }
  };
  for (std::size_t sequence = 0; sequence < instance.sequences.size(); ++sequence)
    for (std::size_t j = 0; j < instance.microbatches; ++j) {
      show(0, sequence, j, ends[sequence][j] - instance.sequences[sequence].duration.count());
      show(1, sequence, instance.microbatches - 1 - j, *shortest.makespan - ends[sequence][j]);
    }
  return shown;
}

/// Of the best orders of many instances: how many cases say no more than that tasks start when they do.
template <class Make>
int tight_cases(std::uint32_t seeds, const Make& make, bool in_ranges) {
  int tight = 0;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    Draw draw{seed};
    const CertificateInstance instance = make(draw);
    const std::optional<Shortest> shortest = try_all_orders(instance, 5000);
    if (!shortest || !shortest->makespan) continue;
    INFO("seed " << seed);
    CHECK(cases_shown(instance, *shortest, 1, in_ranges) == 0);
    tight += cases_shown(instance, *shortest, 0, in_ranges);
  }
  return tight;
}

} // namespace

TEST_CASE("No case excludes the best order, and many show that its tasks start no earlier") {
  CHECK(tight_cases(60, small_pipeline, false) == 722);
}

TEST_CASE("No case among a few microbatches excludes the best order, whatever tasks take and give") {
  CHECK(tight_cases(100, small_pipeline, true) + tight_cases(300, any_instance, true) == 2290);
}

TEST_CASE("No proven bound exceeds the best order of a small pipeline") {
  const Tried tried = try_many(2000, 5000, small_pipeline);
  CHECK(tried.instances == 1819);
  CHECK(tried.best_proven == 1818);
  CHECK(tried.without_order == 0);
}

TEST_CASE("No proven bound exceeds the best order, for any use of memory") {
  const Tried tried = try_many(2000, 5000, any_instance);
  CHECK(tried.instances == 1386);
  CHECK(tried.best_proven == 1386);
  CHECK(tried.without_order == 614);
  CHECK(tried.none_proven == 614);
}

TEST_CASE("No proven bound exceeds the best order of a stage that must wait") {
  const Tried tried = try_many(2000, 5000, waiting_instance);
  CHECK(tried.instances == 2000);
  CHECK(tried.best_proven == 1259);
}

TEST_CASE("The rules prove the same bounds of larger pipelines as another checker of the same rules") {
  // tests/support/check_certificate.py, which knows nothing of this one, proves the same bounds, and none larger by
  // one.
  std::int64_t sum = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) sum += largest_bound(larger_pipeline(seed), 1000);
  CHECK(sum == 10470);
  CHECK(largest_bound(larger_pipeline(472), 1000) == 365); // one less without rule 2
  CHECK(largest_bound(larger_pipeline(505), 1000) == 108); // ... if rule 6 forgot what is before y
  CHECK(largest_bound(larger_pipeline(726), 1000) == 161); // ... if rule 5c took pairs that end too late
}

} // namespace ppsim::test::certificate_rules_test
