// Faults: how they are written.

#include "ppsim/runtime/fault.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <string>

#include <rapidcheck.h>

namespace ppsim::test::fault_test {

using namespace ppsim::runtime;

TEST_CASE("A fault has a kind and a task", "[fault]") {
  const auto is = [](std::string_view text, FaultKind kind, std::string_view task) {
    const std::optional<Fault> fault = parse_fault(text);
    REQUIRE(fault);
    CHECK(fault->kind == kind);
    CHECK(fault->task == cell(task));
  };
  is("fail@1F3", FaultKind::fail, "1F3");
  is("stall@0B2", FaultKind::stall, "0B2");
  is("no-memory@1F0", FaultKind::no_memory, "1F0");
  is("lose@12I345", FaultKind::lose, "12I345");
  is("resize@0F1", FaultKind::resize, "0F1");
  is("fail@7W0", FaultKind::fail, "7W0");
}

TEST_CASE("Invalid faults are not parsed", "[fault]") {
  for (const std::string_view text :
       {"",         "@",         "fail",       "fail@",       "fail@1",       "fail@F3",
        "fail@1F",  "fail@1F3 ", " fail@1F3",  "fail@ 1F3",   "fail@1F3x",    "fail@1X3",
        "fail@1f3", "fail@-1F3", "fail@+1F3",  "fail@1F-3",   "fail@65536F0", "fail@0F4294967296",
        "Fail@1F3", "fail@1F3@", "fail@1F3.5", "failure@1F3", "fai@1F3",      "@1F3"}) {
    CAPTURE(text);
    CHECK(!parse_fault(text));
  }
  CHECK(!parse_fault(std::string_view{"fail@1F3\0", 9}));
}

TEST_CASE("A fault that its task cannot have is invalid", "[fault]") {
  CHECK(!parse_fault("no-memory@1B0")); // only F allocates
  CHECK(!parse_fault("lose@1W0"));      // W sends nothing
  CHECK(!parse_fault("resize@1W0"));
}

TEST_CASE("Any text is parsed as a fault or refused", "[fault][property]") {
  rc::prop("and every task can fail", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string{"failstor-@0129FBIW \n\xff"}));
    (void)parse_fault(text);
    (void)parse_fault("fail@" + text);
    const Task task = make_task(static_cast<Pass>(*rc::gen::inRange(0, 4)), *rc::gen::inRange<std::size_t>(0, 65536),
                                *rc::gen::inRange<std::size_t>(0, 1'000'000));
    const std::optional<Fault> fault = parse_fault("fail@" + to_string(task));
    RC_ASSERT(fault.has_value());
    RC_ASSERT(fault->task == task);
  });
}

} // namespace ppsim::test::fault_test
