#pragma once
// Adam: the factors of one optimizer step, equal on every device. Inline, so that plugins can use it.

#include <cmath>
#include <cstddef>

namespace ppsim::runtime {

struct AdamFactors {
  float gradient_factor;           ///< turns a sum over microbatches into a mean
  float first_share, second_share; ///< of the new gradient in each moment
  float step;                      ///< learning rate, with the correction of the first moment
  float second_correction;         ///< multiplies the second moment
  float epsilon;
};

/// Factors of step `number` (counted from 1) for gradient sums over `microbatches`: Kingma and Ba 2015, algorithm 1,
/// with their constants.
[[nodiscard]] inline AdamFactors adam_factors(double learning_rate, std::size_t number, std::size_t microbatches) {
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.999;
  const auto steps = static_cast<double>(number);
  return {.gradient_factor = static_cast<float>(1.0 / static_cast<double>(microbatches)),
          .first_share = static_cast<float>(1 - beta1),
          .second_share = static_cast<float>(1 - beta2),
          .step = static_cast<float>(learning_rate / (1 - std::pow(beta1, steps))),
          .second_correction = static_cast<float>(1 / (1 - std::pow(beta2, steps))),
          .epsilon = 1e-8F};
}

} // namespace ppsim::runtime
