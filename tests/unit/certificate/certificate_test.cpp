// Certificates checked by hand, and the errors after a number is changed.

#include "ppsim/certificate/certificate.hpp"
#include "support/certificates.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

namespace ppsim::test::certificate_test {

namespace {

/// Two stages, F 1 ns and B 2 ns. The last stage has 6 ns of work, can begin after one F and is followed by one B: 9
/// ns.
Certificate two_stages() {
  Certificate certificate;
  CertificateInstance& instance = certificate.instance;
  instance.microbatches = 2;
  instance.capacity = {2, std::nullopt};
  for (const std::size_t stage : {0U, 1U}) {
    const std::string number = std::to_string(stage);
    instance.sequences.push_back({"F" + number, stage, Duration{1}, 1, 0, Duration{0}});
    instance.sequences.push_back({"B" + number, stage, Duration{2}, 0, 1, Duration{0}});
  }
  instance.arcs = {{0, 2, Duration{0}}, {2, 3, Duration{0}}, {3, 1, Duration{0}}};
  certificate.order = {{0, 0, 1, 1}, {2, 3, 2, 3}};
  certificate.makespan = Duration{9};
  certificate.lower_bound = Duration{9};
  return certificate;
}

/// One stage that may hold 4. `a` gives 2, `b` and `c` take it again, c at first 3: it comes after b only if that is
/// after a. Its rules alone do not see that 17 ns are too few.
Certificate needs_cases() {
  Certificate certificate;
  certificate.instance = {.microbatches = 2,
                          .capacity = {4},
                          .sequences = {{"a", 0, Duration{2}, 0, 2, Duration{1}},
                                        {"b", 0, Duration{2}, 2, 1, Duration{2}},
                                        {"c", 0, Duration{4}, 3, 1, Duration{3}}},
                          .arcs = {}};
  certificate.order = {{0, 0, 1, 2, 2, 1}};
  certificate.makespan = Duration{18};
  certificate.lower_bound = Duration{18};
  certificate.cases = {{0, 1, 1, Duration{4}}, {1, 2, 0, Duration{4}}}; // one in each view
  return certificate;
}

bool is_said(const std::vector<std::string>& faults, std::string_view part) {
  return std::ranges::any_of(faults, [&](const std::string& fault) { return fault.find(part) != std::string::npos; });
}

using Change = std::function<void(Certificate&)>;

CertificateVerdict with(Certificate certificate, const Change& change) {
  change(certificate);
  return check_certificate(certificate);
}

/// Problems found by require_well_formed(), by place.
std::vector<std::string> places_of_faults(const Change& change) {
  Certificate certificate = two_stages();
  change(certificate);
  std::vector<std::string> places;
  try {
    require_well_formed(certificate, "c");
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::bad_input);
    for (const Problem& problem : error.problems()) {
      CHECK_FALSE(problem.what.empty());
      CHECK_FALSE(problem.hint.empty());
      places.push_back(problem.where);
    }
  }
  return places;
}

using Places = std::vector<std::string>;

} // namespace

TEST_CASE("An order of two stages has the stated makespan, and none is shorter") {
  const CertificateVerdict verdict = check_certificate(two_stages());
  CHECK(verdict.holds());
  REQUIRE(verdict.order);
  CHECK(verdict.order->makespan == Duration{9});
  CHECK(verdict.order->faults.empty());
  CHECK(verdict.bound.proven);
  CHECK(verdict.bound.passes > 0);
  CHECK(verdict.bound.steps > 0);
  CHECK_FALSE(verdict.bound.contradiction.empty());
  CHECK(try_all_orders(two_stages().instance, 1000)->makespan == 9);
}

TEST_CASE("A bound may be below the optimum, and needs no order") {
  CHECK(with(two_stages(), [](Certificate& changed) { changed.lower_bound = Duration{7}; }).holds());
  CHECK(with(two_stages(), [](Certificate& changed) { changed.lower_bound = Duration{0}; }).holds());
  const CertificateVerdict alone = with(two_stages(), [](Certificate& changed) {
    changed.order.reset();
    changed.makespan.reset();
  });
  CHECK(alone.holds());
  CHECK_FALSE(alone.order);
}

TEST_CASE("A bound above the best is not proven") {
  const CertificateVerdict verdict = with(two_stages(), [](Certificate& changed) {
    changed.order.reset();
    changed.makespan.reset();
    changed.lower_bound = Duration{10};
  });
  CHECK_FALSE(verdict.bound.proven);
  CHECK(is_said(verdict.bound.faults, "assuming a makespan of 9 ns leads to no contradiction"));
}

TEST_CASE("An order that is shorter than the bound refutes the bound") {
  const CertificateVerdict verdict =
      with(two_stages(), [](Certificate& changed) { changed.lower_bound = Duration{10}; });
  CHECK(verdict.order->holds());
  CHECK_FALSE(verdict.holds());
  CHECK(is_said(verdict.bound.faults, "9 ns, is below it"));
}

TEST_CASE("An order with another makespan than stated does not hold") {
  for (const std::int64_t said : {8, 10}) {
    const CertificateVerdict verdict =
        with(two_stages(), [&](Certificate& changed) { changed.makespan = Duration{said}; });
    CHECK_FALSE(verdict.holds());
    CHECK(verdict.order->complete);
    CHECK(verdict.order->runs);
    CHECK(verdict.order->fits);
    CHECK_FALSE(verdict.order->as_said);
    CHECK(is_said(verdict.order->faults, "its makespan is 9 ns, not"));
  }
}

TEST_CASE("An order in which a stage waits for itself does not run") {
  const CertificateVerdict verdict = with(two_stages(), [](Certificate& changed) {
    changed.order->front() = {1, 0, 0, 1};
  });
  CHECK_FALSE(verdict.holds());
  CHECK_FALSE(verdict.order->runs);
  CHECK(is_said(verdict.order->faults, "stage 0 waits forever before its task 0, of 'B0'"));
}

TEST_CASE("An order that exceeds the capacity does not fit") {
  const CertificateVerdict verdict = with(two_stages(), [](Certificate& changed) { changed.instance.capacity[0] = 1; });
  CHECK_FALSE(verdict.holds());
  CHECK_FALSE(verdict.order->fits);
  CHECK(is_said(verdict.order->faults, "stage 0 holds 2 in its task 1, of 'F0', but may hold 1"));
}

TEST_CASE("Memory is freed at the end of a task, not before its start") {
  // b takes what a has given; one task that takes and gives needs room for what it takes.
  Certificate certificate;
  certificate.instance = {
      .microbatches = 1,
      .capacity = {3},
      .sequences = {{"a", 0, Duration{1}, 3, 3, Duration{0}}, {"b", 0, Duration{1}, 3, 3, Duration{0}}},
      .arcs = {}};
  certificate.order = {{0, 1}};
  certificate.makespan = certificate.lower_bound = Duration{2};
  CHECK(check_certificate(certificate).holds());
  certificate.instance.capacity = {2};
  CHECK_FALSE(check_certificate(certificate).order->fits);
}

TEST_CASE("An order with an extra, a missing or a foreign task is not complete") {
  for (const StageRows& rows : {StageRows{{0, 0, 1, 1, 1}, {2, 3, 2, 3}}, StageRows{{0, 0, 1}, {2, 3, 2, 3}},
                                StageRows{{0, 0, 1, 2}, {2, 3, 1, 3}}, StageRows{{}, {}}}) {
    const CertificateVerdict verdict = with(two_stages(), [&](Certificate& changed) { changed.order = rows; });
    CHECK_FALSE(verdict.holds());
    CHECK_FALSE(verdict.order->complete);
    CHECK_FALSE(verdict.order->faults.empty());
    CHECK(verdict.bound.proven);
  }
}

TEST_CASE("Lags and tails count towards the makespan") {
  const auto of_lag = [](std::int64_t lag) { // F0 goes over, and B1 back
    return with(two_stages(), [&](Certificate& changed) {
      changed.instance.arcs[0].lag = changed.instance.arcs[2].lag = Duration{lag};
      changed.makespan = changed.lower_bound = Duration{9 + 2 * lag};
    });
  };
  CHECK(of_lag(3).holds());
  const auto with_tail = [](std::int64_t length) {
    return with(two_stages(), [&](Certificate& changed) {
      changed.instance.sequences[1].tail = Duration{5};
      changed.makespan = changed.lower_bound = Duration{length};
    });
  };
  CHECK(with_tail(14).holds());
  CHECK_FALSE(with_tail(9).order->as_said);
}

TEST_CASE("Without tasks that free memory, tasks that do not fit are impossible") {
  // Two tasks of 1 in room for 1: no order at all, and any bound holds.
  CertificateInstance instance{
      .microbatches = 2, .capacity = {1}, .sequences = {{"F", 0, Duration{1}, 1, 0, Duration{0}}}, .arcs = {}};
  const BoundVerdict verdict = bound_of(instance, 1000);
  CHECK(verdict.proven);
  CHECK(verdict.contradiction.find("would not fit into memory") != std::string::npos);
  instance.capacity = {2};
  CHECK(largest_bound(instance, 1000) == 2);
}

TEST_CASE("Tasks that wait for memory leave a stage idle") {
  // In room for 1, each F of 1 ns is followed by its B of 1 ns, 10 ns later: 2 x 12 ns.
  const CertificateInstance instance{
      .microbatches = 2,
      .capacity = {1},
      .sequences = {{"F", 0, Duration{1}, 1, 0, Duration{0}}, {"B", 0, Duration{1}, 0, 1, Duration{0}}},
      .arcs = {{0, 1, Duration{10}}}};
  CHECK(largest_bound(instance, 1000) == 24);
}

TEST_CASE("Cases prove bounds that rules alone do not") {
  CHECK(check_certificate(needs_cases()).holds());
  CHECK(check_certificate(needs_cases()).bound.cases_shown == 2);
  CHECK(try_all_orders(needs_cases().instance, 1000)->makespan == 18);
  const CertificateVerdict without = with(needs_cases(), [](Certificate& changed) { changed.cases.clear(); });
  CHECK(without.order->holds());
  CHECK_FALSE(without.bound.proven);
  const CertificateVerdict with_one = with(needs_cases(), [](Certificate& changed) { changed.cases.pop_back(); });
  CHECK_FALSE(with_one.bound.proven);
}

TEST_CASE("A case that leads to no contradiction proves nothing") {
  const CertificateVerdict verdict = with(needs_cases(), [](Certificate& changed) {
    changed.cases.front() = {1, 2, 0, Duration{5}};
  });
  CHECK_FALSE(verdict.bound.proven);
  CHECK(verdict.bound.cases_shown == 0);
  CHECK(is_said(
      verdict.bound.faults,
      "case 0: assuming that task 1 of 'c' starts before 5 ns, seen backwards in time, leads to no contradiction"));
}

TEST_CASE("A case among a few microbatches leaves out the others") {
  // F2 needs what B1 gives, and B1 runs 10 after F1: without microbatch 0, too, which F1 alone has to follow
  CertificateInstance instance{
      .microbatches = 3,
      .capacity = {1},
      .sequences = {{"F", 0, Duration{1}, 1, 0, Duration{0}}, {"B", 0, Duration{1}, 0, 1, Duration{0}}},
      .arcs = {{0, 1, Duration{10}}}};
  Certificate certificate;
  certificate.instance = instance;
  certificate.lower_bound = Duration{1000};
  const auto is_shown = [&](const CertificateCase& step) {
    certificate.cases = {step};
    return check_certificate(certificate).bound.cases_shown == 1;
  };
  CHECK(is_shown({0, 0, 2, Duration{24}}));
  CHECK(is_shown({0, 0, 2, Duration{24}, {1, 2}})); // F1 starts at 12, which is known of all
  CHECK_FALSE(is_shown({0, 0, 2, Duration{25}, {1, 2}}));
  CHECK_FALSE(is_shown({0, 0, 2, Duration{25}}));
  const CertificateVerdict verdict = check_certificate(certificate);
  CHECK(is_said(verdict.bound.faults, "case 0: assuming that task 2 of 'F' starts before 25 ns leads to no"));
  certificate.cases = {{1, 0, 1, Duration{25}, {0, 2}}};
  CHECK(is_said(check_certificate(certificate).bound.faults,
                "task 1 of 'F' starts before 25 ns, seen backwards in time, among microbatches 1 to 2, leads to no"));
}

TEST_CASE("Microbatches are left out only if the others need nothing of them") {
  const auto is_shown = [](CertificateInstance instance) {
    Certificate certificate;
    certificate.instance = std::move(instance);
    certificate.lower_bound = Duration{100};
    certificate.cases = {{0, 0, 1, Duration{1}, {1, 1}}};
    const BoundVerdict bound = check_certificate(certificate).bound;
    CHECK((bound.cases_shown == 1 || is_said(bound.faults, "microbatches cannot be left out")));
    return bound.cases_shown == 1;
  };
  const CertificateSequence taker{"F", 0, Duration{1}, 1, 0, Duration{0}};
  const CertificateSequence giver{"B", 0, Duration{1}, 0, 1, Duration{0}};
  const std::vector<CertificateArc> arcs{{0, 1, Duration{0}}};
  CHECK(is_shown({.microbatches = 2, .capacity = {2}, .sequences = {taker, giver}, .arcs = arcs}));
  CHECK_FALSE(is_shown({.microbatches = 2, .capacity = {2}, .sequences = {taker, giver}, .arcs = {}}));
  CHECK_FALSE(is_shown({.microbatches = 2, .capacity = {2}, .sequences = {taker}, .arcs = {}}));
  CHECK(is_shown({.microbatches = 2, .capacity = {std::nullopt}, .sequences = {taker, giver}, .arcs = {}}));
}

TEST_CASE("A proof that takes too long is given up") {
  const CertificateVerdict verdict = check_certificate(two_stages(), "c", 10);
  CHECK(verdict.order->holds());
  CHECK_FALSE(verdict.bound.proven);
  CHECK(is_said(verdict.bound.faults, "given up after 10 steps"));
}

TEST_CASE("Unknown ids make a certificate malformed") {
  CHECK(places_of_faults([](Certificate&) {}).empty());
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.sequences[2].stage = 2; }) ==
        Places{"c: /instance/sequences/2/stage"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.instance.arcs[1] = {4, 5, Duration{-1}};
        }) == Places{"c: /instance/arcs/1/0", "c: /instance/arcs/1/1", "c: /instance/arcs/1/2"});
  CHECK(places_of_faults([](Certificate& changed) { (*changed.order)[1][2] = 4; }) == Places{"c: /order/1/2"});
  CHECK(places_of_faults([](Certificate& changed) { changed.order->pop_back(); }) == Places{"c: /order"});
  CHECK(places_of_faults([](Certificate& changed) { changed.makespan.reset(); }) == Places{"c: /makespan"});
  CHECK(places_of_faults([](Certificate& changed) { changed.order.reset(); }) == Places{"c: /makespan"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.cases = {{2, 4, 2, Duration{-1}}};
        }) == Places{"c: /proof/cases/0/0", "c: /proof/cases/0/1", "c: /proof/cases/0/2", "c: /proof/cases/0/3"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.cases = {{0, 0, 1, Duration{0}, {2, 1}}, {0, 0, 1, Duration{0}, {1, 2}}};
        }) == Places{"c: /proof/cases/0/4", "c: /proof/cases/1/5"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.cases = {{0, 0, 0, Duration{0}, {1, 1}}, {0, 0, 1, Duration{0}, {0, 1}}};
        }) == Places{"c: /proof/cases/0/2", "c: /proof/cases/1/2"});
}

TEST_CASE("Numbers and sums out of range make a certificate malformed") {
  constexpr std::int64_t most = CertificateLimits::total;
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.microbatches = 0; }) ==
        Places{"c: /instance/microbatches"});
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.microbatches = 32768; }) ==
        Places{"c: /instance/microbatches"});
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.sequences.clear(); }) ==
        Places{"c: /instance/sequences"});
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.capacity[0] = -1; }) ==
        Places{"c: /instance/capacity/0"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.instance.sequences[0] = {"F0", 0, Duration{-1}, -1, most + 1, Duration{-1}};
        }) == Places{"c: /instance/sequences/0/duration", "c: /instance/sequences/0/take",
                     "c: /instance/sequences/0/give", "c: /instance/sequences/0/tail"});
  CHECK(places_of_faults([](Certificate& changed) { changed.lower_bound = Duration{-1}; }) ==
        Places{"c: /lower_bound"});
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.arcs[0].lag = Duration{most / 2 + 1}; }) ==
        Places{"c: /instance"});
  CHECK(places_of_faults([](Certificate& changed) { changed.instance.sequences[1].give = most / 2 + 1; }) ==
        Places{"c: /instance"});
  CHECK(places_of_faults([](Certificate& changed) {
          changed.instance.arcs.push_back({1, 0, Duration{0}});
        }) == Places{"c: /instance/arcs"});
}

TEST_CASE("The largest numbers in range are accepted") {
  constexpr std::int64_t most = CertificateLimits::total;
  Certificate certificate;
  certificate.instance = {.microbatches = 1,
                          .capacity = {most, std::nullopt},
                          .sequences = {{"F0", 0, Duration{most / 4}, most / 4, 0, Duration{0}},
                                        {"B0", 0, Duration{0}, 0, most / 4, Duration{most / 4}},
                                        {"F1", 1, Duration{most / 4}, 0, 0, Duration{0}}},
                          .arcs = {{0, 2, Duration{0}}, {2, 1, Duration{most / 4}}}};
  certificate.order = {{0, 1}, {2}};
  certificate.makespan = Duration{most};
  certificate.lower_bound = Duration{most};
  CHECK(check_certificate(certificate).holds());
  CHECK(bound_of(certificate.instance, 0).proven);
  CHECK(bound_of(certificate.instance, 1).proven);
}

} // namespace ppsim::test::certificate_test
