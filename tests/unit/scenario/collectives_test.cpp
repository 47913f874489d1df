// Times of collectives, computed and read from what was measured.

#include "ppsim/scenario/device.hpp"
#include "ppsim/scenario/model.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::collectives_test {

using namespace std::chrono_literals;

namespace {

/// 10 us for 1000 bytes and less, 20 us for 3000, 200 us for 30000, and so on.
MeasuredCollective measured(Collective collective, std::int64_t ranks, Duration smallest = 10us) {
  return {.collective = collective,
          .ranks = ranks,
          .times = {{Bytes{1000}, smallest}, {Bytes{3000}, 20us}, {Bytes{30'000}, 200us}},
          .source = std::string{to_string(collective)} + ".txt"};
}

/// A byte a nanosecond, without latency, where nothing is measured.
LinkSheet link_of(std::vector<MeasuredCollective> tables) {
  return {.name = "round", .latency = 0ns, .bandwidth = Bandwidth{1'000'000'000}, .measured = std::move(tables)};
}

Duration gathered(const LinkSheet& link, std::int64_t ranks, std::int64_t bytes) {
  return collective_time(link, Collective::all_gather, ranks, Bytes{bytes});
}

std::vector<std::string> notes_of(const Training& training, const Model& model = find_model("gpt2-xl")) {
  std::vector<std::string> lines;
  for (const CollectiveNote& note : collective_notes(model, training))
    lines.push_back(std::string{note.field} + ": " + note.what);
  return lines;
}

} // namespace

TEST_CASE("The time of a measured collective is interpolated between neighbouring sizes") {
  const LinkSheet link = link_of({measured(Collective::all_gather, 4)});
  CHECK(gathered(link, 4, 1000) == 10us);
  CHECK(gathered(link, 4, 2000) == 15us);      // half way
  CHECK(gathered(link, 4, 12'000) == 80us);    // a third of the way from 20 us to 200 us
  CHECK(gathered(link, 4, 1) == 10us);         // below the smallest: its time
  CHECK(gathered(link, 4, 300'000) == 2000us); // above the largest: its 150 bytes a microsecond
  CHECK(gathered(link, 1, 1000) == 0ns);
  CHECK(gathered(link, 4, 0) == 0ns);
}

TEST_CASE("With other ranks, a measured collective keeps its bus bandwidth, from the nearest number of ranks") {
  const LinkSheet link = link_of({measured(Collective::all_gather, 4), measured(Collective::all_gather, 2, 2us)});
  CHECK(gathered(link, 4, 1000) == 10us);
  CHECK(gathered(link, 2, 1000) == 2us);
  CHECK(gathered(link, 16, 1000) == 12'500ns); // 15/16 to 3/4
  CHECK(gathered(link, 3, 1000) == 8'888ns);   // 2/3 to 3/4, of 4: nearer than 2
  // Not said: taken for those that are asked for, after a table that says so.
  CHECK(gathered(link_of({measured(Collective::all_gather, 0, 2us), measured(Collective::all_gather, 16)}), 16, 1000) ==
        10us);
  CHECK(gathered(link_of({measured(Collective::all_gather, 0)}), 16, 1000) == 10us);
}

TEST_CASE(
    "An all-gather takes as long as a reduce-scatter, and both as long as an all-reduce, whichever was measured") {
  const auto time = [](const LinkSheet& link, Collective collective) {
    return collective_time(link, collective, 4, Bytes{1000});
  };
  const LinkSheet gather = link_of({measured(Collective::all_gather, 4)});
  CHECK(time(gather, Collective::reduce_scatter) == 10us);
  CHECK(time(gather, Collective::all_reduce) == 20us);
  const LinkSheet both = link_of({measured(Collective::all_gather, 4), measured(Collective::reduce_scatter, 4, 13us)});
  CHECK(time(both, Collective::all_gather) == 10us);
  CHECK(time(both, Collective::reduce_scatter) == 13us);
  CHECK(time(both, Collective::all_reduce) == 23us);
  const LinkSheet reduce = link_of({measured(Collective::all_reduce, 4)});
  CHECK(time(reduce, Collective::all_reduce) == 10us);
  CHECK(time(reduce, Collective::all_gather) == 5us);
  // No other file has the time of an exchange: computed.
  CHECK(time(both, Collective::all_to_all) == 750ns);
  CHECK(time(link_of({measured(Collective::all_to_all, 4)}), Collective::all_gather) == 750ns);
}

TEST_CASE("Files replace the shipped tables of a link, which apply to collectives without a file") {
  MeasuredCollective shipped = measured(Collective::all_reduce, 4, 30us);
  shipped.source.clear();
  const auto reduced = [](const LinkSheet& link) {
    return collective_time(link, Collective::all_reduce, 4, Bytes{1000});
  };
  CHECK(reduced(link_of({measured(Collective::all_to_all, 4), shipped})) == 30us);
  CHECK(reduced(link_of({shipped, measured(Collective::all_gather, 4)})) == 20us); // two of 10 us
  CHECK(reduced(link_of({shipped, measured(Collective::all_reduce, 8)})) < 30us);
}

TEST_CASE("A layer's collectives use the measurements of their links") {
  Training training{.tensor_parallel = 4};
  training.tensor_link = link_of({});
  const auto layer = [&] { return model_costs(find_model("llama-2-7b"), find_device("a100"), training).dense_layer; };
  const std::int64_t bytes = std::int64_t{4096} * 4096 * 2; // a sample's tokens, their width, bf16
  CHECK(layer().forward_collective == 4 * Duration{bytes * 3 / 4});
  training.tensor_link = link_of({measured(Collective::all_gather, 4), measured(Collective::reduce_scatter, 8)});
  // Above the largest size; gathered around attention and FFN, and scattered, by 7/8 to 3/4 faster than on 8 ranks.
  const Duration whole{bytes * 200'000 / 30'000};
  const Duration expected = 2 * (whole + whole * 6 / 7);
  CHECK(std::chrono::abs(layer().forward_collective - expected) <= 4ns);
  training.sequence_parallel = false; // all-reduces, of both
  CHECK(std::chrono::abs(layer().forward_collective - expected) <= 4ns);
  training.data_parallel = 4;
  training.data_link = link_of({measured(Collective::reduce_scatter, 4)});
  const auto gradients = layer().gradient_bytes.count();
  CHECK(layer().reduce == Duration{gradients * 200'000 / 30'000});
  CHECK(layer().gather == Duration{layer().parameter_bytes.count() * 200'000 / 30'000});
}

TEST_CASE("Collectives that are not used as measured are noted for each link") {
  CHECK(notes_of({.tensor_parallel = 4, .tensor_link = link_of({})}).empty());
  CHECK(
      notes_of({.tensor_parallel = 4,
                .tensor_link = link_of({measured(Collective::all_gather, 4), measured(Collective::reduce_scatter, 4)})})
          .empty());
  CHECK(notes_of({.tensor_parallel = 4,
                  .sequence_parallel = false,
                  .tensor_link = link_of({measured(Collective::all_gather, 8)})}) ==
        std::vector<std::string>{"tensor-link: all-reduce is in none of its files: using two all-gathers",
                                 "tensor-link: all-gather.txt is for 8 ranks: using the same bus bandwidth for 4"});
  CHECK(notes_of({.data_parallel = 4, .data_link = link_of({measured(Collective::all_to_all, 4)})}) ==
        std::vector<std::string>{"data-link: all-gather is in none of its files: computed from round",
                                 "data-link: reduce-scatter is in none of its files: computed from round",
                                 "data-link: all-to-all.txt changes nothing: its all-to-all is not needed here"});
  CHECK(notes_of(
            {.expert_parallel = 4, .data_parallel = 4, .expert_link = link_of({measured(Collective::all_to_all, 0)})},
            find_model("deepseek-v3")) ==
        std::vector<std::string>{"expert-link: all-to-all.txt does not say how many ranks it is for: assuming 4"});
  // A shipped table is not a file of a user's.
  LinkSheet shipped = link_of({measured(Collective::all_reduce, 2)});
  shipped.measured.front().source.clear();
  CHECK(notes_of({.tensor_parallel = 4, .tensor_link = shipped}).empty());
}

TEST_CASE("All-reduces over nvlink3 take what vTrain's tables say, on 8 from 0.07 to 0.76 of the datasheet") {
  const LinkSheet& link = find_link("nvlink3");
  const auto share = [&](std::int64_t bytes) {
    const Duration time = collective_time(link, Collective::all_reduce, 8, Bytes{bytes});
    return 2 * 7.0 / 8 * static_cast<double>(bytes) / static_cast<double>(time.count()) / 300;
  };
  CHECK(collective_time(link, Collective::all_reduce, 8, Bytes{1 << 20}) == 92'500ns);
  CHECK(collective_time(link, Collective::all_gather, 2, Bytes{1 << 20}) == 22'350ns); // half of it
  CHECK(share(1 << 20) == Approx(0.07).epsilon(0.1));
  CHECK(share(64 << 20) == Approx(0.68).epsilon(0.01));
  CHECK(share(1 << 30) == Approx(0.76).epsilon(0.01));
}

} // namespace ppsim::test::collectives_test
