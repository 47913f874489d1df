#include "fitting.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "options/options.hpp"
#include "terminal/progress.hpp"

namespace ppsim::cli {
namespace {

struct Flag {
  std::string_view option;
  std::string_view value;
};

using Flags = std::vector<Flag>;

/// Memory savings of one kind of parallelism or recomputation: changes by rising effort, of which the first that helps
/// is reported.
using Approach = std::vector<Flags>;

const std::array<Approach, 5>& approaches() {
  static const std::array<Approach, 5> all{
      Approach{{{"tensor-parallel", "2"}}, {{"tensor-parallel", "4"}}, {{"tensor-parallel", "8"}}},
      Approach{{{"recompute", "selective"}},
               {{"recompute", "full"}},
               {{"recompute", "full"}, {"tensor-parallel", "2"}},
               {{"recompute", "full"}, {"tensor-parallel", "4"}},
               {{"recompute", "full"}, {"tensor-parallel", "8"}}},
      Approach{{{"context-parallel", "2"}}, {{"context-parallel", "4"}}, {{"context-parallel", "8"}}},
      Approach{{{"data-parallel", "2"}}, {{"data-parallel", "4"}}, {{"data-parallel", "8"}}, {{"data-parallel", "16"}}},
      Approach{{{"expert-parallel", "8"}, {"data-parallel", "8"}},
               {{"expert-parallel", "64"}, {"data-parallel", "64"}},
               {{"expert-parallel", "64"}, {"data-parallel", "64"}, {"recompute", "full"}}}};
  return all;
}

/// Whether the change has no effect: the inputs already go as far, or lack the sizes that it would change.
bool changes_nothing(const Inputs& inputs, const Flag& flag) {
  const bool knows_checkpoint = inputs.model || inputs.boundary_bytes || inputs.checkpoint_bytes;
  if (flag.option == "recompute")
    return !knows_checkpoint || inputs.recompute == RecomputeKind::full ||
           (inputs.recompute == RecomputeKind::selective && flag.value == "selective");
  if (!inputs.model_shape || (flag.option == "expert-parallel" && inputs.model_shape->experts == 0)) return true;
  const Training& training = inputs.training;
  const std::int64_t now = flag.option == "tensor-parallel"    ? training.tensor_parallel
                           : flag.option == "expert-parallel"  ? training.expert_parallel
                           : flag.option == "context-parallel" ? training.context_parallel
                                                               : training.data_parallel;
  return std::stoll(std::string{flag.value}) <= now;
}

/// Whether simulating all schedules takes long.
bool is_large(const Inputs& inputs) {
  constexpr std::size_t most = std::size_t{1} << 14;
  return !inputs.schedules && inputs.stages.value_or(1) * inputs.microbatches.value_or(1) > most;
}

/// What fits after a change, in words and figures.
struct Fit {
  std::string words;
  std::int64_t devices = 0;
  Duration step_time{0};
  Bytes peak;
  /// Whether `other` takes as many devices, and no more time and memory.
  [[nodiscard]] bool is_beaten_by(const Fit& other) const {
    return other.devices == devices && other.step_time <= step_time && other.peak <= peak;
  }
};

/// The result of the change if something fits then.
std::optional<Fit> try_change(const Inputs& inputs, const Flags& change, std::size_t threads) {
  Inputs changed = inputs;
  changed.balance = false; // each trial would otherwise search, too
  if (is_large(inputs)) changed.schedules = {"1f1b", "interleaved", "zb-v", "v-half", "v-min"};
  std::string flags;
  for (const Flag& flag : change) {
    if (changes_nothing(inputs, flag)) return std::nullopt;
    const auto wrong = find_option(flag.option)->set(changed, flag.value);
    PPSIM_ASSERT(!wrong);
    changed.where[std::string{flag.option}] = fmt::format("`{}`", flag.option);
    flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", flag.option, flag.value);
  }
  try {
    const Comparison comparison = compare_watched(changed, threads).comparison;
    if (!comparison.recommendation) return std::nullopt;
    const Contender& best = comparison.contenders[comparison.recommendation->best];
    const auto devices = static_cast<std::int64_t>(comparison.stages) * changed.training.tensor_parallel *
                         changed.training.context_parallel * changed.training.data_parallel;
    const std::int64_t batch = changed.training.data_parallel / inputs.training.data_parallel;
    const std::string on =
        inputs.model ? fmt::format(" ({} devices{})", devices,
                                   batch > 1 ? fmt::format(", a batch {} times as large", batch) : std::string{})
                     : std::string{};
    return Fit{fmt::format(" With {}{} {} fits: {}, {}.", flags, on, best.name, format_duration(best.report.step_time),
                           format_bytes(best.report.peak_bytes())),
               devices, best.report.step_time, best.report.peak_bytes()};
  } catch (const Error&) { // the model cannot be split like that, or sizes for recomputation are unknown
    return std::nullopt;
  }
}

} // namespace

std::string what_would_fit(const Inputs& inputs, std::size_t threads) {
  std::vector<Fit> fits;
  for (const Approach& approach : approaches())
    for (const Flags& change : approach)
      if (auto found = try_change(inputs, change, threads)) {
        const bool is_beaten = std::ranges::any_of(fits, [&](const Fit& each) { return found->is_beaten_by(each); });
        if (!is_beaten) fits.push_back(*std::move(found));
        break;
      }
  std::string text;
  for (const Fit& each : fits) text += each.words;
  return text;
}

} // namespace ppsim::cli
