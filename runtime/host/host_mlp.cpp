#include "host_branch.hpp"
#include "host_linear.hpp"
#include "host_loops.hpp"

namespace ppsim::runtime {

namespace {

class Mlp final : public Branch {
public:
  Mlp(const Workload& workload, const MatrixLibrary& library)
      : tokens_{workload.tokens}, width_{workload.width}, hidden_{4 * workload.width},
        up_{library, tokens_, width_, hidden_}, down_{library, tokens_, hidden_, width_} {}

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
    up_.forward(kept.normed, parameters, kept.hidden);
    loops_.gelu(kept.hidden, tokens_ * hidden_, kept.activated);
    down_.forward(kept.activated, parameters + width_ * hidden_, y, true);
  }

  void input_grad(const float* parameters, float* dx, const BranchStash& stash, float* scratch) const override {
    const Kept kept = kept_in(stash);
    down_.input_grad(kept.dy, parameters + width_ * hidden_, scratch);
    loops_.gelu_back(scratch, tokens_ * hidden_, kept.hidden);
    up_.input_grad(kept.hidden, parameters, scratch);
    loops_.normalise_back(scratch, kept.normed, kept.inverse_deviation, tokens_, width_, kept.dy, dx);
  }

  void weight_grad(const BranchStash& stash, float* gradients) const override {
    const Kept kept = kept_in(stash);
    up_.weight_grad(kept.normed, kept.hidden, gradients);
    down_.weight_grad(kept.activated, kept.dy, gradients + width_ * hidden_);
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

  std::size_t tokens_, width_, hidden_;
  Linear up_, down_;
  const HostLoops& loops_ = host_loops();
};

} // namespace

std::unique_ptr<Branch> make_mlp(const Workload& workload, const MatrixLibrary& library) {
  return std::make_unique<Mlp>(workload, library);
}

} // namespace ppsim::runtime
