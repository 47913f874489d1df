// --fixed: the values that a plan may choose.

#include "ppsim/base/words.hpp"
#include "ppsim/schedule/generators.hpp"

#include <array>

#include "setters.hpp"

namespace ppsim::cli {
namespace {

using ReadValue = Result (*)(PlanChoices&, std::string_view);

template <auto member, std::size_t least, std::size_t most>
Result read_count(PlanChoices& choices, std::string_view text) {
  std::size_t number = 0;
  if (auto wrong = parse_count(text, {least, most}, number)) return wrong;
  auto& list = choices.*member;
  const auto value = static_cast<typename std::remove_reference_t<decltype(list)>::value_type>(number);
  if (std::ranges::find(list, value) != list.end())
    return Wrong{fmt::format("{} appears twice", in_quotes(text)), "name each value once"};
  list.push_back(value);
  return std::nullopt;
}

Result read_schedule(PlanChoices& choices, std::string_view text) {
  return caught([&] { choices.schedules.emplace_back(find_generator(text).name); });
}

Result read_recompute(PlanChoices& choices, std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"none", "selective", "full"};
  const auto* const found = std::ranges::find(words, text);
  if (found == words.end())
    return Wrong{fmt::format("{} is not a kind of recomputation", in_quotes(text)), "none, selective or full"};
  constexpr std::array kinds{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};
  choices.recompute.push_back(kinds[static_cast<std::size_t>(found - words.begin())]);
  return std::nullopt;
}

Result read_split(PlanChoices& choices, std::string_view text) {
  constexpr std::array all{LayerSplit::even, LayerSplit::ends, LayerSplit::work};
  const auto* const found = std::ranges::find(all, text, [](LayerSplit split) { return to_string(split); });
  if (found == all.end()) return Wrong{fmt::format("{} is not a split", in_quotes(text)), "even, ends or work"};
  choices.split.push_back(*found);
  return std::nullopt;
}

Result read_switch(PlanChoices& choices, std::string_view text) {
  if (text != "on" && text != "off") return Wrong{fmt::format("{} is not a switch", in_quotes(text)), "on or off"};
  if (choices.sequence_parallel) return Wrong{"both values are given", "leave it out to try both"};
  choices.sequence_parallel = text == "on";
  return std::nullopt;
}

struct PlanChoiceOption {
  std::string_view name, option;
  ReadValue read;
};
constexpr std::size_t most_ranks = ModelLimits::ranks;
constexpr std::array plan_choice_options{
    PlanChoiceOption{"tp", "tensor-parallel", read_count<&PlanChoices::tensor, 1, most_ranks>},
    PlanChoiceOption{"cp", "context-parallel", read_count<&PlanChoices::context, 1, most_ranks>},
    PlanChoiceOption{"ep", "expert-parallel", read_count<&PlanChoices::expert, 1, most_ranks>},
    PlanChoiceOption{"dp", "data-parallel", read_count<&PlanChoices::data, 1, most_ranks>},
    PlanChoiceOption{"pp", "stages", read_count<&PlanChoices::stages, 1, Limits::stages>},
    PlanChoiceOption{"mbs", "microbatch-size", read_count<&PlanChoices::microbatch_size, 1, most_ranks>},
    PlanChoiceOption{"vpp", "virtual-stages", read_count<&PlanChoices::chunks, 1, Limits::chunks>},
    PlanChoiceOption{"schedule", "schedules", read_schedule},
    PlanChoiceOption{"split", "split", read_split},
    PlanChoiceOption{"recompute", "recompute", read_recompute},
    PlanChoiceOption{"zero", "zero-stage", read_count<&PlanChoices::zero_stage, 0, 3>},
    PlanChoiceOption{"sp", "sequence-parallel", read_switch}};

} // namespace

Result set_fixed(Inputs& inputs, std::string_view text) {
  PlanChoices choices;
  std::vector<std::string_view> seen;
  for (const std::string_view item : split_list(text)) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = trimmed(item.substr(0, equals));
    const auto known = [&](const PlanChoiceOption& each) { return each.name == name || each.option == name; };
    const auto* const found = std::ranges::find_if(plan_choice_options, known);
    if (found == plan_choice_options.end() || equals == item.size()) {
      std::vector<std::string_view> names;
      names.reserve(plan_choice_options.size());
      for (const PlanChoiceOption& each : plan_choice_options) names.push_back(each.name);
      const std::string remedy = fmt::format("NAME=VALUE, one of {}", joined(names, ", "));
      return Wrong{fmt::format("{} cannot be fixed", in_quotes(item)), did_you_mean(name, names, remedy)};
    }
    if (std::ranges::count(seen, found->name) > 0)
      return Wrong{fmt::format("{} appears twice", in_quotes(found->name)),
                   fmt::format("give several values together: {}=4/8", found->name)};
    seen.push_back(found->name);
    for (std::string_view rest = item.substr(equals + 1);;) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      if (auto wrong = found->read(choices, trimmed(rest.substr(0, slash)))) {
        wrong->what = fmt::format("{}: {}", found->name, wrong->what);
        return wrong;
      }
      if (slash == rest.size()) break;
      rest.remove_prefix(slash + 1);
    }
  }
  inputs.choices = std::move(choices);
  return std::nullopt;
}

} // namespace ppsim::cli
