#include "replay_setters.hpp"

#include "ppsim/base/words.hpp"

#include <charconv>
#include <cmath>

namespace ppsim::cli {
namespace {

/// All of `text` as a finite number.
std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// "0.05" or "5%".
std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto number = parse_number(text);
  return number ? std::optional{*number / (percent ? 100 : 1)} : std::nullopt;
}

} // namespace

Result set_backend(Inputs& inputs, std::string_view text) {
  std::vector<std::string_view> names;
  for (const runtime::BackendEntry& entry : runtime::backends()) names.push_back(entry.name);
  if (std::ranges::find(names, text) == names.end())
    return Wrong{
        fmt::format("unknown backend {}", in_quotes(text)),
        did_you_mean(text, names, fmt::format("one of {}; 'ppsim list backends' says more", joined(names, ", ")))};
  inputs.backend = std::string{text};
  return std::nullopt;
}

Result set_compute(Inputs& inputs, std::string_view text) {
  using runtime::Compute;
  static constexpr std::array choices{Choice<Compute>{"real", Compute::real}, Choice<Compute>{"timed", Compute::timed}};
  return set_choice(inputs.compute, text, choices);
}

Result set_transport(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<std::string_view>{"direct", "direct"},
                                      Choice<std::string_view>{"paced", "paced"},
                                      Choice<std::string_view>{"nccl-self", "nccl-self"}};
  Result wrong;
  if (const auto transport = choose(text, choices, wrong)) inputs.transport = std::string{*transport};
  return wrong;
}

Result set_block(Inputs& inputs, std::string_view text) {
  using runtime::Block;
  static constexpr std::array choices{Choice<Block>{"mlp", Block::mlp},
                                      Choice<Block>{"transformer", Block::transformer}};
  return set_choice(inputs.workload.block, text, choices);
}

Result set_trainer(Inputs& inputs, std::string_view text) {
  using Kind = runtime::OptimizerKind;
  static constexpr std::array choices{Choice<Kind>{"sgd", Kind::sgd}, Choice<Kind>{"adam", Kind::adam}};
  return set_choice(inputs.workload.optimizer, text, choices);
}

Result set_learning_rate(Inputs& inputs, std::string_view text) {
  const auto rate = parse_number(text);
  if (!rate || *rate <= 0 || *rate > 1)
    return Wrong{fmt::format("{} is no learning rate", in_quotes(text)), "a number above 0, up to 1: 0.05"};
  inputs.workload.learning_rate = *rate;
  return std::nullopt;
}

Result set_timeout(Inputs& inputs, std::string_view text) {
  Duration time{0};
  if (auto wrong = parse_unit(text, time)) return wrong;
  if (time == Duration{0}) return Wrong{"must be more than 0", "for example 30s"};
  inputs.timeout = time;
  return std::nullopt;
}

Result set_fault(Inputs& inputs, std::string_view text) {
  inputs.fault = runtime::parse_fault(text);
  if (inputs.fault) return std::nullopt;
  static const std::vector<std::string_view> kinds{"fail", "stall", "no-memory", "lose", "resize"};
  const std::string_view kind = text.substr(0, text.find('@'));
  return Wrong{
      fmt::format("{} is no fault", in_quotes(text)),
      std::ranges::find(kinds, kind) == kinds.end()
          ? did_you_mean(kind, kinds, "one of fail, stall, no-memory, lose, resize") + " with @ and a task: fail@1F3"
          : fmt::format("{0}@ and a task that has this: {0}@1F3; only F allocates, and W sends nothing", kind)};
}

Result set_calibrate(Inputs& inputs, std::string_view text) {
  const double share = parse_share(text).value_or(0);
  if (share <= 0 || share >= 1)
    return Wrong{fmt::format("{} is no share of the steps", in_quotes(text)),
                 "a share or a percentage above 0 and below 100%: 0.25, 25%"};
  inputs.calibrate = share;
  return std::nullopt;
}

Result set_tolerance(Inputs& inputs, std::string_view text) {
  const bool percent = text.ends_with('%');
  const double share = parse_share(text).value_or(-1);
  if (share < 0 || share > 10)
    return Wrong{fmt::format("{} is no share", in_quotes(text)), "a share or a percentage, up to 1000%: 0.05, 5%"};
  if (!percent && share > 1)
    return Wrong{fmt::format("{} is more than the whole", in_quotes(text)),
                 fmt::format("in percent that is {}%", text)};
  inputs.tolerance = share;
  return std::nullopt;
}

} // namespace ppsim::cli
