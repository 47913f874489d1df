#include "load_model.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "files.hpp"
#include "model_file.hpp"
#include "options/setters.hpp"

namespace ppsim::cli {
namespace {

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

} // namespace

bool names_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml") || text == "-";
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

void load_order(Inputs& inputs) {
  const std::string name = display_name(*inputs.schedule_file);
  traces::ScheduleFile file = traces::read_schedule(read_file(*inputs.schedule_file, inputs.place_of("schedule-file")),
                                                    name, inputs.forward_only);
  inputs.order = std::make_shared<const GivenOrder>(
      std::move(file.schedule), name, fmt::format("`schedule-file` {}", *inputs.schedule_file), std::move(file.notes));
}

} // namespace ppsim::cli
