// A comparison equals single runs, at any number of threads.

#include "ppsim/base/words.hpp"
#include "ppsim/schedule/generators.hpp"
#include "ppsim/study/compare.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/viz/comparison.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <sstream>

#include "cli/options/commands.hpp"
#include <rapidcheck.h>

namespace ppsim::test::compare_property {

using namespace ppsim::cli;

namespace {

using Words = std::vector<std::string>;

Words draw_flags() {
  const auto number = [](int from, int to) { return std::to_string(*rc::gen::inRange(from, to)); };
  const std::size_t first = *rc::gen::inRange<std::size_t>(0, generators().size());
  std::string schedules{generators()[first]->name};
  for (const std::size_t other : {first + 4, first + 7, first + 11})
    schedules += fmt::format(",{}", generators()[other % generators().size()]->name);
  Words flags{"--stages", number(1, 7), "--mb", number(1, 13), "--schedules", schedules};
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (one_in(2)) flags.insert(flags.end(), {flag, value});
  };
  add("--forward", number(0, 50) + "us");
  add("--input-grad", number(0, 50) + "us");
  if (flags[flags.size() - 2] == "--input-grad") flags.insert(flags.end(), {"--weight-grad", number(0, 50) + "us"});
  add("--comm", number(0, 20) + "us");
  add("--transfer", *rc::gen::element<std::string>("latency", "link", "blocking"));
  if (("," + schedules).find(",interleaved") != std::string::npos) add("--group-size", number(1, 6));
  if (one_in(2)) {
    flags.insert(flags.end(), {"--activation-bytes", number(1, 9) + "GiB"});
    add("--memory-limit", number(1, 60) + "GiB");
  }
  return flags;
}

std::optional<ComparedRuns> try_compare(const Words& flags, std::size_t threads) {
  try {
    return compare(parse_arguments(find_command("compare"), flags), threads);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The flags of one contender: its own, and the others that apply to its schedule.
Words flags_alone(Words flags, const Contender& contender) {
  std::istringstream own{as_flags(contender.fields)};
  for (std::string word; own >> word;) flags.push_back(word);
  const auto drop = [&](std::string_view flag) {
    const auto found = std::ranges::find(flags, flag);
    if (found != flags.end()) flags.erase(found, found + 2);
  };
  drop("--schedules");
  if (!contender.name.starts_with("interleaved")) drop("--group-size");
  return flags;
}

} // namespace

TEST_CASE("A contender's figures are those of simulate with its flags") {
  rc::prop("on small pipelines", [] {
    const Words flags = draw_flags();
    const auto compared = try_compare(flags, 1);
    RC_PRE(compared.has_value());
    for (const Contender& contender : compared->comparison.contenders) {
      RC_LOG() << contender.name << '\n';
      const Evaluation alone = evaluate(parse_arguments(find_command("simulate"), flags_alone(flags, contender)));
      RC_ASSERT(contender.report.step_time == alone.report.step_time);
      RC_ASSERT(contender.report.makespan == alone.report.makespan);
      RC_ASSERT(contender.report.bubble_ratio == alone.report.bubble_ratio);
      RC_ASSERT(contender.report.transfers == alone.report.transfers);
      RC_ASSERT(contender.fits() == !alone.report.overflow.has_value());
      RC_ASSERT(contender.shape == alone.graph.schedule().shape());
      for (std::size_t stage = 0; stage < contender.report.stages.size(); ++stage)
        RC_ASSERT(contender.report.stages[stage].peak_bytes() == alone.report.stages[stage].peak_bytes());
    }
  });
}

TEST_CASE("Contenders are sorted, each schedule appears once, and the recommended one is valid") {
  rc::prop("on small pipelines", [] {
    const auto compared = try_compare(draw_flags(), 1);
    RC_PRE(compared.has_value());
    const auto& [list, left_out, recommendation] = std::tie(
        compared->comparison.contenders, compared->comparison.not_applicable, compared->comparison.recommendation);
    RC_ASSERT(list.size() + left_out.size() == compared->candidates.size());
    for (std::size_t i = 1; i < list.size(); ++i) RC_ASSERT(list[i - 1].report.step_time <= list[i].report.step_time);
    for (const Contender& contender : list) {
      const bool can_be_taken = contender.fits() && !contender.demands.asynchronous;
      RC_ASSERT(!can_be_taken || recommendation.has_value());
      if (can_be_taken) RC_ASSERT(list[recommendation->best].report.step_time <= contender.report.step_time);
    }
    if (!recommendation) return;
    RC_ASSERT(list[recommendation->best].fits());
    RC_ASSERT(!list[recommendation->best].demands.asynchronous);
  });
}

TEST_CASE("A comparison is the same at any number of threads") {
  rc::prop("on small pipelines", [] {
    const Words flags = draw_flags();
    const auto one = try_compare(flags, 1);
    const auto more = try_compare(flags, *rc::gen::inRange<std::size_t>(2, 9));
    RC_ASSERT(one.has_value() == more.has_value());
    if (!one) return;
    RC_ASSERT(one->notes == more->notes);
    RC_ASSERT(viz::recommendation_text(one->comparison) == viz::recommendation_text(more->comparison));
    RC_ASSERT(one->comparison.contenders.size() == more->comparison.contenders.size());
    for (std::size_t i = 0; i < one->comparison.contenders.size(); ++i) {
      RC_ASSERT(one->comparison.contenders[i].name == more->comparison.contenders[i].name);
      RC_ASSERT(one->comparison.contenders[i].report.step_time == more->comparison.contenders[i].report.step_time);
    }
  });
}

} // namespace ppsim::test::compare_property
