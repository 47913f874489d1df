#include "find_split.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>
#include <utility>

#include "splits.hpp"
#include "synthesis_instance.hpp"

namespace ppsim {
namespace {

constexpr std::uint64_t most_split_steps = 100'000'000; // of all searches together: about 10 s
constexpr std::uint64_t proof_steps = 300'000;          // of the rules, to prove that a split is not better
constexpr std::uint64_t first_orders = 8;               // for a split that may be better
constexpr std::size_t most_tries = 4096;

/// The excess of a split for which an order may fit, but none was found.
constexpr Bytes no_order_found{1};

class SplitSearch {
public:
  SplitSearch(const RunSpec& spec, const BuiltRun& run, const SynthesisRequest& request,
              const ChunkPlacement& placement, std::optional<synthesis::Order> first)
      : splits_{spec, run}, run_{run}, request_{request}, placement_{placement},
        activation_limit_{spec.activation_limit}, passes_{sequence_passes(request.splits_backward).size()},
        start_{run.scenario.layout, spec.layout.has_value()} {
    if (!first) return;
    const synthesis::Instance instance = instance_of(start_.layout);
    best_ = std::move(first);
    best_->resize(instance.stages()); // without links
    progress_.makespan = synthesis::run(instance, *best_).value().makespan;
    progress_.bound = synthesis::first_bound(instance);
  }

  FoundSplit run() {
    std::int64_t before = progress_.makespan;
    Balance found = pass(start_);
    while (progress_.makespan != before && !ended_) { // shorter orders may suit splits tried before
      before = progress_.makespan;
      const Balance again = pass({found.layout, start_.is_given});
      found.layout = again.layout;
      found.step_time = again.step_time;
      found.fits = again.fits;
      found.tried += again.tried;
      found.settled = again.settled;
    }
    found.settled = found.settled && !ended_;
    return {.balance = std::move(found), .order = std::move(best_)};
  }

private:
  Balance pass(const BalanceStart& start) {
    at_start_ = true;
    return balance(
        start, [this](const Layout& layout) { return value(layout); }, most_tries);
  }

  /// None if the split is not allowed, or the search is over. The first split of a pass is that of the best order, if
  /// there is one.
  std::optional<SplitValue> value(const Layout& layout) {
    const bool at_start = std::exchange(at_start_, false);
    if (ended_ && !at_start) return std::nullopt;
    ended_ = ended_ || steps_ > most_split_steps || (request_.go_on && !request_.go_on(placement_, progress_));
    try {
      const synthesis::Instance instance = instance_of(layout);
      steps_ += instance.tasks();
      SplitValue value{shortage_of(instance), Duration{progress_.makespan}, loads_of(instance)};
      if (value.excess > Bytes{} || (at_start && best_)) return value;
      if (const auto fault = fault_of(instance))
        throw Error{ExitCode::bad_input, Problem{"`balance`", std::string{*fault}, "give another split"}};
      return searched(instance, std::move(value));
    } catch (const Error&) { // sizes do not fit it
      if (at_start) throw;
      return std::nullopt;
    }
  }

  synthesis::Instance instance_of(const Layout& layout) {
    Scenario scenario = splits_.scenario(layout);
    scenario.network.model = TransferModel::latency;
    return make_instance(lower(run_.schedule, std::move(scenario), run_.schedule_place), activation_limit_);
  }

  /// The value with the makespan of its best order. If the split is proven not to have a shorter one than the best so
  /// far, with slightly more than its bound.
  SplitValue searched(const synthesis::Instance& instance, SplitValue value) {
    if (best_) {
      const std::int64_t bound = synthesis::first_bound(instance);
      value.step_time = Duration{std::max(bound, progress_.makespan) + 1}; // of equal ones the first is the best
      if (bound >= progress_.makespan) return value;
      steps_ += proof_steps;
      if (synthesis::is_refuted(instance, progress_.makespan - 1, proof_steps)) return value;
    }
    synthesis::SearchOptions options{
        .orders = first_orders, .proves = false, .seed = request_.seed, .threads = request_.threads};
    if (best_) options.starts.push_back(*best_);
    synthesis::Found found = search(instance, options);
    steps_ += found.steps;
    if (!found.plan) {
      value.excess = no_order_found;
      return value;
    }
    const bool is_best = !best_ || found.plan->makespan < progress_.makespan;
    value.step_time = Duration{found.plan->makespan + (is_best ? 0 : 1)};
    if (is_best) {
      progress_ = {.effort = 0, .makespan = found.plan->makespan, .bound = found.bound};
      best_ = std::move(found.plan->order);
    }
    return value;
  }

  /// The excess of the stage with the largest need, for one microbatch.
  [[nodiscard]] Bytes shortage_of(const synthesis::Instance& instance) const {
    std::int64_t shortage = 0;
    for (std::size_t stage = 0; stage < instance.capacity.size(); ++stage)
      shortage = std::max(shortage, least_capacity(instance, stage, passes_) - instance.capacity[stage]);
    return Bytes{shortage};
  }

  /// By chunk: the compute time of its stage.
  [[nodiscard]] std::vector<Duration> loads_of(const synthesis::Instance& instance) const {
    std::vector<Duration> of_stage(instance.capacity.size());
    for (const synthesis::Sequence& sequence : instance.sequences)
      of_stage[sequence.stage] += Duration{sequence.duration * instance.microbatches};
    std::vector<Duration> loads;
    for (std::size_t at = 0; at < instance.sequences.size(); at += passes_)
      loads.push_back(of_stage[instance.sequences[at].stage]);
    return loads;
  }

  Splits splits_;
  const BuiltRun& run_;
  const SynthesisRequest& request_;
  const ChunkPlacement& placement_;
  std::optional<std::size_t> activation_limit_;
  std::size_t passes_; ///< per chunk
  BalanceStart start_;
  std::optional<synthesis::Order> best_;
  synthesis::Progress progress_; ///< of the best split
  std::uint64_t steps_ = 0;
  bool at_start_ = false; ///< the next split is the first of a pass
  bool ended_ = false;
};

} // namespace

FoundSplit find_split(const RunSpec& spec, const BuiltRun& run, const SynthesisRequest& request,
                      const ChunkPlacement& placement, std::optional<synthesis::Order> first) {
  return SplitSearch{spec, run, request, placement, std::move(first)}.run();
}

} // namespace ppsim
