#include "ppsim/runtime/scaling.hpp"

#include "ppsim/base/error.hpp"

#include <cmath>

namespace ppsim::runtime {
namespace {

/// Operations of the product of an m x k and a k x n matrix: a multiplication and an addition each.
std::int64_t product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2 * m * n * k;
}

/// A weight matrix over all tokens (Linear): F, I and W each have one product of these sizes.
void add_linear(Operations& sum, std::int64_t tokens, std::int64_t inputs, std::int64_t outputs) {
  const std::int64_t each = product(tokens, inputs, outputs);
  sum.forward += each;
  sum.input_grad += each;
  sum.weight_grad += each;
}

/// The products of all heads, which have no weights: scores, and probabilities times values. Each has two gradients, of
/// its operands, and both belong to I.
void add_heads(Operations& sum, std::int64_t tokens, std::int64_t width) {
  const std::int64_t scores = product(tokens, tokens, width); // heads * (width / heads)
  const std::int64_t mixed = product(tokens, width, tokens);
  sum.forward += scores + mixed;
  sum.input_grad += 2 * (scores + mixed);
}

} // namespace

Operations operations(const Workload& workload) {
  const auto tokens = static_cast<std::int64_t>(workload.tokens);
  const auto width = static_cast<std::int64_t>(workload.width);
  const auto layers = static_cast<std::int64_t>(workload.layers);
  Operations layer;
  if (workload.block == Block::transformer) {
    add_linear(layer, tokens, width, 3 * width); // queries, keys, values
    add_heads(layer, tokens, width);
    add_linear(layer, tokens, width, width);
  }
  add_linear(layer, tokens, width, 4 * width);
  add_linear(layer, tokens, 4 * width, width);
  return {layers * layer.forward, layers * layer.input_grad, layers * layer.weight_grad};
}

Scaling scaling(const Workload& from, const Workload& to) {
  PPSIM_ASSERT(from.block == to.block);
  const Operations before = operations(from);
  const Operations after = operations(to);
  const auto parameters = [](const Operations& all, const Workload& workload) {
    return all.weight_grad /
           (2 * static_cast<std::int64_t>(workload.tokens)); // W multiplies each weight with every token
  };
  return {.forward = {after.forward, before.forward},
          .input_grad = {after.input_grad, before.input_grad},
          .weight_grad = {after.weight_grad, before.weight_grad},
          .backward = {after.backward(), before.backward()},
          .optimizer = {parameters(after, to), parameters(before, from)}};
}

double value_of(const Ratio& ratio) {
  return static_cast<double>(ratio.part) / static_cast<double>(ratio.whole);
}

std::optional<Duration> scaled(Duration time, const Ratio& ratio) {
  const double about = static_cast<double>(time.count()) * value_of(ratio);
  if (about > 2 * static_cast<double>(max_duration.count())) return std::nullopt; // checked before it could overflow
  const Duration exact{scale_rounded(time.count(), ratio.part, ratio.whole)};
  return exact > max_duration ? std::nullopt : std::optional{exact};
}

double exponent(Duration time, const SecondTime& second) {
  const double ratio = value_of(second.ratio);
  if (ratio == 1 || time == Duration{0} || second.time == Duration{0}) return 1;
  return std::log(static_cast<double>(second.time.count()) / static_cast<double>(time.count())) / std::log(ratio);
}

std::optional<Duration> scaled(Duration time, const Ratio& ratio, const SecondTime& second) {
  const double power = exponent(time, second);
  if (power == 1) return scaled(time, ratio);
  const double longer = static_cast<double>(time.count()) * std::pow(value_of(ratio), power);
  if (!(longer <= static_cast<double>(max_duration.count()))) return std::nullopt;
  return Duration{std::llround(longer)};
}

} // namespace ppsim::runtime
