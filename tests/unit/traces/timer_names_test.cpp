// What Megatron-LM's timers leave out.

#include "ppsim/traces/import.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <string>

namespace ppsim::test::timer_names_test {

TEST_CASE("Timers with too many names are counted") {
  std::string log = "  pipeline_model_parallel_size .... 2\n  micro_batch_size .... 1\n  global_batch_size .... 4\n"
                    "  data_parallel_size .... 1\n(min, max) time across ranks (ms):\n"
                    "    forward-compute ....: (400.00, 800.00)\n    backward-compute ....: (400.00, 800.00)\n";
  for (int i = 0; i < 1000; ++i) log += fmt::format("    timer{} ....: (1.00, 2.00)\n", i);
  const traces::ImportFile file{"train.log", log};
  const traces::Imported imported = traces::find_import_format("megatron-timers")->read({&file, 1}, {});
  REQUIRE_FALSE(imported.dropped.empty());
  CHECK(imported.dropped.back() == traces::Dropped{"timers after the first 1000 of a block", 2});
}

} // namespace ppsim::test::timer_names_test
