// ZB-V (Qi et al., arXiv 2401.10241, section 6; order as PyTorch's ScheduleZBVZeroBubble): two chunks per stage in a V,
// so that the first chunk's way up and the second chunk's way down meet on the last stage.

#include <algorithm>

#include "generator_list.hpp"

namespace ppsim::generator::zb_v {
namespace {

/// One chunk of a stage: its next pass of each kind is for the next microbatch. Microbatches from `limit` on are
/// counted but omitted.
class ChunkPasses {
public:
  ChunkPasses(ScheduleBuilder& builder, std::size_t chunk, std::size_t limit)
      : builder_{builder}, chunk_{chunk}, limit_{limit} {}
  void forward() { add(Pass::forward, forwards_++); }
  void input_grad() { add(Pass::input_grad, input_grads_++); }
  void weight_grad() { add(Pass::weight_grad, weight_grads_++); }
  void backward() {
    input_grad();
    weight_grad();
  }
  void all_weight_grads() {
    while (weight_grads_ < input_grads_) weight_grad();
  }
  [[nodiscard]] std::size_t forwards() const { return forwards_; }

private:
  void add(Pass pass, std::size_t microbatch) {
    if (microbatch < limit_) builder_.add(pass, chunk_, microbatch);
  }
  ScheduleBuilder& builder_;
  std::size_t chunk_;
  std::size_t limit_;
  std::size_t forwards_ = 0;
  std::size_t input_grads_ = 0;
  std::size_t weight_grads_ = 0;
};

void add_stage(ScheduleBuilder& builder, const ScheduleRequest& request, std::size_t stage) {
  const auto& [stages, microbatches, vpp, shared] = request.shape;
  const std::size_t above = stages - stage; // stages from here to the turn of the V
  const std::size_t ordered = std::max(2 * stages - 1, microbatches);
  ChunkPasses down{builder, stage, microbatches};
  ChunkPasses up{builder, 2 * stages - 1 - stage, microbatches};
  for (std::size_t i = 0; i < 2 * above - 1; ++i) down.forward();
  for (std::size_t i = 0; i < stage; ++i) {
    up.forward();
    down.forward();
  }
  builder.end_warmup();
  for (std::size_t i = 0; i < above; ++i) {
    up.forward();
    up.backward();
  }
  while (up.forwards() < ordered) {
    if (down.forwards() < ordered) down.forward();
    down.backward();
    up.forward();
    up.backward();
  }
  for (std::size_t i = 0; i < stage; ++i) {
    down.input_grad();
    up.input_grad();
  }
  for (std::size_t i = 0; i < above; ++i) {
    down.input_grad();
    down.weight_grad();
  }
  up.all_weight_grads();
  down.all_weight_grads();
}

/// With F = I = W, each stage always has a pass to run after its start. Fewer microbatches leave gaps in the warm-up.
std::optional<ClosedForm> closed_form(const ScheduleRequest& request, const UniformCosts& costs) {
  const bool equal = costs.forward == costs.input_grad && costs.forward == costs.weight_grad;
  if (!equal || costs.comm != Duration{0} || request.shape.microbatches < 2 * request.shape.stages - 1)
    return std::nullopt;
  return ClosedForm{0.0, "0 at F = I = W", "stage_span_bubble"};
}

} // namespace

const Generator definition{.name = "zb-v",
                           .placement = "v",
                           .summary = "two chunks per stage in a V, backwards split; made for F = I = W",
                           .promise =
                               "no bubble in any stage's span at F = I = W for m >= 2p-1; at most 2p chunk activations",
                           .constraints = "two chunks per stage; any m >= 1",
                           .source = "Qi et al., arXiv 2401.10241, section 6; PyTorch ScheduleZBVZeroBubble",
                           .vpp = {.standard = 2},
                           .place = wave_placement,
                           .add_stage = add_stage,
                           .closed_form = closed_form};

} // namespace ppsim::generator::zb_v
