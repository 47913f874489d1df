#include "host_branch.hpp"

#include <cmath>
#include <cstring>

#include "host_loops.hpp"

namespace ppsim::runtime {

namespace {

/// A weight matrix over all tokens, with its backward: row-major, `inputs` rows and `outputs` columns. Activations have
/// a row per token, without gaps.
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
    float* hidden; // after I, its gradient
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

// Products over all tokens and heads have weights and therefore a part in W; those of a head (Q K^T, P V) have none,
// and all their gradients belong to I.
class Attention final : public Branch {
public:
  Attention(const Workload& workload, const MatrixLibrary& library)
      : tokens_{workload.tokens}, width_{workload.width}, heads_{workload.heads}, depth_{width_ / heads_},
        scale_{1.0F / std::sqrt(static_cast<float>(depth_))}, library_{library},
        qkv_{library, tokens_, width_, 3 * width_}, projection_{library, tokens_, width_, width_} {}

  [[nodiscard]] BranchSizes sizes() const override {
    return {.parameters = 4 * width_ * width_,
            .for_input = tokens_ + heads_ * tokens_ * tokens_,
            .for_weight = 6 * tokens_ * width_,
            .scratch = tokens_ * width_ + tokens_ * tokens_ + tokens_ * depth_};
  }
  [[nodiscard]] std::vector<BranchMatrix> matrices() const override {
    return {{Matrix::qkv, width_, 3 * width_}, {Matrix::projection, width_, width_}};
  }

  void forward(const float* parameters, float* y, const BranchStash& stash) const override {
    const Kept kept = kept_in(stash);
    loops_.normalise(y, tokens_, width_, kept.normed, kept.inverse_deviation);
    qkv_.forward(kept.normed, parameters, kept.qkv);
    for (std::size_t head = 0; head < heads_; ++head) attend(head_of(kept, head));
    projection_.forward(kept.mixed, parameters + row() * width_, y, true);
  }

  void input_grad(const float* parameters, float* dx, const BranchStash& stash, float* scratch) const override {
    const Kept kept = kept_in(stash);
    projection_.input_grad(kept.dy, parameters + row() * width_, scratch);
    for (std::size_t head = 0; head < heads_; ++head)
      attend_back(head_of(kept, head), scratch + head * depth_, scratch + tokens_ * width_);
    qkv_.input_grad(kept.qkv, parameters, scratch);
    loops_.normalise_back(scratch, kept.normed, kept.inverse_deviation, tokens_, width_, kept.dy, dx);
  }

  void weight_grad(const BranchStash& stash, float* gradients) const override {
    const Kept kept = kept_in(stash);
    qkv_.weight_grad(kept.normed, kept.qkv, gradients);
    projection_.weight_grad(kept.mixed, kept.dy, gradients + row() * width_);
  }

private:
  struct Kept {
    float *dy, *normed;
    float* qkv; // after I, their gradients
    float* mixed;
    float *inverse_deviation, *probabilities;
  };
  // One head's columns of Q, K, V and of its output, with the strides of the whole matrices; and its probabilities.
  struct Head {
    float *q, *k, *v, *mixed, *probabilities;
  };

  [[nodiscard]] Kept kept_in(const BranchStash& stash) const {
    const std::size_t activation = tokens_ * width_;
    float* dy = stash.for_weight;
    float* qkv = dy + 2 * activation;
    // W is called without for_input, so avoid arithmetic with a null pointer.
    float* probabilities = stash.for_input == nullptr ? nullptr : stash.for_input + tokens_;
    return {dy, dy + activation, qkv, qkv + 3 * activation, stash.for_input, probabilities};
  }
  [[nodiscard]] Head head_of(const Kept& kept, std::size_t head) const {
    float* q = kept.qkv + head * depth_;
    return {q, q + width_, q + 2 * width_, kept.mixed + head * depth_, kept.probabilities + head * tokens_ * tokens_};
  }
  [[nodiscard]] std::size_t row() const { return 3 * width_; }

  // out [tokens, tokens] = factor a b, for a [tokens, depth] and b [depth, tokens].
  void score(const Operand& a, const Operand& b, float* out, float factor = 1.0F) const {
    library_.multiply({.rows = tokens_,
                       .columns = tokens_,
                       .inner = depth_,
                       .a = a,
                       .b = b,
                       .out = out,
                       .stride = tokens_,
                       .factor = factor});
  }
  // out [tokens, depth] = factor weights values, for weights [tokens, tokens].
  void mix(const Operand& weights, const Operand& values, float* out, std::size_t stride, float factor = 1.0F) const {
    library_.multiply({.rows = tokens_,
                       .columns = depth_,
                       .inner = tokens_,
                       .a = weights,
                       .b = values,
                       .out = out,
                       .stride = stride,
                       .factor = factor});
  }

  void attend(const Head& head) const {
    score({head.q, row()}, {head.k, row(), true}, head.probabilities, scale_);
    loops_.causal_softmax(head.probabilities, tokens_);
    mix({head.probabilities, tokens_}, {head.v, row()}, head.mixed, width_);
  }

  // Each gradient overwrites its value as soon as that is no longer needed.
  void attend_back(const Head& head, const float* mixed_gradient, float* scratch) const {
    float* scores = scratch;
    float* q_gradient = scratch + tokens_ * tokens_;
    score({mixed_gradient, width_}, {head.v, row(), true}, scores);
    mix({head.probabilities, tokens_, true}, {mixed_gradient, width_}, head.v, row());
    loops_.softmax_back(head.probabilities, tokens_, scores);
    mix({scores, tokens_}, {head.k, row()}, q_gradient, depth_, scale_);
    mix({scores, tokens_, true}, {head.q, row()}, head.k, row(), scale_);
    for (std::size_t token = 0; token < tokens_; ++token)
      std::memcpy(head.q + token * row(), q_gradient + token * depth_, depth_ * sizeof(float));
  }

  std::size_t tokens_, width_, heads_, depth_;
  float scale_;
  const MatrixLibrary& library_;
  Linear qkv_, projection_;
  const HostLoops& loops_ = host_loops();
};

} // namespace

std::unique_ptr<Branch> make_mlp(const Workload& workload, const MatrixLibrary& library) {
  return std::make_unique<Mlp>(workload, library);
}

std::unique_ptr<Branch> make_attention(const Workload& workload, const MatrixLibrary& library) {
  return std::make_unique<Attention>(workload, library);
}

} // namespace ppsim::runtime
