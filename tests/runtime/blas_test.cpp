// Matrix products, installed and built-in, and the processor's other loops, against the plainest code in double.

#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/seeded.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "runtime/host/blas.hpp"
#include "runtime/host/host_loops.hpp"

namespace ppsim::test::blas_test {

namespace {

using namespace runtime;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> drawn(std::size_t count, std::uint32_t key) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = seeded_value(key, static_cast<std::uint32_t>(i));
  return values;
}

// A matrix with a gap of NaN after each row.
struct PaddedMatrix {
  std::size_t rows, columns, stride;
  std::vector<float> values;
  PaddedMatrix(std::size_t row_count, std::size_t column_count, std::uint32_t key)
      : rows{row_count}, columns{column_count}, stride{column_count + 3}, values(rows * stride, nan) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        values[row * stride + column] = seeded_value(key, static_cast<std::uint32_t>(row * columns + column));
  }
};

struct Case {
  std::size_t rows, columns, inner;
  bool transpose_a, transpose_b, add;
};

// Largest error of a product against sums in double, beside which numbers that may not be touched are looked at.
void check_product(const Case& c, const std::function<void(const Product&)>& multiply) {
  const PaddedMatrix a{c.transpose_a ? c.inner : c.rows, c.transpose_a ? c.rows : c.inner, 1};
  const PaddedMatrix b{c.transpose_b ? c.columns : c.inner, c.transpose_b ? c.inner : c.columns, 2};
  PaddedMatrix out{c.rows, c.columns, 3};
  const std::vector<float> before = out.values;
  if (!c.add) std::fill(out.values.begin(), out.values.end(), nan);
  multiply({.rows = c.rows,
            .columns = c.columns,
            .inner = c.inner,
            .a = {a.values.data(), a.stride, c.transpose_a},
            .b = {b.values.data(), b.stride, c.transpose_b},
            .out = out.values.data(),
            .stride = out.stride,
            .add = c.add,
            .factor = 0.5F});
  double error = 0;
  bool gaps_are_untouched = true;
  for (std::size_t row = 0; row < c.rows; ++row) {
    for (std::size_t column = 0; column < c.columns; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < c.inner; ++k)
        sum += double{a.values[c.transpose_a ? k * a.stride + row : row * a.stride + k]} *
               double{b.values[c.transpose_b ? column * b.stride + k : k * b.stride + column]};
      const double expected = 0.5 * sum + (c.add ? double{before[row * out.stride + column]} : 0.0);
      const double found = out.values[row * out.stride + column];
      error = std::isnan(found) ? 1 : std::max(error, std::abs(found - expected));
    }
    for (std::size_t gap = c.columns; gap < out.stride; ++gap)
      gaps_are_untouched = gaps_are_untouched && std::isnan(out.values[row * out.stride + gap]);
  }
  CAPTURE(c.rows, c.columns, c.inner, c.transpose_a, c.transpose_b, c.add);
  CHECK(error < 2e-5); // sums of up to 600 products below 1: 600 roundings of 2^-24 of about 6
  CHECK(gaps_are_untouched);
}

void check_products(const std::function<void(const Product&)>& multiply) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const bool add : {false, true})
        for (const auto& [rows, columns, inner] :
             {std::array<std::size_t, 3>{1, 1, 1}, {6, 16, 256}, {7, 17, 257}, {5, 150, 3}, {40, 9, 600}})
          check_product({rows, columns, inner, transpose_a, transpose_b, add}, multiply);
}

} // namespace

TEST_CASE("Built-in matrix products are correct for every transposition, stride and size", "[blas]") {
  check_products([](const Product& product) { built_in_matrices().multiply(product); });
}

TEST_CASE("Matrix products of every processor are correct", "[blas]") {
  check_products(portable_loops().multiply);
}

TEST_CASE("Matrix products of the installed library are correct, and are used", "[blas]") {
  const MatrixLibrary* installed = installed_matrices();
  if (installed == nullptr) {
    CHECK(matrix_library() == built_in_matrices().description() + ", OpenBLAS is not installed");
    CHECK(&best_matrices() == &built_in_matrices());
    return;
  }
  CHECK(&best_matrices() == installed);
  CHECK(matrix_library() == installed->description());
  CHECK(matrix_library().find("built-in") == std::string::npos);
  check_products([&](const Product& product) { installed->multiply(product); });
}

TEST_CASE("Threads that multiply concurrently get the same bits as one thread", "[blas]") {
  for (const MatrixLibrary* library : {&best_matrices(), &built_in_matrices()}) {
    constexpr std::size_t n = 96;
    const std::vector<float> a = drawn(n * n, 1);
    const std::vector<float> b = drawn(n * n, 2);
    const auto multiply = [&](std::vector<float>& out) {
      for (int repetition = 0; repetition < 20; ++repetition)
        library->multiply({n, n, n, {a.data(), n}, {b.data(), n, true}, out.data(), n, true});
    };
    std::vector<std::vector<float>> results(5, std::vector<float>(n * n));
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < results.size(); ++i) threads.emplace_back([&, i] { multiply(results[i]); });
    multiply(results[0]);
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<float>& result : results) CHECK(result == results[0]);
  }
}

TEST_CASE("The loops of every processor compute gelu and its derivative", "[blas]") {
  std::vector<float> x;
  for (int i = -1200; i <= 1200; ++i) x.push_back(0.01F * static_cast<float>(i)); // -12 to 12, no multiple of 8
  const auto exact = [](double value) {
    return 0.5 * value * (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
  };
  for (const HostLoops* loops : {&host_loops(), &portable_loops()}) {
    CAPTURE(loops->name);
    std::vector<float> y(x.size());
    loops->gelu(x.data(), x.size(), y.data());
    std::vector<float> slope = x;
    const std::vector<float> ones(x.size(), 1.0F);
    loops->gelu_back(ones.data(), x.size(), slope.data());
    double error = 0;
    double slope_error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double value = x[i];
      error = std::max(error, std::abs(double{y[i]} - exact(value)));
      const double expected = (exact(value + 1e-5) - exact(value - 1e-5)) / 2e-5;
      slope_error = std::max(slope_error, std::abs(double{slope[i]} - expected));
    }
    CHECK(error < 2e-6);
    CHECK(slope_error < 2e-6);
    const std::vector<float> wild{-1e30F, -100.0F, -0.0F, 100.0F, 1e30F};
    std::vector<float> out(wild.size());
    loops->gelu(wild.data(), wild.size(), out.data());
    CHECK(std::abs(out[0]) < 1e10F); // 1e30 of the 1e-26 that stands for zero
    CHECK(std::abs(out[1]) < 1e-20F);
    CHECK(out[3] == 100.0F);
    CHECK(out[4] == 1e30F);
    loops->gelu(&nan, 1, out.data());
    CHECK(std::isnan(out[0])); // poison is not lost
  }
}

TEST_CASE("A causal softmax ignores later tokens", "[blas]") {
  for (const HostLoops* loops : {&host_loops(), &portable_loops()}) {
    CAPTURE(loops->name);
    constexpr std::size_t rows = 37;
    std::vector<float> scores = drawn(rows * rows, 5);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < rows; ++column)
        scores[row * rows + column] = column > row ? nan : 80.0F * scores[row * rows + column];
    std::vector<float> probabilities = scores;
    loops->causal_softmax(probabilities.data(), rows);
    double error = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i <= row; ++i) sum += std::exp(double{scores[row * rows + i]});
      for (std::size_t i = 0; i < rows; ++i) {
        const double expected = i > row ? 0 : std::exp(double{scores[row * rows + i]}) / sum;
        error = std::max(error, std::abs(double{probabilities[row * rows + i]} - expected));
      }
    }
    CHECK(error < 1e-5);
  }
}

} // namespace ppsim::test::blas_test
