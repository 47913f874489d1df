// The links of a model's collectives: which ranks share a node, and what those on several nodes use.

#include "ppsim/scenario/model.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace ppsim::test::ranks_test {

using namespace std::chrono_literals;

TEST_CASE("Tensor-parallel ranks that do not fit into a node use the network of their devices on each") {
  Training training{.tensor_parallel = 16};
  const auto collective_on = [&](const char* device) {
    return model_costs(find_model("llama-3-405b"), find_device(device), training).dense_layer.forward_collective;
  };
  const auto four_exchanges = [](const LinkSheet& link) {
    return 4 * exchange_time(link, 16, Bytes{8192 * 16384 * 2});
  };
  const auto far = [](std::int64_t bandwidth) { return LinkSheet{.latency = 30us, .bandwidth = Bandwidth{bandwidth}}; };
  // ib-ndr reaches 40 GB/s of 50; NVLink 4 369 of 450, and 160 of 200 on an H800.
  CHECK(collective_on("h100") == four_exchanges(far(320'000'000'000)));
  CHECK(collective_on("h800") == four_exchanges(far(160'000'000'000)));
  training.gpus_per_node = 12; // 8 on each
  CHECK(collective_on("h100") == four_exchanges(far(320'000'000'000)));
  training.gpus_per_node = 7; // 4 on each
  CHECK(collective_on("h100") == four_exchanges(far(160'000'000'000)));
  training.gpus_per_node = 72;
  CHECK(collective_on("h100") == four_exchanges(find_link("nvlink4")));
  training.gpus_per_node = {};
  training.link_ppm = 900'000;
  CHECK(collective_on("h100") == four_exchanges(far(288'000'000'000)));
  training.tensor_link = find_link("ib-hdr");
  training.link_ppm = whole_share;
  CHECK(collective_on("h100") == four_exchanges(find_link("ib-hdr")));
}

TEST_CASE("Ranks with the same parameters use the node's link in a node, and their devices' network between nodes") {
  const auto reduce_of = [](const char* model, const Training& training) {
    const ModelCosts costs = model_costs(find_model(model), find_device("h100"), training);
    return (costs.moe_layer.parameters > 0 ? costs.moe_layer : costs.dense_layer).reduce;
  };
  const auto exchange = [](std::int64_t ranks, const LinkSheet& link, std::int64_t parameters) {
    return exchange_time(link, ranks, Bytes{4 * parameters});
  };
  const LinkSheet node = find_link("nvlink4"), network = find_link("ib-ndr");
  const auto networks = [](std::int64_t bandwidth) {
    return LinkSheet{.latency = 30us, .bandwidth = Bandwidth{bandwidth}};
  };
  const std::int64_t layer = 218'112'000; // of llama-3-8b
  const auto dense = [&](const Training& training) { return reduce_of("llama-3-8b", training); };
  const auto split = [&](std::int64_t tensor) { // norms are on every rank
    return (layer - 8192) / tensor + 8192;
  };
  CHECK(dense({.data_parallel = 8}) == exchange(8, node, layer));
  CHECK(dense({.tensor_parallel = 2, .context_parallel = 2, .data_parallel = 2}) == exchange(4, node, split(2)));
  CHECK(dense({.data_parallel = 16}) == exchange(16, networks(320'000'000'000), layer));
  CHECK(dense({.data_parallel = 12}) == exchange(12, networks(240'000'000'000), layer)); // 6 on each
  CHECK(dense({.tensor_parallel = 4, .data_parallel = 4}) == exchange(4, networks(80'000'000'000), split(4)));
  CHECK(dense({.tensor_parallel = 8, .data_parallel = 4}) == exchange(4, network, split(8)));
  CHECK(dense({.data_parallel = 16, .gpus_per_node = 72}) == exchange(16, node, layer));
  CHECK(dense({.data_parallel = 8, .data_link = network}) == exchange(8, network, layer));
  CHECK(dense({.tensor_parallel = 4, .data_parallel = 3}) == exchange(3, networks(40'000'000'000), split(4)));
  CHECK(dense({.data_parallel = 13}) == exchange(13, network, layer));
  const LinkSheet limited = networks(node.reached_bandwidth().bytes_per_second()); // 64 networks would be faster
  CHECK(dense({.data_parallel = 128, .gpus_per_node = 72}) == exchange(128, limited, layer));
  CHECK(dense({.data_parallel = 8, .tensor_link = network}) == exchange(8, node, layer));
  CHECK(dense({.data_parallel = 8, .distributed_optimizer = false}) == 2 * exchange(8, node, layer));

  // Every expert is on data_parallel / expert_parallel ranks, expert_parallel devices apart.
  const auto moe = [&](std::int64_t data, std::int64_t expert) {
    return reduce_of("deepseek-v3", {.expert_parallel = expert, .data_parallel = data});
  };
  const std::int64_t experts = 256LL * 3 * 7168 * 2048;
  const auto kept = [&](std::int64_t data, std::int64_t expert, const LinkSheet& link, const LinkSheet& between) {
    return exchange(data, link,
                    model_costs(find_model("deepseek-v3"), find_device("h100"), {}).moe_layer.parameters - experts) +
           exchange(data / expert, between, experts / expert);
  };
  CHECK(moe(8, 2) == kept(8, 2, node, node));
  CHECK(moe(16, 8) == kept(16, 8, networks(320'000'000'000), network));
  CHECK(moe(8, 1) == kept(8, 1, node, node));
  CHECK(moe(16, 4) == kept(16, 4, networks(320'000'000'000), networks(80'000'000'000)));
}

TEST_CASE("Ranks with the same experts skip those with others, and larger nodes never slow ranks down") {
  const Training::Ranks ranks =
      Training{.tensor_parallel = 4, .expert_parallel = 2, .expert_tensor_parallel = 2, .data_parallel = 4}
          .expert_data_ranks();
  CHECK(ranks.count == 4);
  CHECK(ranks.stride == 4);
  const LinkSheet node = find_link("nvlink4");
  for (const std::int64_t stride : {1, 2, 3, 4, 8})
    for (std::int64_t count = 1; count <= 40; ++count) {
      std::int64_t before = 0;
      for (std::int64_t devices = 1; devices <= 80; ++devices) {
        const LinkSheet link = Training{.gpus_per_node = devices}.link_between({count, stride}, node);
        const std::int64_t bandwidth = link.reached_bandwidth().bytes_per_second();
        CAPTURE(stride, count, devices);
        REQUIRE(bandwidth >= before);
        REQUIRE((link == node) == (count * stride <= devices || count == 1));
        before = bandwidth;
      }
    }
}

TEST_CASE("Rings that gather a sequence between nodes use the network of their devices on each, others of one") {
  const auto exchanged = [](const Training& training) {
    return model_costs(find_model("llama-3-8b"), find_device("h100"), training).dense_layer.forward_collective;
  };
  const auto bytes = [](std::int64_t heads, std::int64_t ranks) { return Bytes{2 * heads * 128 * 8192 / ranks}; };
  const LinkSheet far{.latency = 30us, .bandwidth = Bandwidth{320'000'000'000}};
  CHECK(exchanged({.context_parallel = 8, .context_exchange = ContextExchange::all_gather}) ==
        exchange_time(find_link("nvlink4"), 8, bytes(16, 1)));
  CHECK(exchanged({.context_parallel = 16, .context_exchange = ContextExchange::all_gather}) ==
        exchange_time(far, 16, bytes(16, 1)));
  CHECK(exchanged({.context_parallel = 8, .gpus_per_node = 4, .context_exchange = ContextExchange::a2a}) ==
        exchange_time(find_link("ib-ndr"), 8, bytes(32 + 32 + 16, 8)));
}

TEST_CASE("All links of a training can be scaled") {
  const auto layer_of = [](Training training, std::int64_t link_ppm) {
    training.link_ppm = link_ppm;
    return model_costs(find_model("deepseek-v3"), find_device("h800"), training).moe_layer;
  };
  const auto is_slower = [&](const Training& training) {
    const BlockCosts fast = layer_of(training, whole_share);
    const BlockCosts slow = layer_of(training, whole_share / 2);
    return slow.forward > fast.forward || slow.forward_collective > fast.forward_collective;
  };
  CHECK_FALSE(is_slower({}));
  CHECK(is_slower({.tensor_parallel = 2}));
  CHECK(is_slower({.context_parallel = 16}));
  CHECK(is_slower({.context_parallel = 16, .context_link = find_link("ib-hdr")}));
  CHECK(is_slower({.expert_parallel = 4, .data_parallel = 4}));
  CHECK(is_slower({.expert_parallel = 64, .data_parallel = 64}));
  CHECK(is_slower({.expert_parallel = 64, .data_parallel = 64, .expert_link = find_link("ib-hdr")}));
}

} // namespace ppsim::test::ranks_test
