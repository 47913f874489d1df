// Layout strings: writing and reading are inverse.

#include "ppsim/scenario/layout.hpp"
#include "property/drawn_inputs.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <rapidcheck.h>

namespace ppsim::test::layout_property {

namespace {

/// Chunks with few different contents, so that repetitions occur; those for multi-token prediction come last.
Layout draw_layout() {
  Layout layout;
  for (std::size_t run = draw(1, 4); run > 0; --run)
    layout.resize(layout.size() + draw(1, 6), {.layers = one_in(3) ? 0 : draw(1, 12)});
  layout.front().layers += 1;
  layout.front().embedding = true;
  if (one_in(3)) layout.back().mtp_layers = draw(1, 5);
  if (one_in(3)) layout.push_back({.mtp_layers = one_in(2) ? std::size_t{0} : draw(1, 5)});
  layout.back().loss = true;
  return layout;
}

} // namespace

TEST_CASE("A written layout is read back as the same layout, in its only written form") {
  rc::prop("any layout", [] {
    const Layout layout = draw_layout();
    const std::string text = to_string(layout);
    RC_ASSERT(parse_layout(text) == layout);
    RC_ASSERT(to_string(parse_layout(text)) == text);
    std::size_t plain = layout.size() - 1 + 2; // letter by letter
    for (const ChunkBlocks& blocks : layout) plain += blocks.layers + blocks.mtp_layers;
    RC_ASSERT(text.size() <= plain);
  });
}

} // namespace ppsim::test::layout_property
