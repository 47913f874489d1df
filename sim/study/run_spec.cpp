#include "ppsim/study/run_spec.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim {
namespace {

using Unit = Axis::Unit;

template <class Value>
struct Numbers; // reads a single number of that type
template <>
struct Numbers<Duration> {
  static constexpr Unit unit = Unit::time;
};
template <>
struct Numbers<Bytes> {
  static constexpr Unit unit = Unit::bytes;
};
template <>
struct Numbers<Bandwidth> {
  static constexpr Unit unit = Unit::rate;
};
template <>
struct Numbers<std::size_t> {
  static constexpr Unit unit = Unit::count;
};
template <>
struct Numbers<std::int64_t> {
  static constexpr Unit unit = Unit::count;
};

template <>
struct Numbers<FlopCount> {
  static constexpr Unit unit = Unit::count;
};

template <class Value>
concept Number = requires { Numbers<Value>::unit; };

/// The object with the member.
template <class Spec, class Value, class Holder>
auto& place_in(Spec& spec, Value Holder::*member) {
  if constexpr (std::is_same_v<Holder, Training>)
    return spec.training.*member;
  else
    return spec.*member;
}

/// A member that always has a value counts as unset: see RunSpec::has().
template <class Holder, class Value>
bool is_said(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return value.has_value();
  else if constexpr (std::is_same_v<Value, bool> && !std::is_same_v<Holder, Training>)
    return value;
  else
    return false;
}

template <class Value, class Holder>
Holder holder_of(Value Holder::*);

template <Number Value>
void put(Value& place, std::int64_t number) {
  place = Value(number);
}
template <Number Value>
void put(std::optional<Value>& place, std::int64_t number) {
  place = Value(number);
}
template <Number Value>
void put(std::optional<std::vector<Value>>& place, std::int64_t number) {
  place = {Value(number)};
}

template <class Place>
struct NumberOf {};
template <Number Value>
struct NumberOf<Value> : Numbers<Value> {};
template <Number Value>
struct NumberOf<std::optional<Value>> : Numbers<Value> {};
template <Number Value>
struct NumberOf<std::optional<std::vector<Value>>> : Numbers<Value> {};

enum class Kind : std::uint8_t { rule, cost, of_model };

template <auto member>
constexpr RunField field(std::string_view name, Kind kind = Kind::rule) {
  using Place = std::remove_reference_t<decltype(place_in(std::declval<RunSpec&>(), member))>;
  RunField row{
      .name = name,
      .is_given = [](const RunSpec& spec) { return is_said<decltype(holder_of(member))>(place_in(spec, member)); },
      .is_cost = kind == Kind::cost,
      .is_of_model = kind == Kind::of_model};
  if constexpr (requires { NumberOf<Place>::unit; }) {
    row.unit = NumberOf<Place>::unit;
    row.set = [](RunSpec& spec, std::int64_t number) { put(place_in(spec, member), number); };
  }
  return row;
}

/// A field in millionths.
template <auto member>
constexpr RunField factor(std::string_view name, Kind kind = Kind::rule) {
  RunField row = field<member>(name, kind);
  row.unit = Unit::factor;
  return row;
}

constexpr RunField pair_rule() {
  RunField row = field<&CostSpec::pair>("pair");
  row.unit = Unit::factor;
  row.set = [](RunSpec& spec, std::int64_t number) { spec.pair = PairRule{PairRule::Kind::factor, number}; };
  return row;
}

/// Its numbers are the factor of the named stages, or of all.
constexpr RunField slow_stages() {
  RunField row = field<&UnevenSpec::slow>("slow");
  row.unit = Unit::factor;
  row.names_what_varies = true;
  row.set = [](RunSpec& spec, std::int64_t number) {
    if (!spec.slow) spec.slow.emplace(1);
    for (SlowStage& each : *spec.slow) each.ppm = number;
  };
  return row;
}

constexpr std::array table{
    field<&PipelineSpec::stages>("stages"),
    field<&PipelineSpec::microbatches>("mb"),
    field<&PipelineSpec::vpp>("vpp"),
    field<&PipelineSpec::schedule>("schedule"),
    field<&PipelineSpec::group_size>("group-size"),
    field<&PipelineSpec::overlap_expert_exchange>("overlap-moe-expert-parallel-comm"),
    field<&PipelineSpec::descending_backward>("gpipe-backward"),
    field<&PipelineSpec::activation_limit>("activation-limit"),
    field<&PipelineSpec::replicas>("replicas"),
    field<&PipelineSpec::layers>("layers"),
    field<&PipelineSpec::first_stage_layers>("first-stage-layers"),
    field<&PipelineSpec::last_stage_layers>("last-stage-layers"),
    field<&PipelineSpec::layout>("layout"),
    field<&PipelineSpec::balance>("balance"),
    field<&PipelineSpec::forward_only>("forward-only"),
    field<&ModelSpec::model_shape>("model"),
    field<&ModelSpec::device_sheet>("device"),
    field<&ModelSpec::flops>("flops"),
    field<&ModelSpec::measured_step>("measured-step", Kind::of_model),
    factor<&Training::efficiency_ppm>("efficiency", Kind::of_model),
    field<&Training::microbatch_size>("microbatch-size", Kind::of_model),
    field<&Training::sequence_length>("sequence-length", Kind::of_model),
    field<&Training::tensor_parallel>("tensor-parallel", Kind::of_model),
    field<&Training::sequence_parallel>("sequence-parallel", Kind::of_model),
    field<&Training::context_parallel>("context-parallel", Kind::of_model),
    field<&Training::context_exchange>("cp-comm-type", Kind::of_model),
    field<&Training::expert_parallel>("expert-parallel", Kind::of_model),
    field<&Training::expert_tensor_parallel>("expert-tensor-parallel", Kind::of_model),
    field<&Training::token_dispatcher>("moe-token-dispatcher", Kind::of_model),
    field<&Training::dispatch_data_type>("moe-dispatch-data-type", Kind::of_model),
    field<&Training::gpus_per_node>("gpus-per-node", Kind::of_model),
    field<&Training::data_parallel>("data-parallel", Kind::of_model),
    field<&Training::distributed_optimizer>("distributed-optimizer", Kind::of_model),
    field<&Training::zero_stage>("zero-stage", Kind::of_model),
    field<&Training::overlap_param_gather>("overlap-param-gather", Kind::of_model),
    field<&Training::async_tensor_collective>("async-tensor-model-parallel-allreduce", Kind::of_model),
    field<&Training::data_type>("data-type", Kind::of_model),
    field<&Training::recompute_modules>("recompute-modules", Kind::of_model),
    field<&Training::attention>("attention", Kind::of_model),
    field<&Training::gradient_bytes>("gradient-bytes-per-parameter", Kind::of_model),
    field<&Training::optimizer_bytes>("optimizer-bytes-per-parameter", Kind::of_model),
    field<&Training::tensor_link>("tensor-link", Kind::of_model),
    field<&Training::expert_link>("expert-link", Kind::of_model),
    field<&Training::context_link>("context-link", Kind::of_model),
    field<&Training::data_link>("data-link", Kind::of_model),
    field<&CostSpec::forward>("forward", Kind::cost),
    field<&CostSpec::backward>("backward", Kind::cost),
    field<&CostSpec::input_grad>("input-grad", Kind::cost),
    field<&CostSpec::weight_grad>("weight-grad", Kind::cost),
    field<&CostSpec::overhead>("overhead", Kind::cost),
    pair_rule(),
    field<&CostSpec::forward_collective>("forward-collective", Kind::cost),
    field<&CostSpec::backward_collective>("backward-collective", Kind::cost),
    field<&CostSpec::embedding>("embedding", Kind::cost),
    field<&CostSpec::head>("head", Kind::cost),
    field<&CostSpec::recompute>("recompute"),
    field<&CostSpec::recompute_time>("recompute-time", Kind::cost),
    field<&CostSpec::microbatches_without_recompute>("microbatches-without-recompute"),
    field<&CostSpec::recompute_method>("recompute-method"),
    field<&CostSpec::recompute_num_layers>("recompute-num-layers"),
    field<&UpdateSpec::reduce>("reduce", Kind::cost),
    field<&UpdateSpec::tied_embedding_reduce>("tied-embedding-reduce", Kind::cost),
    field<&UpdateSpec::optimizer>("optimizer", Kind::cost),
    field<&UpdateSpec::overlap_grad_reduce>("overlap-grad-reduce"),
    field<&UpdateSpec::optimizer_step>("optimizer-step"),
    field<&NetworkSpec::comm>("comm", Kind::cost),
    field<&NetworkSpec::latency>("latency", Kind::cost),
    field<&NetworkSpec::bandwidth>("bandwidth", Kind::cost),
    field<&ModelSpec::link>("link"),
    field<&NetworkSpec::boundary_bytes>("boundary-bytes", Kind::cost),
    field<&NetworkSpec::transfer>("transfer"),
    field<&NetworkSpec::lowering>("lowering"),
    field<&NetworkSpec::overlap_p2p>("overlap-p2p"),
    field<&NetworkSpec::pytorch_reduces>("pytorch-version"),
    field<&NetworkSpec::p2p>("p2p"),
    field<&NetworkSpec::eager_below>("eager-below", Kind::cost),
    factor<&NetworkSpec::comm_slowdown_ppm>("comm-slowdown", Kind::cost),
    field<&NetworkSpec::send_slices>("send-slices"),
    field<&NetworkSpec::stages_per_node>("stages-per-node"),
    field<&ModelSpec::inter_node_link>("inter-node-link"),
    field<&NetworkSpec::inter_node_latency>("inter-node-latency", Kind::cost),
    field<&NetworkSpec::inter_node_bandwidth>("inter-node-bandwidth", Kind::cost),
    slow_stages(),
    field<&UnevenSpec::slow_link>("slow-link"),
    field<&MemorySpec::activation_bytes>("activation-bytes", Kind::cost),
    field<&MemorySpec::weight_activation_bytes>("weight-activation-bytes", Kind::cost),
    field<&MemorySpec::checkpoint_bytes>("checkpoint-bytes", Kind::cost),
    field<&MemorySpec::release_outputs>("release-outputs"),
    field<&MemorySpec::parameter_bytes>("parameter-bytes", Kind::cost),
    field<&MemorySpec::gradient_bytes>("gradient-bytes", Kind::cost),
    field<&MemorySpec::optimizer_bytes>("optimizer-bytes", Kind::cost),
    field<&MemorySpec::memory_limit>("memory-limit"),
    field<&Provenance::title>("title"),
    field<&Provenance::source>("source"),
};

} // namespace

std::span<const RunField> run_fields() {
  return table;
}

RunSpec with_value(const RunSpec& spec, const RunField& field, std::int64_t value) {
  RunSpec changed = spec;
  field.set(changed, value);
  changed.where[std::string{field.name}] = fmt::format("`{}`", field.name);
  return changed;
}

const RunField* find_run_field(std::string_view name) {
  const auto found = std::ranges::find(run_fields(), name, &RunField::name);
  return found == run_fields().end() ? nullptr : &*found;
}

std::string RunSpec::place_of(std::string_view field) const {
  const auto found = where.find(field);
  return found == where.end() ? fmt::format("`{}`", field) : found->second;
}

bool RunSpec::has(std::string_view field) const {
  const RunField* const row = find_run_field(field);
  return (row != nullptr && row->is_given(*this)) || where.contains(field);
}

bool RunSpec::is_asked(std::string_view field) const {
  const auto found = where.find(field);
  return found == where.end() ? has(field) : as_field(found->second).has_value();
}

bool UnevenSpec::names_copies() const {
  return slow && std::ranges::any_of(*slow, [](const SlowStage& each) { return each.copy.has_value(); });
}

std::optional<Communicators> communicators_in(const NetworkSpec& spec) {
  if (!spec.p2p) return std::nullopt;
  switch (*spec.p2p) {
  case P2p::edge:
    return Communicators::edge;
  case P2p::pair:
    return Communicators::pair;
  case P2p::direction:
    return Communicators::direction;
  case P2p::group:
  case P2p::batched:
    break;
  }
  return Communicators::group;
}

Overlap overlap_in(const NetworkSpec& spec) {
  return spec.overlap_p2p.value_or(spec.p2p == P2p::batched ? Overlap::none : Overlap::steady);
}

void check_overlap(const RunSpec& spec, Problems& problems) {
  if (spec.p2p == P2p::batched && overlap_in(spec) != Overlap::none)
    problems.add(spec.place_of("overlap-p2p"), "Megatron-LM overlaps only operations that it does not batch",
                 "leave it out, or leave out `p2p` batched");
}

std::string_view lowering_in(const NetworkSpec& spec, bool has_own) {
  if (spec.lowering) return *spec.lowering;
  return spec.p2p == P2p::batched && !has_own ? "megatron" : "";
}

std::optional<std::string> note_on_batches(const RunSpec& spec, std::string_view lowering) {
  if (spec.p2p != P2p::batched || lowering == "megatron") return std::nullopt;
  return fmt::format("{}: batched is the same as group here: {} places sends and receives, not megatron",
                     spec.place_of("p2p"), lowering.empty() ? "the schedule file" : lowering);
}

} // namespace ppsim
