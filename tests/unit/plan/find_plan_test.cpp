// Plans against all configurations of small spaces, simulated one by one.

#include "ppsim/base/error.hpp"
#include "ppsim/plan/analysis.hpp"
#include "ppsim/plan/settings.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/evaluate.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "sim/plan/bound.hpp"
#include "unit/plan/small_space.hpp"

namespace ppsim::test::find_plan_test {
namespace {

PlanRequest small(std::int64_t gpus, std::int64_t batch, Bytes limit) {
  PlanRequest request = small_space(gpus, batch, limit);
  request.choices.schedules = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe", "hanayo"};
  return request;
}

constexpr Bytes gibibytes(std::int64_t count) {
  return Bytes{count << 30};
}

std::vector<std::int64_t> figures_of(const RankedPlan& plan) {
  std::vector<std::int64_t> figures;
  for (const PlanRow& row : plan.rows) figures.push_back(row.figure);
  return figures;
}

/// Values shared by configurations in one row: figure, bytes, time, and all options except the shares.
using Kind = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string>;
Kind kind_of(const PlanRow& row) {
  std::string options;
  for (const auto& [name, value] : row.configuration.options())
    if (name != "mb" && name != "microbatch-size" && name != "context-parallel" && name != "data-parallel")
      options += fmt::format("{}={} ", name, value);
  return {row.figure, row.report.peak_bytes().count(), row.report.step_time.count(), options};
}

/// How many configurations are of each kind, the best kinds first: every one simulated by itself.
std::map<Kind, std::size_t> simulated_one_by_one(const PlanRequest& request) {
  std::map<Kind, std::size_t> kinds;
  const PlanSpace space{request};
  for (const Degrees& degrees : space.degrees())
    for (const PlannedOrder& order : space.orders(degrees))
      for (const Keeping& keeping : space.keepings(space.layers_of_chunk(degrees, order)))
        if (const auto row = simulate_alone(request, PlanSpace::configuration(degrees, order, keeping)))
          ++kinds[kind_of(*row)];
  return kinds;
}

void check_against_one_by_one(const PlanRequest& request) {
  const std::map<Kind, std::size_t> kinds = simulated_one_by_one(request);
  const RankedPlan found = find_plan(request, {.threads = 2});
  REQUIRE(found.rows.size() == std::min(request.top, kinds.size()));
  auto kind = kinds.begin();
  for (const PlanRow& row : found.rows) {
    CHECK(row.figure == std::get<0>(kind->first));
    CHECK(row.report.peak_bytes().count() == std::get<1>(kind->first));
    CHECK(row.report.step_time.count() == std::get<2>(kind->first));
    const auto same = kinds.find(kind_of(row));
    REQUIRE(same != kinds.end());
    CHECK(1 + row.equals.size() == same->second);
    ++kind;
  }
}

TEST_CASE("Rows and their numbers of equals are those of all configurations, grouped and sorted") {
  PlanRequest request = small(8, 16, gibibytes(40));
  request.run.training.sequence_length = 8192;
  request.choices.schedules = {"1f1b", "interleaved", "zb-v"};
  request.choices.sequence_parallel = true;
  check_against_one_by_one(request);
  request.by_memory = true;
  check_against_one_by_one(request);
  request = small(32, 64, gibibytes(80)); // many hold the same and take different times
  request.run.training.sequence_length = 8192;
  request.choices.schedules = {"1f1b"};
  request.choices.recompute = {RecomputeKind::none};
  request.by_memory = true;
  request.top = 60;
  check_against_one_by_one(request);
}

/// Returns all configurations, simulated, of which the best rows are compared.
RankedPlan check_against_all(const PlanRequest& request) {
  const RankedPlan found = find_plan(request, {.threads = 2});
  RankedPlan all = find_plan_exhaustively(request, {.threads = 2});
  CHECK(found.configurations == all.configurations);
  CHECK(all.simulated == all.configurations);
  CHECK(found.simulated < all.simulated);
  CHECK(figures_of(found) == figures_of(all));
  REQUIRE(!found.rows.empty());
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    CHECK(found.rows[i].configuration == all.rows[i].configuration);
    CHECK(found.rows[i].equals == all.rows[i].equals);
  }
  return all;
}

TEST_CASE("The rows of a plan are those of all configurations, simulated one by one") {
  PlanRequest request = small(16, 32, gibibytes(80));
  CHECK(check_against_all(request).configurations > 10'000);
  request.run.memory_limit = gibibytes(14); // few fit
  const RankedPlan all = check_against_all(request);
  request.top = 1;
  const RankedPlan found = find_plan(request, {.threads = 2});
  CHECK(found.simulated < all.simulated);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows.front().figure == all.rows.front().figure);
  CHECK(found.rows.front().configuration == all.rows.front().configuration);
  CHECK(found.rows.front().equals == all.rows.front().equals);
}

/// Simulates every configuration, however much it holds: no bound is above what it takes or holds.
std::size_t check_bounds(PlanRequest request) {
  const PlanSpace space{request};
  std::size_t checked = 0;
  for (const Degrees& degrees : space.degrees()) {
    auto bounds = DegreeBounds::of(request, degrees);
    if (!bounds) continue;
    for (const PlannedOrder& order : space.orders(degrees))
      for (const Keeping& keeping : space.keepings(space.layers_of_chunk(degrees, order))) {
        const auto row = simulate_alone(request, PlanSpace::configuration(degrees, order, keeping));
        if (!row) continue; // it does not fit
        ++checked;
        const PlanBound bound = bounds->of(order, keeping);
        INFO(order.schedule->name << " v=" << order.chunks << " tp " << degrees.tensor << " pp " << degrees.stages
                                  << " zero " << degrees.zero_stage << " block " << keeping.block_layers);
        CHECK(bound.time.count() <= row->figure);
        CHECK(bound.memory <= row->report.peak_bytes());
        CHECK(bounds->all().time.count() <= row->figure);
        CHECK(bounds->all().memory <= row->report.peak_bytes());
      }
  }
  return checked;
}

TEST_CASE("No bound exceeds a configuration's time and memory, for any pair rule") {
  PlanRequest request = small(8, 16, gibibytes(30));
  request.choices.schedules = {"gpipe",  "1f1b",     "interleaved", "zb-h1",  "zb-v",
                               "hanayo", "dualpipe", "dualpipe-v",  "chimera"};
  request.choices.microbatch_size = {1, 2};
  for (const PairRule rule : {PairRule{}, PairRule{PairRule::Kind::max}, PairRule{PairRule::Kind::hide},
                              PairRule{PairRule::Kind::factor, 300'000}}) {
    request.run.pair = rule;
    CHECK(check_bounds(request) > 500);
  }
}

TEST_CASE(
    "Nor is one of experts, of a tied embedding, of gradients that are reduced behind the tasks, of uneven chunks") {
  PlanRequest request = small(8, 16, gibibytes(1000));
  request.choices.schedules = {"1f1b", "interleaved", "zb-v", "dualpipe"};
  request.choices.microbatch_size = {1};
  request.choices.tensor = {1, 2};
  Model model = find_model("deepseek-v3");
  model.layers = 7;
  request.run.model_shape = model;
  CHECK(check_bounds(request) > 200);
  request = small(8, 16, gibibytes(80));
  request.run.model_shape->tied_embedding = true;
  request.run.overlap_grad_reduce = false;
  request.choices.zero_stage = {0, 1};
  request.choices.microbatch_size = {2};
  CHECK(check_bounds(request) > 200);
}

TEST_CASE("The same with embedding and loss that count as layers, hidden exchanges and searched orders") {
  PlanRequest request = small(4, 8, gibibytes(60));
  request.run.pair = PairRule{PairRule::Kind::hide};
  request.choices.schedules = {"1f1b", "zb-auto", "dualpipe", "dualpipe-v", "v-half"};
  request.choices.microbatch_size = {1};
  request.choices.zero_stage = {1};
  check_against_all(request);
}

TEST_CASE("The number of simulations does not depend on threads") {
  const PlanRequest request = small(16, 32, gibibytes(20));
  const RankedPlan one = find_plan(request, {.threads = 1});
  const RankedPlan three = find_plan(request, {.threads = 3});
  CHECK(one.simulated == three.simulated);
  CHECK(one.too_large == three.too_large);
  REQUIRE(one.rows.size() == three.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) CHECK(one.rows[i].configuration == three.rows[i].configuration);
}

TEST_CASE("Settings of recomputed modules are left out if there are none") {
  PlanRequest request = small(4, 8, gibibytes(80));
  request.choices.schedules = {"1f1b"};
  const std::uint64_t without = find_plan_exhaustively(request, {.threads = 2}).configurations;
  request.run.training.recompute_modules = std::vector{RecomputeModule::layernorm};
  request.run.where["recompute-modules"] = "--recompute-modules"; // as on a command line
  const RankedPlan plan = find_plan_exhaustively(request, {.threads = 2});
  CHECK(plan.refused == 0);
  CHECK(plan.configurations > without); // selective recomputation, too
}

TEST_CASE("Degrees multiply to the devices, and microbatches to the batch") {
  PlanRequest request = small(8, 16, gibibytes(80));
  const PlanSpace space{request};
  std::size_t plain = 0;
  for (const Degrees& degrees : space.degrees()) {
    CHECK(degrees.tensor * degrees.context * degrees.data * degrees.stages == 8);
    CHECK(degrees.data * degrees.microbatch_size * degrees.microbatches == 16);
    CHECK(degrees.stages <= 10);
    plain += degrees.tensor == 8 && degrees.zero_stage == 1 && degrees.sequence_parallel ? 1 : 0;
  }
  CHECK(plain == 4); // one copy of one stage: microbatches of 1, 2, 4 and 8
}

TEST_CASE("Only chosen values are searched, and an empty space is explained") {
  PlanRequest request = small(8, 16, gibibytes(80));
  request.choices.tensor = {2};
  request.choices.stages = {2};
  const PlanSpace some{request};
  CHECK(!some.degrees().empty());
  for (const Degrees& degrees : some.degrees()) CHECK((degrees.tensor == 2 && degrees.stages == 2));
  request.choices.tensor = {3};
  CHECK_THROWS_AS(PlanSpace{request}, Error);
  request.choices.tensor = {};
  request.choices.schedules = {"pipedream"};
  CHECK_THROWS_AS(PlanSpace{request}, Error);
  request.choices.tensor = {};
  request.choices.schedules = {"1f1b"};
  request.choices.stages = {3, 5};
  CHECK_THROWS_WITH(PlanSpace{request}, Catch::Contains("none of 3, 5 divides the 8 devices"));
  request = small(7, 7, gibibytes(80)); // 7 divides no head
  request.choices.tensor = {7};
  CHECK_THROWS_WITH(find_plan(request, {.threads = 1}), Catch::Contains("`tensor-parallel`"));
}

TEST_CASE("If nothing fits, the smallest need is reported, and it fits with that much memory") {
  PlanRequest request = small(2, 4, gibibytes(1));
  const RankedPlan plan = find_plan(request, {.threads = 2});
  CHECK(plan.rows.empty());
  REQUIRE(plan.closest.has_value());
  const Bytes needs = plan.closest->report.peak_bytes();
  CHECK(needs > gibibytes(1));
  request.run.memory_limit = needs;
  CHECK(!find_plan(request, {.threads = 2}).rows.empty());
  request.run.memory_limit = needs - Bytes{1};
  CHECK(find_plan(request, {.threads = 2}).rows.empty());
}

TEST_CASE("Ranked by memory, the first row is the least of all") {
  PlanRequest request = small(4, 8, gibibytes(60));
  request.by_memory = true;
  check_against_all(request);
}

TEST_CASE("If tasks vary, enough steps are sampled for the slowest of all copies") {
  PlanRequest request = small(32, 64, gibibytes(80));
  request.run.jitter_ppm = 50'000;
  request.run.samples = 100;
  request.run.rank_by = StepFigure::p95;
  request.choices.tensor = {1};
  request.choices.stages = {1, 2};
  request.choices.context = {1};
  request.choices.recompute = {RecomputeKind::none};
  request.choices.microbatch_size = {1};
  request.choices.zero_stage = {1};
  request.choices.schedules = {"1f1b"};
  const RankedPlan plan = find_plan(request, {.threads = 2});
  CHECK(plan.refused == 0);
  REQUIRE(!plan.rows.empty());
  CHECK(plan.rows.front().configuration.degrees.data >= 16);
}

TEST_CASE("Terms of a step add up to it, and less memory is never faster") {
  const PlanRequest request = small(8, 16, gibibytes(40));
  const RankedPlan plan = find_plan(request, {.threads = 2});
  const PlanAnalysis analysis = analyse_plan(request, plan, {.threads = 2});
  const PlanRow& winner = plan.rows.front();
  Duration sum{0};
  for (const PlanTerm& term : terms_of(winner.report)) sum += term.time;
  CHECK(sum <= winner.report.makespan); // each is rounded down
  CHECK(winner.report.makespan - sum < Duration{10});
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const PlanFrontPoint& point : analysis.front) {
    CHECK(point.row.report.peak_bytes() <= point.limit);
    CHECK(point.row.figure <= before);
    before = point.row.figure;
  }
  CHECK(winner.figure <= before);
  if (analysis.balanced) {
    const auto& [position, row] = *analysis.balanced;
    RunSpec spec = spec_of(request, plan.rows[position].configuration);
    spec.balance = true;
    CHECK(row.figure == evaluate(spec).report.step_time.count());
    CHECK(row.figure < winner.figure);
    CHECK(simulate_alone(request, row.configuration)->figure == row.figure); // as in its layout
  }
  REQUIRE(analysis.changes.size() == 5);
  PlanRequest less = request; // the last: searched anew
  less.run.memory_limit = Bytes{request.run.memory_limit->count() - request.run.memory_limit->count() / 10};
  CHECK(analysis.changes.back().best->figure == find_plan(less, {.threads = 2}).rows.front().figure);
  CHECK(analysis.changes[0].best->figure > winner.figure); // computation takes longer
  for (const OtherConstants& change : analysis.changes)
    if (change.winner) CHECK(change.best->figure <= change.winner->figure);
}

TEST_CASE("Slower links are never faster, even between ranks on several nodes") {
  PlanRequest request = small(16, 16, gibibytes(80));
  request.choices.schedules = {"1f1b"};
  request.choices.tensor = {16};
  const RankedPlan plan = find_plan(request, {.threads = 2});
  const PlanAnalysis analysis = analyse_plan(request, plan, {.threads = 2});
  REQUIRE(analysis.changes.size() == 5);
  CHECK(analysis.changes[2].best->figure > plan.rows.front().figure);
  CHECK(analysis.changes[3].best->figure < plan.rows.front().figure);
}

std::vector<std::size_t> layers_of(const Layout& layout) {
  std::vector<std::size_t> layers;
  for (const ChunkBlocks& blocks : layout) layers.push_back(blocks.layers);
  return layers;
}

TEST_CASE("Configurations that differ only in shares of sequence and batch are one row, of the least context") {
  PlanRequest request = small(16, 32, gibibytes(80));
  request.run.training.sequence_length = 8192;
  request.choices.stages = {4};
  const RankedPlan plan = find_plan(request, {.threads = 2});
  std::size_t equals = 0;
  for (const PlanRow& row : plan.rows)
    for (const Degrees& equal : row.equals) {
      ++equals;
      CHECK(equal.context > row.configuration.degrees.context);
      Configuration other = row.configuration;
      other.degrees = equal;
      const std::optional<PlanRow> simulated = simulate_alone(request, other);
      REQUIRE(simulated.has_value());
      CHECK(simulated->figure == row.figure);
      CHECK(simulated->report.peak_bytes() == row.report.peak_bytes());
    }
  CHECK(equals > 5);
}

/// Of all orders: what each chunk holds.
std::set<std::tuple<std::size_t, const Generator*, std::string>> layouts_of(const PlanRequest& request) {
  std::set<std::tuple<std::size_t, const Generator*, std::string>> layouts;
  const PlanSpace space{request};
  for (const Degrees& degrees : space.degrees())
    for (const PlannedOrder& order : space.orders(degrees)) {
      const Shape shape{.stages = static_cast<std::size_t>(degrees.stages), .microbatches = 1, .vpp = order.chunks};
      layouts.emplace(shape.stages, order.schedule,
                      to_string(order.layout != nullptr ? *order.layout
                                                        : even_layout(*request.run.model_shape, shape,
                                                                      order.schedule->place({.shape = shape}))));
    }
  return layouts;
}

TEST_CASE("No framework loses a split of layers because it equals another, nor gains one if one is chosen") {
  for (const std::int64_t layers : {9, 10, 12, 14})
    for (const Framework framework :
         {Framework::any, Framework::megatron, Framework::torchtitan, Framework::deepspeed}) {
      PlanRequest request = small(48, 96, gibibytes(80));
      request.run.model_shape->layers = layers;
      request.framework = framework;
      request.choices.schedules = {"1f1b", "interleaved"};
      request.choices.tensor = {4};
      const auto all = layouts_of(request);
      std::set<std::tuple<std::size_t, const Generator*, std::string>> named;
      for (const LayerSplit split : {LayerSplit::even, LayerSplit::ends, LayerSplit::work}) {
        if (split == LayerSplit::work && !runs_layouts(framework)) continue;
        request.choices.split = {split};
        named.merge(layouts_of(request));
      }
      CHECK(named == all);
    }
}

TEST_CASE("Layers by work do not depend on the other choices") {
  PlanRequest request = small(128, 128, gibibytes(2000));
  request.run.model_shape = find_model("deepseek-v3");
  request.run.device_sheet = find_device("h800");
  request.run.training.sequence_length = 0;
  request.choices.schedules = {"1f1b"};
  request.choices.split = {LayerSplit::work};
  request.choices.tensor = {4};
  request.choices.expert = {8};
  request.choices.context = {1};
  std::set<std::tuple<std::size_t, const Generator*, std::string>> each;
  for (const std::int64_t stages : {4, 8, 16}) {
    request.choices.stages = {stages};
    each.merge(layouts_of(request));
  }
  request.choices.stages = {4, 8, 16};
  CHECK(layouts_of(request) == each);
}

TEST_CASE("Features that a framework lacks are refused if they are chosen") {
  PlanRequest request = small(8, 16, gibibytes(80));
  request.framework = Framework::torchtitan;
  request.choices.split = {LayerSplit::work};
  CHECK_THROWS_WITH(PlanSpace{request}, Catch::Contains("split"));
  request.choices.split = {};
  request.choices.recompute = {RecomputeKind::selective};
  CHECK_THROWS_WITH(PlanSpace{request}, Catch::Contains("`recompute`"));
  request.choices.recompute = {};
  request.choices.sequence_parallel = false;
  CHECK_THROWS_WITH(PlanSpace{request}, Catch::Contains("`sequence-parallel`"));
}

TEST_CASE("Layers by work: the stage with the loss has fewer, and of equals the last has more") {
  Model model = find_model("llama-3-8b");
  model.layers = 10;
  const EndsWork work{.loss = 2 * work_of_layer};
  CHECK(layers_of(*work_layout(model, work, {0, 1, 2, 3})) == std::vector<std::size_t>{3, 3, 3, 1}); // 6 each
  model.layers = 11;
  CHECK(layers_of(*work_layout(model, work, {0, 1, 2, 3})) == std::vector<std::size_t>{3, 3, 3, 2});
  model.layers = 6; // a V: 8 each; the first stage has the loss
  CHECK(layers_of(*work_layout(model, work, {0, 1, 1, 0})) == std::vector<std::size_t>{2, 2, 2, 0});
  model.layers = 2;
  CHECK(layers_of(*work_layout(model, work, {0, 1, 0, 1})) == std::vector<std::size_t>{0, 1, 1, 0});
  model.layers = 1;
  CHECK(!work_layout(model, work, {0, 1, 0, 1}));
}

TEST_CASE("No other split of layers gives the busiest stage less to do than the one by work") {
  Model model = find_model("llama-3-8b");
  for (const std::int64_t loss : {0, 3, 8, 20, 53})
    for (model.layers = 3; model.layers < 12; ++model.layers) {
      const EndsWork work{.embedding = 3, .loss = loss};
      const auto busiest = [&](std::int64_t first, std::int64_t second, std::int64_t third) {
        return std::max({3 + 8 * first, 8 * second, 8 * third + loss});
      };
      const auto found = layers_of(*work_layout(model, work, {0, 1, 2}));
      const auto at = [&](std::size_t chunk) { return static_cast<std::int64_t>(found[chunk]); };
      for (std::int64_t second = 1; second <= model.layers; ++second)
        for (std::int64_t first = 0; first + second <= model.layers; ++first)
          CHECK(busiest(at(0), at(1), at(2)) <= busiest(first, second, model.layers - first - second));
    }
}

TEST_CASE("A chosen split is the only one, and no split appears twice") {
  const PlanRequest request = small(8, 16, gibibytes(80));
  PlanRequest fixed = request;
  fixed.choices.split = {LayerSplit::work};
  const PlanSpace some{fixed};
  const PlanSpace every{request};
  std::size_t by_work = 0;
  for (const Degrees& degrees : every.degrees()) {
    for (const PlannedOrder& order : some.orders(degrees))
      CHECK((order.split == LayerSplit::work || degrees.stages == 1));
    const std::vector<PlannedOrder> orders = every.orders(degrees);
    std::set<std::tuple<const Generator*, std::size_t, std::string>> seen;
    for (const PlannedOrder& order : orders) {
      const Shape shape{.stages = static_cast<std::size_t>(degrees.stages), .microbatches = 1, .vpp = order.chunks};
      const std::string layout =
          to_string(order.layout != nullptr
                        ? *order.layout
                        : even_layout(*request.run.model_shape, shape, order.schedule->place({.shape = shape})));
      CHECK(seen.emplace(order.schedule, order.chunks, layout).second);
      by_work += order.split == LayerSplit::work ? 1 : 0;
    }
  }
  CHECK(by_work > 100);
}

TEST_CASE("A configuration is written as settings of its framework") {
  PlanRequest request = small(16, 64, gibibytes(80));
  const Configuration configuration{{.tensor = 2, .data = 2, .stages = 4, .microbatch_size = 2, .microbatches = 16},
                                    &find_generator("interleaved"),
                                    3,
                                    {RecomputeKind::full, 1},
                                    LayerSplit::ends,
                                    to_string(ends_layout(*request.run.model_shape, 12))};
  CHECK(settings_for(Framework::megatron, request, configuration) ==
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 1 "
        "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --seq-length 2048 "
        "--micro-batch-size 2 --global-batch-size 64 --sequence-parallel --use-distributed-optimizer "
        "--overlap-grad-reduce "
        "--overlap-param-gather --recompute-granularity full --recompute-method block --recompute-num-layers 1\n");
  CHECK_THAT(settings_for(Framework::torchtitan, request, configuration),
             Catch::Contains("pipeline_parallel_schedule = \"Interleaved1F1B\"") &&
                 Catch::Contains("local_batch_size = 32") && Catch::Contains("seq_len = 2048") &&
                 Catch::Contains("pipeline_parallel_layers_per_stage = 1\n") &&
                 Catch::Contains("pipeline_parallel_first_stage_less_layers = 1\n"));
  CHECK_THAT(settings_for(Framework::deepspeed, request, configuration),
             Catch::Contains("\"gradient_accumulation_steps\": 16"));
  CHECK(settings_for(Framework::any, request, configuration).empty());
  Configuration by_work = configuration;
  by_work.split = LayerSplit::work;
  by_work.layout = "Et|t*9L";
  CHECK_THAT(settings_for(Framework::megatron, request, by_work),
             Catch::Contains("--pipeline-model-parallel-layout 'Et|t*9L'") && !Catch::Contains("account-for") &&
                 !Catch::Contains("virtual"));
}

} // namespace
} // namespace ppsim::test::find_plan_test
