#include "host_branch.hpp"
#include "host_loops.hpp"

namespace ppsim::runtime {

namespace {

class Mlp final : public Branch {
public:
  Mlp(const Workload& workload, const MatrixLibrary& library)
      : tokens_{workload.tokens}, width_{workload.width}, hidden_{4 * workload.width}, library_{library} {}

  [[nodiscard]] BranchSizes sizes() const override {
    return {.parameters = 2 * width_ * hidden_,
            .for_input = tokens_,
            .for_weight = 2 * tokens_ * width_ + 2 * tokens_ * hidden_,
            .scratch = tokens_ * hidden_};
  }
  [[nodiscard]] std::vector<BranchMatrix> matrices() const override {
    return {{Matrix::up, width_, hidden_}, {Matrix::down, hidden_, width_}};
  }

  void forward(const float* parameters, float* y, const BranchStash& stash) const override {
    const Kept kept = kept_in(stash);
    loops_.normalise(y, tokens_, width_, kept.normed, kept.inverse_deviation);
    library_.multiply({.rows = tokens_,
                       .columns = hidden_,
                       .inner = width_,
                       .a = {kept.normed, width_},
                       .b = up(parameters),
                       .out = kept.hidden,
                       .stride = hidden_});
    loops_.gelu(kept.hidden, tokens_ * hidden_, kept.activated);
    library_.multiply({.rows = tokens_,
                       .columns = width_,
                       .inner = hidden_,
                       .a = {kept.activated, hidden_},
                       .b = down(parameters),
                       .out = y,
                       .stride = width_,
                       .add = true});
  }

  void input_grad(const float* parameters, float* dx, const BranchStash& stash, float* scratch) const override {
    const Kept kept = kept_in(stash);
    library_.multiply({.rows = tokens_,
                       .columns = hidden_,
                       .inner = width_,
                       .a = {kept.dy, width_},
                       .b = down(parameters, true),
                       .out = scratch,
                       .stride = hidden_});
    loops_.gelu_back(scratch, tokens_ * hidden_, kept.hidden);
    library_.multiply({.rows = tokens_,
                       .columns = width_,
                       .inner = hidden_,
                       .a = {kept.hidden, hidden_},
                       .b = up(parameters, true),
                       .out = scratch,
                       .stride = width_});
    loops_.normalise_back(scratch, kept.normed, kept.inverse_deviation, tokens_, width_, kept.dy, dx);
  }

  void weight_grad(const BranchStash& stash, float* gradients) const override {
    const Kept kept = kept_in(stash);
    library_.multiply({.rows = width_,
                       .columns = hidden_,
                       .inner = tokens_,
                       .a = {kept.normed, width_, true},
                       .b = {kept.hidden, hidden_},
                       .out = gradients,
                       .stride = hidden_,
                       .add = true});
    library_.multiply({.rows = hidden_,
                       .columns = width_,
                       .inner = tokens_,
                       .a = {kept.activated, hidden_, true},
                       .b = {kept.dy, width_},
                       .out = gradients + width_ * hidden_,
                       .stride = width_,
                       .add = true});
  }

private:
  struct Kept {
    float *dy, *normed;
    float* hidden; // its gradient after I
    float* activated;
    float* inverse_deviation;
  };
  [[nodiscard]] Kept kept_in(const BranchStash& stash) const {
    float* dy = stash.for_weight;
    float* normed = dy + tokens_ * width_;
    float* hidden = normed + tokens_ * width_;
    return {dy, normed, hidden, hidden + tokens_ * hidden_, stash.for_input};
  }
  [[nodiscard]] Operand up(const float* parameters, bool transposed = false) const {
    return {parameters, hidden_, transposed};
  }
  [[nodiscard]] Operand down(const float* parameters, bool transposed = false) const {
    return {parameters + width_ * hidden_, width_, transposed};
  }

  std::size_t tokens_, width_, hidden_;
  const MatrixLibrary& library_;
  const HostLoops& loops_ = host_loops();
};

} // namespace

std::unique_ptr<Branch> make_mlp(const Workload& workload, const MatrixLibrary& library) {
  return std::make_unique<Mlp>(workload, library);
}

} // namespace ppsim::runtime
