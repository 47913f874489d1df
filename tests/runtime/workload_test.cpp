// Workloads: what tasks compute, in words.

#include "ppsim/runtime/workload.hpp"

#include <catch2/catch.hpp>

namespace ppsim::runtime::workload_test {

TEST_CASE("A workload's description contains what determines its time", "[runtime]") {
  CHECK(in_words({.tokens = 128, .width = 64}) == "mlp: 128 tokens, width 64, 1 layer per chunk");
  CHECK(in_words({.block = Block::transformer, .tokens = 128, .width = 64, .heads = 2, .layers = 3}) ==
        "transformer: 128 tokens, width 64, 2 heads, 3 layers per chunk");
}

} // namespace ppsim::runtime::workload_test
