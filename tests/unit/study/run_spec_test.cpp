// Library calls by a program, without a command line.

#include "ppsim/study/build_run.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/study/vary.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

namespace ppsim::test::run_spec_test {

using namespace std::chrono_literals;

namespace {

RunSpec spec() {
  RunSpec spec;
  spec.stages = 4;
  spec.microbatches = 8;
  return spec;
}

RunSpec with_order(const std::string& schedule) {
  RunSpec named = spec();
  named.schedule = schedule;
  RunSpec given;
  given.order =
      std::make_shared<const GivenOrder>(build_run(named).schedule, "mine", "mine", std::vector<std::string>{});
  return given;
}

} // namespace

TEST_CASE("A field is set if it has a value, and set for this run unless a file sets it") {
  RunSpec said = spec();
  said.forward = {1ms};
  said.training.tensor_parallel = 2; // has a value anyway
  CHECK(said.has("stages"));
  CHECK(said.has("forward"));
  CHECK_FALSE(said.has("backward"));
  CHECK_FALSE(said.has("tensor-parallel"));
  CHECK(said.is_asked("forward"));
  said.where["forward"] = "run.toml:3:1";
  CHECK(said.has("forward"));
  CHECK_FALSE(said.is_asked("forward"));
  CHECK(said.place_of("forward") == "run.toml:3:1");
  CHECK(said.place_of("mb") == "`mb`");
}

TEST_CASE("A given order is run unchanged, or only its forwards") {
  CHECK(evaluate(with_order("1f1b")).report.step_time == 33ms);
  RunSpec forwards = with_order("1f1b");
  forwards.forward_only = true;
  CHECK(evaluate(forwards).graph.schedule().forward_only());
  CHECK(refusal_of([] { (void)evaluate(with_order("pipedream")); }).lines ==
        Rows{"mine: an order without a flush: only its generator can make its later steps -- use `schedule` instead"});
}

TEST_CASE("Unknown names are refused, not ignored") {
  RunSpec compared = spec();
  compared.schedules = {"1f1b", "interleavd"};
  CHECK(refusal_of([&] { (void)compare(compared, 1); }).first().find("'interleaved'") != std::string::npos);
  compared.schedules = std::vector<std::string>{};
  CHECK(refusal_of([&] { (void)compare(compared, 1); }).lines ==
        Rows{"`schedules`: names none -- name some, or leave it out"});
  RunSpec varied = spec();
  const Rows no_field{"`vary`: no field given that takes numbers -- name one, such as comm"};
  CHECK(refusal_of([&] { (void)vary(varied, {}); }).lines == no_field);
  for (const char* name : {"microbatches", "layout"}) { // an alias of the command line, and a text
    varied.vary = Axis{.option = name, .from = 1, .to = 2};
    CHECK(refusal_of([&] { (void)vary(varied, {}); }).lines == no_field);
  }
}

} // namespace ppsim::test::run_spec_test
