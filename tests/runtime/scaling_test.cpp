// Scaling: operations counted by hand and as the processor's device does them; the times that follow.

#include "ppsim/runtime/scaling.hpp"

#include <catch2/catch.hpp>

#include "runtime/host/host_branch.hpp"
#include "runtime/host_chunk.hpp"

namespace ppsim::test::scaling_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

// Products as they are asked for.
class CountingMatrices final : public MatrixLibrary {
public:
  [[nodiscard]] const std::string& description() const override { return name_; }
  void multiply(const Product& product) const override {
    counted_ += static_cast<std::int64_t>(2 * product.rows * product.columns * product.inner);
    built_in_matrices().multiply(product);
  }
  [[nodiscard]] std::int64_t take() const { return std::exchange(counted_, 0); }

private:
  std::string name_ = "counting";
  mutable std::int64_t counted_ = 0;
};

Operations counted(const Workload& workload) {
  const CountingMatrices library;
  const auto device = make_host_device(workload, library);
  const HostWeights weights{*device};
  HostBuffers passage{*device};
  device->make_input(MicrobatchId{0}, passage.x.get());
  Operations found;
  static_cast<void>(library.take());
  device->forward(weights.parameters.get(), passage.x.get(), passage.y.get(), passage.stash());
  found.forward = library.take();
  device->loss(MicrobatchId{0}, passage.y.get(), passage.stash());
  CHECK(library.take() == 0);
  device->input_grad(weights.parameters.get(), nullptr, passage.dx.get(), passage.stash());
  found.input_grad = library.take();
  device->weight_grad(passage.stash(), weights.gradients.get());
  found.weight_grad = library.take();
  return found;
}

constexpr Workload mlp{.tokens = 8, .width = 16};
constexpr Workload transformer{.block = Block::transformer, .tokens = 8, .width = 16, .heads = 2};

Workload with(Workload workload, std::size_t Workload::*size, std::size_t value) {
  workload.*size = value;
  return workload;
}

} // namespace

TEST_CASE("The operations of an mlp are those of its two products", "[scaling]") {
  // 8 x 16 by 16 x 64, and 8 x 64 by 64 x 16: 2 * 8 * 16 * 64 each
  CHECK(operations(mlp) == Operations{32768, 32768, 32768});
  CHECK(operations(with(mlp, &Workload::layers, 3)) == Operations{98304, 98304, 98304});
}

TEST_CASE("The operations of a transformer include the products of attention", "[scaling]") {
  // The mlp's 32768; 8 x 16 by 16 x 48: 12288; 8 x 16 by 16 x 16: 4096. Two products of 2 heads, 8 x 8 x 8 each: 4096,
  // and in I twice that.
  CHECK(operations(transformer) == Operations{53248, 57344, 49152});
  CHECK(operations(with(transformer, &Workload::heads, 4)) == operations(transformer));
}

TEST_CASE("Counted operations equal those of the host device", "[scaling]") {
  for (const Workload& workload :
       {mlp, transformer, with(mlp, &Workload::layers, 2), with(transformer, &Workload::layers, 3),
        with(transformer, &Workload::tokens, 24), with(transformer, &Workload::heads, 8)}) {
    INFO(in_words(workload));
    CHECK(operations(workload) == counted(workload));
  }
}

TEST_CASE("Times of an mlp grow with its tokens, its layers and the square of its width", "[scaling]") {
  const Scaling tokens = scaling(mlp, with(mlp, &Workload::tokens, 16));
  const Scaling width = scaling(mlp, with(mlp, &Workload::width, 32));
  const Scaling layers = scaling(mlp, with(mlp, &Workload::layers, 3));
  for (Ratio Scaling::*task : {&Scaling::forward, &Scaling::input_grad, &Scaling::weight_grad, &Scaling::backward}) {
    CHECK(value_of(tokens.*task) == 2);
    CHECK(value_of(width.*task) == 4);
    CHECK(value_of(layers.*task) == 3);
  }
  CHECK(value_of(tokens.optimizer) == 1);
  CHECK(value_of(width.optimizer) == 4);
  CHECK(value_of(layers.optimizer) == 3);
}

TEST_CASE("Times of attention grow with the square of the tokens, those of W do not", "[scaling]") {
  const Scaling tokens = scaling(transformer, with(transformer, &Workload::tokens, 16));
  CHECK(value_of(tokens.forward) == Approx((2 * 49152 + 4 * 4096) / 53248.0));
  CHECK(value_of(tokens.input_grad) == Approx((2 * 49152 + 4 * 8192) / 57344.0));
  CHECK(value_of(tokens.weight_grad) == 2);
  CHECK(value_of(tokens.backward) == Approx((4 * 49152 + 4 * 8192) / 106496.0));
  CHECK(value_of(tokens.optimizer) == 1);
  const Scaling width = scaling(transformer, with(transformer, &Workload::width, 32));
  CHECK(value_of(width.forward) == Approx((4 * 49152 + 2 * 4096) / 53248.0));
  CHECK(value_of(width.weight_grad) == 4);
}

TEST_CASE("The optimizer step grows with the parameters", "[scaling]") {
  for (const Workload& other : {with(transformer, &Workload::tokens, 24), with(transformer, &Workload::width, 64),
                                with(transformer, &Workload::layers, 5)}) {
    const Ratio found = scaling(transformer, other).optimizer;
    CHECK(found.part == static_cast<std::int64_t>(host_sizes(other).parameters));
    CHECK(found.whole == static_cast<std::int64_t>(host_sizes(transformer).parameters));
  }
}

TEST_CASE("Scaled times are rounded, exact for equal workloads, and at most the longest input", "[scaling]") {
  CHECK(scaled(10ns, {1, 3}) == Duration{3});
  CHECK(scaled(10ns, {3, 4}) == Duration{8}); // half up
  CHECK(scaled(0ns, {1000, 1}) == Duration{0});
  CHECK(scaled(123'456'789ns, {49152, 49152}) == Duration{123'456'789});
  CHECK(scaled(24h, {1, 1}) == max_duration);
  CHECK_FALSE(scaled(24h, {1'000'000'001, 1'000'000'000}));
  CHECK_FALSE(scaled(24h, {std::int64_t{1} << 59, 1}));
}

TEST_CASE("The operations of the largest workload are in range", "[scaling]") {
  // As much as a chunk may take: with more layers the processor's device refuses it.
  const Workload widest{.tokens = most_rows, .width = most_rows, .layers = 32};
  CHECK(host_sizes(widest).parameters > 0);
  CHECK(operations(widest).forward == std::int64_t{16 * 32} << 48);
  const Workload longest{.block = Block::transformer, .tokens = most_rows, .width = 256, .heads = 1, .layers = 900};
  CHECK(host_sizes(longest).parameters > 0);
  CHECK(operations(longest).input_grad == 900 * ((std::int64_t{24} << 32) + (std::int64_t{8} << 40)));
}

} // namespace ppsim::test::scaling_test
