// The processor as a device: its tasks against formulas in double and their finite differences; memory, optimizers and
// time.

#include "ppsim/base/error.hpp"
#include "ppsim/runtime/seeded.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "runtime/host/host_branch.hpp"
#include "runtime/host_chunk.hpp"

namespace ppsim::test::host_device_test {

namespace {

using namespace runtime;
using namespace std::chrono_literals;

// A chunk as the formulas say, in double, by single numbers.
class Formula {
public:
  explicit Formula(const Workload& workload) : w_{workload} {}

  [[nodiscard]] std::vector<double> forward(const std::vector<double>& parameters, std::vector<double> x) const {
    const double* next = parameters.data();
    for (std::size_t layer = 0; layer < w_.layers; ++layer) {
      if (w_.block == Block::transformer) {
        x = plus(x, attention(next, normed(x)));
        next += 4 * w_.width * w_.width;
      }
      x = plus(x, mlp(next, normed(x)));
      next += 8 * w_.width * w_.width;
    }
    return x;
  }

private:
  using Row = std::vector<double>;

  static Row plus(Row a, const Row& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  [[nodiscard]] Row product(const Row& x, const double* matrix, std::size_t inner, std::size_t columns) const {
    Row y(w_.tokens * columns);
    for (std::size_t token = 0; token < w_.tokens; ++token)
      for (std::size_t k = 0; k < inner; ++k)
        for (std::size_t column = 0; column < columns; ++column)
          y[token * columns + column] += x[token * inner + k] * matrix[k * columns + column];
    return y;
  }
  [[nodiscard]] Row normed(Row x) const {
    for (std::size_t token = 0; token < w_.tokens; ++token) {
      double* row = x.data() + token * w_.width;
      const double mean = std::accumulate(row, row + w_.width, 0.0) / static_cast<double>(w_.width);
      double squares = 0;
      for (std::size_t i = 0; i < w_.width; ++i) squares += (row[i] - mean) * (row[i] - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(w_.width) + 1e-5);
      for (std::size_t i = 0; i < w_.width; ++i) row[i] = (row[i] - mean) / deviation;
    }
    return x;
  }
  [[nodiscard]] Row mlp(const double* parameters, const Row& n) const {
    Row hidden = product(n, parameters, w_.width, 4 * w_.width);
    for (double& a : hidden) a = 0.5 * a * (1 + std::tanh(std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
    return product(hidden, parameters + 4 * w_.width * w_.width, 4 * w_.width, w_.width);
  }
  [[nodiscard]] Row attention(const double* parameters, const Row& n) const {
    const Row qkv = product(n, parameters, w_.width, 3 * w_.width);
    const std::size_t depth = w_.width / w_.heads;
    const auto at = [&](std::size_t which, std::size_t token, std::size_t column) {
      return qkv[token * 3 * w_.width + which * w_.width + column];
    };
    Row mixed(w_.tokens * w_.width);
    for (std::size_t first = 0; first < w_.width; first += depth) {
      for (std::size_t token = 0; token < w_.tokens; ++token) {
        Row weights(token + 1); // causal: tokens up to its own
        for (std::size_t other = 0; other <= token; ++other) {
          for (std::size_t i = first; i < first + depth; ++i) weights[other] += at(0, token, i) * at(1, other, i);
          weights[other] = std::exp(weights[other] / std::sqrt(static_cast<double>(depth)));
        }
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t other = 0; other <= token; ++other)
          for (std::size_t i = first; i < first + depth; ++i)
            mixed[token * w_.width + i] += weights[other] / sum * at(2, other, i);
      }
    }
    return product(mixed, parameters + 3 * w_.width * w_.width, w_.width, w_.width);
  }

  Workload w_;
};

std::vector<double> as_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Slope of `f` along each of the numbers. In double, with a step of 1e-5, wrong by about 1e-10.
std::vector<double> slopes(std::vector<double> at, const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> result;
  for (double& number : at) {
    const double before = number;
    number = before + 1e-5;
    const double above = f(at);
    number = before - 1e-5;
    result.push_back((above - f(at)) / 2e-5);
    number = before;
  }
  return result;
}

// Largest difference relative to the largest expected number; 1e9 if there is no number.
double relative_error(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(double{found[i]} - expected[i]);
    difference = std::isfinite(error) ? std::max(difference, error) : 1e9;
    largest = std::max(largest, std::abs(expected[i]));
  }
  REQUIRE(largest > 0);
  return difference / largest;
}

void draw(const Numbers& numbers, std::uint32_t key) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers.begin()[i] = seeded_value(key, static_cast<std::uint32_t>(i));
}

// Fills the device's workspace with NaN afterwards.
void spoil_scratch(Device& device) {
  HostWeights weights{device};
  HostBuffers buffers{device};
  buffers.x.fill(0xff);
  buffers.dy.fill(0xff);
  device.forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  device.input_grad(weights.parameters.get(), buffers.dy.get(), nullptr, buffers.stash());
}

struct Results {
  std::vector<float> y, dx, gradients;
  bool operator==(const Results&) const = default;
};

// F, I and W of one microbatch, with everything that is written before it is read set to NaN, and what W does not need
// gone before W.
Results run_tasks(Device& device, const HostWeights& weights, HostBuffers& buffers) {
  spoil_scratch(device);
  buffers.fill(0xff);
  device.make_input(MicrobatchId{3}, buffers.x.get());
  draw(buffers.dy, 77);
  device.zero_gradients(weights.gradients.get());
  device.forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  device.input_grad(weights.parameters.get(), buffers.dy.get(), buffers.dx.get(), buffers.stash());
  Results results{buffers.y.values(), buffers.dx.values(), {}};
  for (Numbers* gone : {&buffers.for_input, &buffers.x, &buffers.y, &buffers.dy, &buffers.dx}) gone->fill(0xff);
  device.weight_grad({nullptr, buffers.for_weight.get()}, weights.gradients.get());
  results.gradients = weights.gradients.values();
  return results;
}

std::vector<Workload> small_workloads() {
  return {{.tokens = 5, .width = 6, .layers = 1},
          {.tokens = 3, .width = 17, .layers = 2},
          {.block = Block::transformer, .tokens = 7, .width = 6, .heads = 2, .layers = 1},
          {.block = Block::transformer, .tokens = 5, .width = 6, .heads = 3, .layers = 2},
          {.block = Block::transformer, .tokens = 1, .width = 4, .heads = 1, .layers = 1}};
}

std::vector<const MatrixLibrary*> libraries() {
  std::vector<const MatrixLibrary*> result{&built_in_matrices()};
  if (installed_matrices() != nullptr) result.push_back(installed_matrices());
  return result;
}

} // namespace

TEST_CASE("F computes its formula, I and W its derivatives, with either matrix library", "[host]") {
  for (const MatrixLibrary* library : libraries()) {
    for (const Workload& workload : small_workloads()) {
      CAPTURE(library->description(), in_words(workload));
      const auto device = make_host_device(workload, *library);
      HostWeights weights{*device};
      HostBuffers buffers{*device};
      // Larger than the initial ones, so that every branch matters as much as the residual.
      draw(weights.parameters, 5);
      const Results found = run_tasks(*device, weights, buffers);

      const Formula formula{workload};
      device->make_input(MicrobatchId{3}, buffers.x.get());
      draw(buffers.dy, 77);
      const std::vector<double> parameters = as_double(weights.parameters.values());
      const std::vector<double> x = as_double(buffers.x.values());
      const std::vector<double> dy = as_double(buffers.dy.values());
      const auto along_dy = [&](const std::vector<double>& y) {
        return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
      };
      // fp32 rounds by 6e-8; errors found here are at most 4.4e-7.
      constexpr double tolerance = 2e-6;
      CHECK(relative_error(found.y, formula.forward(parameters, x)) < tolerance);
      CHECK(relative_error(found.dx, slopes(x, [&](const auto& at) {
                             return along_dy(formula.forward(parameters, at));
                           })) < tolerance);
      CHECK(relative_error(found.gradients, slopes(parameters, [&](const auto& at) {
                             return along_dy(formula.forward(at, x));
                           })) < tolerance);
    }
  }
}

TEST_CASE("Both matrix libraries agree except for rounding, at realistic sizes", "[host]") {
  if (installed_matrices() == nullptr) return;
  for (const Block block : {Block::mlp, Block::transformer}) {
    const Workload workload{.block = block, .tokens = 130, .width = 96, .heads = 4, .layers = 2};
    Results results[2];
    for (std::size_t which = 0; which < 2; ++which) {
      const auto device = make_host_device(workload, *libraries()[which]);
      const HostWeights weights{*device};
      HostBuffers buffers{*device};
      results[which] = run_tasks(*device, weights, buffers);
    }
    CHECK(relative_error(results[0].y, as_double(results[1].y)) < 1e-5);
    CHECK(relative_error(results[0].dx, as_double(results[1].dx)) < 1e-5);
    CHECK(relative_error(results[0].gradients, as_double(results[1].gradients)) < 1e-5);
  }
}

TEST_CASE("Tasks give equal bits in every run, on every device and in any memory", "[host]") {
  for (const MatrixLibrary* library : libraries()) {
    for (const Block block : {Block::mlp, Block::transformer}) {
      const Workload workload{.block = block, .tokens = 33, .width = 40, .heads = 2, .layers = 2};
      const auto device = make_host_device(workload, *library);
      const HostWeights weights{*device};
      HostBuffers buffers{*device};
      const Results first = run_tasks(*device, weights, buffers);
      CHECK(run_tasks(*device, weights, buffers) == first);
      const auto other = make_host_device(workload, *library);
      const HostWeights other_weights{*other};
      HostBuffers other_passage{*other};
      CHECK(run_tasks(*other, other_weights, other_passage) == first);
    }
  }
}

TEST_CASE("W can run after other microbatches and adds the same gradients", "[host]") {
  for (const Block block : {Block::mlp, Block::transformer}) {
    const auto device = make_host_device({.block = block, .tokens = 6, .width = 8, .heads = 2, .layers = 2});
    HostWeights weights{*device};
    HostBuffers first{*device};
    HostBuffers second{*device};
    const auto forward_and_input_grad = [&](HostBuffers& buffers, std::size_t microbatch) {
      device->make_input(make_id<MicrobatchId>(microbatch), buffers.x.get());
      draw(buffers.dy, static_cast<std::uint32_t>(microbatch));
      device->forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
      device->input_grad(weights.parameters.get(), buffers.dy.get(), buffers.dx.get(), buffers.stash());
    };
    forward_and_input_grad(first, 0);
    device->weight_grad(first.stash(), weights.gradients.get());
    forward_and_input_grad(second, 1);
    device->weight_grad(second.stash(), weights.gradients.get());
    const std::vector<float> at_once = weights.gradients.values();

    device->zero_gradients(weights.gradients.get());
    forward_and_input_grad(first, 0);
    forward_and_input_grad(second, 1);
    weights.parameters.fill(0xff); // W needs no parameters
    device->weight_grad(first.stash(), weights.gradients.get());
    device->weight_grad(second.stash(), weights.gradients.get());
    CHECK(weights.gradients.values() == at_once);
  }
}

TEST_CASE("The gradient of x is the same whether it is requested or not", "[host]") {
  const auto device = make_host_device({.block = Block::transformer, .tokens = 6, .width = 8, .heads = 2});
  HostWeights weights{*device};
  HostBuffers buffers{*device};
  const Results wanted = run_tasks(*device, weights, buffers);
  device->make_input(MicrobatchId{3}, buffers.x.get());
  draw(buffers.dy, 77);
  device->forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  device->input_grad(weights.parameters.get(), buffers.dy.get(), nullptr, buffers.stash());
  device->zero_gradients(weights.gradients.get());
  device->weight_grad(buffers.stash(), weights.gradients.get());
  CHECK(weights.gradients.values() == wanted.gradients);
}

TEST_CASE("The loss is half the mean squared distance from the target, and I finds its gradient", "[host]") {
  constexpr Workload workload{.tokens = 3, .width = 10, .seed = 9};
  const auto device = make_host_device(workload);
  HostWeights weights{*device};
  HostBuffers buffers{*device};
  buffers.fill(0xff);
  device->make_input(MicrobatchId{2}, buffers.x.get());
  std::vector<float> target;
  for (std::size_t i = 0; i < buffers.x.size(); ++i)
    target.push_back(target_value(buffers.x.begin()[i], target_shift(target_key(9), i % 10)));

  device->begin_step();
  buffers.y.write(target);
  device->loss(MicrobatchId{2}, buffers.y.get(), buffers.stash());
  CHECK(device->losses() == 0);
  for (float& number : target) number += 0.5F;
  buffers.y.write(target);
  device->loss(MicrobatchId{2}, buffers.y.get(), buffers.stash());
  CHECK(device->losses() == Approx(0.125)); // 0.5^2 / 2
  device->loss(MicrobatchId{2}, buffers.y.get(), buffers.stash());
  CHECK(device->losses() == Approx(0.25)); // a sum over microbatches
  device->begin_step();
  CHECK(device->losses() == 0);

  // Gradient: (y - target) / elements = 0.5 / 30, as if it had been sent.
  device->forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  buffers.y.write(target);
  device->loss(MicrobatchId{2}, buffers.y.get(), buffers.stash());
  device->input_grad(weights.parameters.get(), nullptr, buffers.dx.get(), buffers.stash());
  const std::vector<float> from_loss = buffers.dx.values();
  device->forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  buffers.dy.write(std::vector<float>(30, 0.5F / 30));
  device->input_grad(weights.parameters.get(), buffers.dy.get(), buffers.dx.get(), buffers.stash());
  CHECK(relative_error(from_loss, as_double(buffers.dx.values())) < 1e-5);
}

TEST_CASE("Inputs differ by microbatch, are the same in every step, and have mean 0 and variance 1", "[host]") {
  const auto device = make_host_device({.tokens = 100, .width = 100});
  HostBuffers buffers{*device};
  device->make_input(MicrobatchId{0}, buffers.x.get());
  const std::vector<float> first = buffers.x.values();
  device->make_input(MicrobatchId{1}, buffers.x.get());
  CHECK(buffers.x.values() != first);
  device->make_input(MicrobatchId{0}, buffers.x.get());
  CHECK(buffers.x.values() == first);
  const double mean = std::accumulate(first.begin(), first.end(), 0.0) / 10000;
  const double squares = std::inner_product(first.begin(), first.end(), first.begin(), 0.0) / 10000;
  CHECK(std::abs(mean) < 0.04); // four deviations of 0.01
  CHECK(squares == Approx(1).margin(0.04));
}

TEST_CASE("A chunk starts equal on every stage that holds it, and different from every other chunk", "[host]") {
  const Workload workload{.block = Block::transformer, .tokens = 4, .width = 16, .heads = 2, .layers = 2};
  const auto device = make_host_device(workload);
  const auto other = make_host_device(workload);
  const std::vector<float> parameters = HostWeights{*device, ChunkId{1}}.parameters.values();
  CHECK(HostWeights{*other, ChunkId{1}}.parameters.values() == parameters);
  CHECK(HostWeights{*other, ChunkId{0}}.parameters.values() != parameters);
  Workload reseeded = workload;
  reseeded.seed = 2;
  CHECK(HostWeights{*make_host_device(reseeded), ChunkId{1}}.parameters.values() != parameters);
  // Two layers, each of four matrices: no two begin alike.
  const std::size_t layer = parameters.size() / 2;
  CHECK(std::vector<float>(parameters.begin(), parameters.begin() + 256) !=
        std::vector<float>(parameters.begin() + static_cast<std::ptrdiff_t>(layer),
                           parameters.begin() + static_cast<std::ptrdiff_t>(layer) + 256));
  // Wqkv has 16 rows: uniform in +-sqrt(3/16); W2 has 64, and begins at a fifth of sqrt(3/64).
  const auto largest = [&](std::size_t from, std::size_t count) {
    float result = 0;
    for (std::size_t i = from; i < from + count; ++i) result = std::max(result, std::abs(parameters[i]));
    return double{result};
  };
  CHECK(largest(0, 768) == Approx(std::sqrt(3.0 / 16)).epsilon(0.02));
  CHECK(largest(layer - 1024, 1024) == Approx(0.2 * std::sqrt(3.0 / 64)).epsilon(0.02));
}

TEST_CASE("Sizes follow from the layout", "[host]") {
  // T w = 8: output gradient, norm(x), and 4 + 4 times of the hidden ones; per row a deviation.
  const ChunkSizes mlp = host_sizes({.tokens = 2, .width = 4, .layers = 3});
  CHECK(mlp.parameters == 3 * 2 * 4 * 16);
  CHECK(mlp.parameter_bytes == Bytes{4 * 384});
  CHECK(mlp.gradient_bytes == Bytes{4 * 384});
  CHECK(mlp.optimizer_bytes == Bytes{0});
  CHECK(mlp.stash_for_weight == Bytes{4 * 3 * 10 * 8});
  CHECK(mlp.stash_for_input == Bytes{4 * 3 * 2});
  CHECK(mlp.boundary == Bytes{32});
  CHECK(mlp.scratch == Bytes{4 * (8 + 4 * 8)});

  const ChunkSizes transformer = host_sizes({.block = Block::transformer,
                                             .tokens = 2,
                                             .width = 4,
                                             .heads = 2,
                                             .layers = 1,
                                             .optimizer = OptimizerKind::adam});
  CHECK(transformer.parameters == 12 * 16);
  CHECK(transformer.optimizer_bytes == Bytes{2 * 4 * 192});
  CHECK(transformer.stash_for_weight == Bytes{4 * (6 + 10) * 8});
  CHECK(transformer.stash_for_input == Bytes{4 * (2 + 2 + 2 * 4)}); // two heads of probabilities
  CHECK(make_host_device({.tokens = 2, .width = 4, .layers = 3})->sizes() == mlp);
}

TEST_CASE("An invalid workload is refused with all its problems", "[host]") {
  const auto refused = [](const Workload& workload) -> std::size_t {
    try {
      (void)host_sizes(workload);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return error.problems().size();
    }
    return 0;
  };
  CHECK(refused({.tokens = 0, .width = 70000, .layers = 0, .learning_rate = std::nan("")}) == 4);
  CHECK(refused({.block = Block::transformer, .width = 10, .heads = 4}) == 1);
  CHECK(refused({.block = Block::transformer, .width = 10, .heads = 0}) == 1);
  CHECK(refused({.block = Block::mlp, .width = 10, .heads = 4}) == 0); // an mlp has no heads
  CHECK_THROWS_AS(make_host_device({.tokens = 0}), Error);
}

TEST_CASE("Memory is aligned, and released memory is reused for the next allocation of its size", "[host]") {
  const auto device = make_host_device({.tokens = 2, .width = 4});
  CHECK(device->allocate(Bytes{0}) == nullptr);
  device->release(nullptr, Bytes{0});
  void* first = device->allocate(Bytes{100});
  void* second = device->allocate(Bytes{100});
  CHECK(first != second);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(second) % 64 == 0);
  device->release(first, Bytes{100});
  void* other_size = device->allocate(Bytes{104});
  CHECK(other_size != first);
  CHECK(device->allocate(Bytes{100}) == first);
  for (void* block : {first, second}) device->release(block, Bytes{100});
  device->release(other_size, Bytes{104});
}

TEST_CASE("The optimizers follow their papers", "[host]") {
  constexpr std::size_t microbatches = 4;
  Workload workload{.tokens = 1, .width = 1, .learning_rate = 0.5}; // 8 parameters
  {
    const auto device = make_host_device(workload);
    const HostWeights weights{*device};
    const std::vector<float> before = device->read_parameters(weights.state());
    device->write_gradients(weights.state(), {1, 2, 3, 4, 5, 6, 7, -8});
    device->optimizer_step(weights.state(), 1, microbatches);
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(weights.parameters.begin()[i] ==
            Approx(before[i] - 0.125F * device->read_gradients(weights.state())[i]).margin(1e-6));
  }
  workload.optimizer = OptimizerKind::adam;
  const auto device = make_host_device(workload);
  const HostWeights weights{*device};
  const double before = weights.parameters.begin()[0];
  device->write_gradients(weights.state(), {8, 1, 1, 1, 1, 1, 1, 0});
  device->optimizer_step(weights.state(), 1, microbatches);
  // Mean gradient 2: the first step goes the learning rate against its sign.
  CHECK(double{weights.parameters.begin()[0]} == Approx(before - 0.5).margin(1e-5));
  device->write_gradients(weights.state(), {-4, 1, 1, 1, 1, 1, 1, 0});
  device->optimizer_step(weights.state(), 2, microbatches);
  // Mean gradient -1: m = 0.9 * 0.2 - 0.1 = 0.08, v = 0.999 * 0.004 + 0.001 = 0.004996; corrected by 0.19 and 0.001999.
  const double step = 0.5 * (0.08 / 0.19) / std::sqrt(0.004996 / 0.001999);
  CHECK(double{weights.parameters.begin()[0]} == Approx(before - 0.5 - step).margin(1e-5));
}

TEST_CASE("Gradients of two replicas are added", "[host]") {
  const auto device = make_host_device({.tokens = 1, .width = 1});
  const HostWeights mine{*device};
  const HostWeights theirs{*device};
  device->write_gradients(theirs.state(), {10, 20, 30, 40, 50, 60, 70, 80});
  for (const bool others_first : {false, true}) {
    device->write_gradients(mine.state(), {1, 2, 3, 4, 5, 6, 7, 8});
    device->add_gradients(mine.gradients.get(), theirs.gradients.get(), others_first);
    CHECK(device->read_gradients(mine.state()) == std::vector<float>{11, 22, 33, 44, 55, 66, 77, 88});
  }
}

TEST_CASE("A held task sleeps until at least its length has passed", "[host]") {
  const auto device = make_host_device({.tokens = 1, .width = 1});
  device->begin_step();
  const Duration cpu_before = device->cpu_time().value();
  const Stamp start = device->stamp();
  device->hold(start, 5ms);
  const Stamp end = device->stamp();
  device->hold(start, 5ms); // long over: no wait
  const Stamp later = device->stamp();
  device->synchronize();
  const std::vector<std::int64_t> stamps = device->stamps();
  REQUIRE(stamps.size() == 3);
  CHECK(stamps[end] - stamps[start] >= 5'000'000);
  CHECK(stamps[later] >= stamps[end]);
  CHECK(device->cpu_time().value() - cpu_before < 4ms);
  device->begin_step();
  CHECK(device->stamps().empty());
}

TEST_CASE("Processor time covers the tasks", "[host]") {
  const auto device = make_host_device({.tokens = 64, .width = 64});
  const HostWeights weights{*device};
  HostBuffers buffers{*device};
  device->make_input(MicrobatchId{0}, buffers.x.get());
  device->begin_step();
  const Duration before = device->cpu_time().value();
  const Stamp start = device->stamp();
  for (int i = 0; i < 20; ++i)
    device->forward(weights.parameters.get(), buffers.x.get(), buffers.y.get(), buffers.stash());
  const Stamp end = device->stamp();
  const Duration cpu = device->cpu_time().value() - before;
  CHECK(cpu > 100us); // 20 times 2 x 64 x 64 x 256 multiplications, at 10 GFLOP/s 840 us
  CHECK(cpu.count() <= device->stamps()[end] - device->stamps()[start] + 1'000'000);
}

} // namespace ppsim::test::host_device_test
