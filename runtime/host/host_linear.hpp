#pragma once
// Linear: a weight matrix over all tokens, out = x W, and what its backward makes of it.

#include "blas.hpp"

namespace ppsim::runtime {

/// A row-major matrix of `inputs` rows and `outputs` columns. Activations have a row per token, without gaps.
struct Linear {
  const MatrixLibrary& library;
  std::size_t tokens = 0, inputs = 0, outputs = 0;

  /// out = x W, or out += x W.
  void forward(const float* x, const float* weights, float* out, bool add = false) const {
    library.multiply({.rows = tokens,
                      .columns = outputs,
                      .inner = inputs,
                      .a = {x, inputs},
                      .b = {weights, outputs},
                      .out = out,
                      .stride = outputs,
                      .add = add});
  }
  /// dx = dy W^T.
  void input_grad(const float* dy, const float* weights, float* dx) const {
    library.multiply({.rows = tokens,
                      .columns = inputs,
                      .inner = outputs,
                      .a = {dy, outputs},
                      .b = {weights, outputs, true},
                      .out = dx,
                      .stride = inputs});
  }
  /// dW += x^T dy.
  void weight_grad(const float* x, const float* dy, float* gradients) const {
    library.multiply({.rows = inputs,
                      .columns = outputs,
                      .inner = tokens,
                      .a = {x, inputs, true},
                      .b = {dy, outputs},
                      .out = gradients,
                      .stride = outputs,
                      .add = true});
  }
};

} // namespace ppsim::runtime
