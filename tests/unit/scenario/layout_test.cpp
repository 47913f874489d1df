// Layout strings: parsing, writing and errors.

#include "ppsim/scenario/layout.hpp"
#include "support/runs.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ppsim::test::layout_test {

using ppsim::test::refusal_of;

namespace {

/// Layers of each chunk, with those for multi-token prediction after a plus.
std::vector<std::string> counts(std::string_view text) {
  std::vector<std::string> list;
  for (const ChunkBlocks& blocks : parse_layout(text))
    list.push_back(std::to_string(blocks.layers) +
                   (blocks.mtp_layers > 0 ? "+" + std::to_string(blocks.mtp_layers) : std::string{}));
  return list;
}
using Counts = std::vector<std::string>;

std::string written(std::string_view text) {
  return to_string(parse_layout(text));
}

std::string refusal(std::string_view text) {
  const auto refusal = refusal_of([&] { (void)parse_layout(text); });
  CHECK(refusal.code == ExitCode::bad_input);
  return refusal.first();
}

} // namespace

TEST_CASE("A layout string describes each chunk, with the embedding on the first and the loss on the last") {
  const Layout layout = parse_layout("Ett|t|L");
  CHECK(layout == Layout{{.layers = 2, .embedding = true}, {.layers = 1}, {.loss = true}});
  CHECK(count_layers(layout) == 3);
  CHECK(parse_layout("EtL") == Layout{{.layers = 1, .embedding = true, .loss = true}});
}

TEST_CASE("The samples of Megatron-LM's help text and of a Llama 70B run are read as Megatron-LM reads them") {
  CHECK(counts("E|(t|)*3,m|m||L") == Counts{"0", "1", "1", "1", "0+1", "0+1", "0", "0"});
  const Layout llama = parse_layout("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL");
  CHECK(llama.size() == 40);
  CHECK(count_layers(llama) == 2 + 68 + 3 + 6 + 1);
  CHECK(llama[34] == ChunkBlocks{.layers = 2});
  CHECK(llama[35] == ChunkBlocks{.layers = 3});
  CHECK(counts("Ettt|(tt|)*29,m|L").size() == 32);
  CHECK(parse_layout("Et*3|(tt|)*29,m|L") == parse_layout("Ettt|(tt|)*29,m|L"));
}

TEST_CASE("A repeated group may end inside a chunk, and commas mean nothing") {
  CHECK(counts("E(t|t)*2L") == Counts{"1", "2", "1"}); // Et|tt|tL
  CHECK(counts("E,t,,*,2|,(t,)*,2,L,") == Counts{"2", "2"});
}

TEST_CASE("A bar may be repeated: the chunks between are empty") {
  CHECK(counts("Et|*3,tL") == Counts{"1", "0", "0", "1"});
}

TEST_CASE("A layout is written with repetitions where they are shorter") {
  CHECK(written("Et*10|t*11|t*11|t*9L") == "Et*10|t*11|t*11|t*9L"); // "(t*11|)*2," would be longer
  CHECK(written("Et*10|t*11|t*11|t*11|t*9L") == "Et*10|(t*11|)*3,t*9L");
  CHECK(written("Ett*2|L") == "Ettt|L");
  CHECK(written("Etttt|L") == "Et*4|L");
  CHECK(written("Et||||||L") == "Et||*5L");
  CHECK(written("E|t|t|t|m|m||L") == "E|t|t|t|m|m||L");
  CHECK(written("E|(tt|)*29,m|L") == "E|(tt|)*29,m|L");
}

TEST_CASE("The embedding comes first, the loss last, layers for multi-token prediction after the others") {
  CHECK(refusal("tt|tL").starts_with("`layout`: must start with E"));
  CHECK(refusal("|EtL").starts_with("`layout`: 'E', the embedding, must be the first letter"));
  CHECK(refusal("EtEL").starts_with("`layout`: 'E', the embedding, must be the first letter and the only E"));
  CHECK(refusal("E*2,tL").starts_with("`layout`: 'E', the embedding"));
  CHECK(refusal("Et|t").starts_with("`layout`: must end with L"));
  CHECK(refusal("Et|L|").starts_with("`layout`: must end with L"));
  CHECK(refusal("EtLt").starts_with("`layout`: 't' after 'L'"));
  CHECK(refusal("EtLL").starts_with("`layout`: more than one 'L'"));
  CHECK(refusal("EmtL").starts_with("`layout`: 't' after 'm'"));
  CHECK(refusal("E|mL").starts_with("`layout`: has no layer"));
  CHECK(refusal("").starts_with("`layout`: must start with E"));
}

TEST_CASE("Invalid parts are named with their position") {
  CHECK(refusal("Et|T|L").starts_with("`layout`: 'T' at position 4 is not understood -- E embedding, t layer"));
  CHECK(refusal("Et |L").starts_with("`layout`: ' ' at position 3"));
  CHECK(refusal("E((t|)*2)*2L") == "`layout`: '(' at position 3 is inside other parentheses -- write out one of them");
  CHECK(refusal("E(tL").starts_with("`layout`: a parenthesis is not closed"));
  CHECK(refusal("Et)L").starts_with("`layout`: ')' at position 3"));
  CHECK(refusal("E(t)L").starts_with("`layout`: parentheses without a repetition before 'L' at position 5"));
  CHECK(refusal("E()*2tL").starts_with("`layout`: nothing in parentheses"));
  CHECK(refusal("Et*").starts_with("`layout`: '*' without a number from 1 up before the end"));
  CHECK(refusal("Et*0L").starts_with("`layout`: '*' without a number from 1 up before '0' at position 4"));
  CHECK(refusal("Et*2*3L").starts_with("`layout`: '*' at position 5"));
}

TEST_CASE("A string that describes too much is refused before it takes memory") {
  CHECK(refusal("E(t*99999)*99999L").starts_with("`layout`: describes more than 1048576 letters"));
  CHECK(refusal("Et*18446744073709551615L").starts_with("`layout`: repeats '184467440737'"));
  CHECK(refusal("Et|*70000L").starts_with("`layout`: describes more than 65535 chunks"));
  CHECK(count_layers(parse_layout("Et*1048574L")) == 1048574);
}

} // namespace ppsim::test::layout_test
