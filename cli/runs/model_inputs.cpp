#include "model_inputs.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/files.hpp"
#include "files/model_file.hpp"
#include "options/options.hpp"
#include "options/setters.hpp"

namespace ppsim::cli {
namespace {

/// A shipped one has neither folder nor ending.
bool names_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml") || text == "-";
}

void append(const Error& error, Problems& problems) {
  for (const Problem& problem : error.problems()) problems.add(problem.where, problem.what, problem.hint);
}

template <class Entry>
std::optional<Entry> load(const Inputs& inputs, std::string_view option, const std::string& name,
                          const Entry& (*find)(std::string_view, std::string_view),
                          Entry (*read)(std::string_view, std::string_view, Problems&), Problems& problems) {
  const std::string where = inputs.place_of(option);
  try {
    if (names_file(name)) return read(read_file(name, where), display_name(name), problems);
    return find(name, where);
  } catch (const Error& error) {
    append(error, problems);
    return std::nullopt;
  }
}

/// Puts the device's own link where one asked for that.
void name_device_link(const Inputs& inputs, std::string_view option, std::optional<LinkSheet>& link,
                      Problems& problems) {
  if (!link || link->name != device_link) return;
  if (inputs.device_sheet)
    link = find_link(inputs.device_sheet->link);
  else
    problems.add(inputs.place_of(option), "which generation of NVLink is it?",
                 "give nvlink3, nvlink4 or nvlink5 ('ppsim list links'), or --device");
}

/// Options of the costs that were given, and are therefore not computed. `flags`: of those on the command line alone.
std::string given_costs(const Inputs& inputs, bool flags) {
  std::string given;
  for (const Option& option : options()) {
    const bool is_cost = option.section == Section::costs || option.section == Section::communication ||
                         option.section == Section::memory;
    // how things run, not what they cost
    const bool is_rule = !option.choices.empty() || option.argument == Argument::none ||
                         option.name == "memory-limit" || option.name == "send-slices" ||
                         option.name == "stages-per-node" || option.name == "microbatches-without-recompute" ||
                         option.name.ends_with("link");
    if (is_cost && !is_rule && (flags ? inputs.has_flag(option.name) : inputs.where.contains(option.name)))
      given += fmt::format("{}{}", given.empty() ? "" : ", ", option.name);
  }
  return given;
}

/// Whether it was said how long tasks take, if only of one pass.
bool has_task_costs(const Inputs& inputs) {
  constexpr std::array<std::string_view, 4> passes{"forward", "backward", "input-grad", "weight-grad"};
  const bool varies = inputs.vary && std::ranges::find(passes, inputs.vary->option) != passes.end();
  return varies || inputs.forward || inputs.backward || inputs.input_grad || inputs.weight_grad;
}

} // namespace

const LinkSheet& standard_link() {
  return find_link("ib-ndr");
}

void load_model(Inputs& inputs, Problems& problems) {
  if (inputs.model) inputs.model_shape = load<Model>(inputs, "model", *inputs.model, find_model, read_model, problems);
  if (inputs.device)
    inputs.device_sheet = load<DeviceSheet>(inputs, "device", *inputs.device, find_device, read_device, problems);
  name_device_link(inputs, "link", inputs.link, problems);
  name_device_link(inputs, "inter-node-link", inputs.inter_node_link, problems);
  name_device_link(inputs, "tensor-link", inputs.training.tensor_link, problems);
  name_device_link(inputs, "expert-link", inputs.training.expert_link, problems);
  name_device_link(inputs, "data-link", inputs.training.data_link, problems);
}

Model model_of(const Inputs& inputs) {
  PPSIM_ASSERT(inputs.model_shape.has_value());
  Model model = *inputs.model_shape;
  if (inputs.layers) model.layers = static_cast<std::int64_t>(*inputs.layers);
  return model;
}

std::optional<ModelCosts> price_model(const Inputs& inputs, Problems& problems) {
  if (!inputs.model_shape) {
    for (const Option& option : options())
      if (option.section == Section::model && option.name != "device" && inputs.where.contains(option.name))
        problems.add(inputs.place_of(option.name), "there is no model whose costs it could change",
                     "give --model ('ppsim list models')");
    return std::nullopt;
  }
  for (const char* option : {"embedding", "head"})
    if (inputs.where.contains(option))
      problems.add(inputs.place_of(option), "the model's shape has it already", "leave it out");
  if (!inputs.device_sheet) {
    problems.add(inputs.place_of("model"), "how fast is the device that runs it?",
                 "give --device ('ppsim list devices')");
    return std::nullopt;
  }
  try {
    return model_costs(model_of(inputs), *inputs.device_sheet, inputs.training);
  } catch (const Error& error) {
    append(error, problems);
    return std::nullopt;
  }
}

std::string cost_source(const Inputs& inputs) {
  if (!inputs.model_shape || !inputs.device_sheet) {
    // A file's word for its costs does not hold for those that were given in their place.
    const std::string given = inputs.source && !inputs.has_flag("source") ? given_costs(inputs, true) : "";
    return fmt::format("{}{}{}", inputs.source.value_or(""), given.empty() ? "" : "; given: " + given,
                       inputs.source && !has_task_costs(inputs) ? "; forward and backward are the defaults" : "");
  }
  std::string text = inputs.source ? *inputs.source + "; " : "";
  text += fmt::format("computed from the shape of {} and the datasheet of {}", inputs.model_shape->name,
                      inputs.device_sheet->name);
  if (!inputs.vary || inputs.vary->option != "efficiency")
    text += fmt::format(" at efficiency {:g}", static_cast<double>(inputs.training.efficiency_ppm) / 1e6);
  text += ", not measured";
  if (!inputs.link && !inputs.comm && !inputs.latency && !inputs.bandwidth)
    text += fmt::format("; {} between stages", standard_link().name);
  if (const std::string given = given_costs(inputs, false); !given.empty()) text += fmt::format("; given: {}", given);
  return text;
}

} // namespace ppsim::cli
