#pragma once
// Branch: what is added to the residual stream, y = x + branch(x): an mlp, or attention. A chunk is a row of them.
//
// The stash of a branch, in numbers, with T tokens, width w, h heads:
//
// | branch    | part       | numbers | F writes               | I makes of it                  | W reads |
// | --------- | ---------- | ------- | ---------------------- | ------------------------------ | ------- |
// | both      | for_weight | T w     | (room)                 | the gradient of y              | yes     |
// | both      | for_weight | T w     | norm(x)                |                                | yes     |
// | mlp       | for_weight | 4 T w   | norm(x) W1             | its gradient                   | yes     |
// | mlp       | for_weight | 4 T w   | gelu(norm(x) W1)       |                                | yes     |
// | attention | for_weight | 3 T w   | Q, K, V = norm(x) Wqkv | their gradients                | yes     |
// | attention | for_weight | T w     | P V of all heads       |                                | yes     |
// | both      | for_input  | T       | 1 / deviation of rows  |                                | no      |
// | attention | for_input  | h T T   | P, the probabilities   |                                | no      |
//
// The first room comes first, so that whoever has the gradient of y (I of the branch after, or the loss) can write it
// there without knowing the branch.

#include "ppsim/runtime/host_device.hpp"
#include "ppsim/runtime/interface.hpp"
#include "ppsim/runtime/seeded.hpp"

#include <memory>
#include <vector>

#include "blas.hpp"

namespace ppsim::runtime {

/// Sizes of a branch, in fp32 numbers.
struct BranchSizes {
  std::size_t parameters = 0, for_input = 0, for_weight = 0, scratch = 0;
};

/// A weight matrix, row-major, with a row per input column. Gradients have the same layout.
struct BranchMatrix {
  Matrix name{};
  std::size_t rows = 0, columns = 0;
};

/// Pointers to one branch's part of a stash.
struct BranchStash {
  float* for_input = nullptr;
  float* for_weight = nullptr; ///< first the gradient of y
};

/// One kind of branch. It owns no memory.
class Branch : public Interface {
public:
  [[nodiscard]] virtual BranchSizes sizes() const = 0;
  [[nodiscard]] virtual std::vector<BranchMatrix> matrices() const = 0; ///< in the order of the parameters
  /// Replaces x in `y` by x + branch(x).
  virtual void forward(const float* parameters, float* y, const BranchStash& stash) const = 0;
  /// Writes the gradient of x to `dx`.
  virtual void input_grad(const float* parameters, float* dx, const BranchStash& stash, float* scratch) const = 0;
  /// Adds to the gradients. Does not read for_input, which may be freed.
  virtual void weight_grad(const BranchStash& stash, float* gradients) const = 0;
};

[[nodiscard]] std::unique_ptr<Branch> make_mlp(const Workload& workload, const MatrixLibrary& library);
[[nodiscard]] std::unique_ptr<Branch> make_attention(const Workload& workload, const MatrixLibrary& library);
/// The device with that matrix library, for tests.
[[nodiscard]] std::unique_ptr<Device> make_host_device(const Workload& workload, const MatrixLibrary& library);

} // namespace ppsim::runtime
