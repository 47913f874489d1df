#include "load_model.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/study/measured_jitter.hpp"
#include "ppsim/traces/measured_collective.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "files.hpp"
#include "model_file.hpp"
#include "options/setters.hpp"
#include "run_files.hpp"

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

/// Sets the device's own link if requested.
void name_device_link(const Inputs& inputs, std::string_view option, std::optional<LinkSheet>& link,
                      Problems& problems) {
  if (!link || link->name != device_link) return;
  if (inputs.device_sheet)
    link = find_link(inputs.device_sheet->link);
  else
    problems.add(inputs.place_of(option), "which generation of NVLink is it?",
                 "give nvlink3, nvlink4 or nvlink5 ('ppsim list links'), or --device");
}

/// Reads the files given for a link. If no link is named with them, collectives without a file are computed for
/// `standard`.
void load_link_files(const Inputs& inputs, std::string_view option, const std::vector<std::string>& files,
                     const LinkSheet* standard, std::optional<LinkSheet>& link, Problems& problems) {
  if (files.empty()) return;
  const bool is_named = link.has_value();
  if (!is_named && standard != nullptr) link = *standard;
  std::vector<MeasuredCollective> measured;
  const std::string where = inputs.place_of(option);
  for (const std::string& file : files) try {
      measured.push_back(traces::read_measured_collective({display_name(file), read_file(file, where)}));
    } catch (const Error& error) {
      append(error, problems);
    }
  if (!link || measured.size() < files.size()) return;
  const auto exchanges = [](const MeasuredCollective& one) { return one.collective == Collective::all_to_all; };
  const bool has_exchange = std::ranges::any_of(measured, exchanges);
  std::ranges::move(measured, std::back_inserter(link->measured)); // in addition to the link's shipped tables
  if (option == "expert-link" && !is_named && !has_exchange)
    problems.add(where, "experts exchange by all-to-all, but none of the files has one",
                 "give a file of alltoall_perf, or also name a link");
}

void load_links(Inputs& inputs, Problems& problems) {
  Training& training = inputs.training;
  name_device_link(inputs, "link", inputs.link, problems);
  name_device_link(inputs, "inter-node-link", inputs.inter_node_link, problems);
  name_device_link(inputs, "tensor-link", training.tensor_link, problems);
  name_device_link(inputs, "expert-link", training.expert_link, problems);
  name_device_link(inputs, "data-link", training.data_link, problems);
  name_device_link(inputs, "context-link", training.context_link, problems);
  const LinkSheet* const inside = inputs.device_sheet ? &find_link(inputs.device_sheet->link) : nullptr;
  load_link_files(inputs, "tensor-link", inputs.tensor_link_files, inside, training.tensor_link, problems);
  load_link_files(inputs, "expert-link", inputs.expert_link_files, &standard_link(), training.expert_link, problems);
  load_link_files(inputs, "context-link", inputs.context_link_files, inside, training.context_link, problems);
  load_link_files(inputs, "data-link", inputs.data_link_files, &standard_link(), training.data_link, problems);
}

} // namespace

std::string from_folder(const Option& option, std::string value, const std::string& folder) {
  const auto found = [&](std::string_view path) {
    return path == "-" ? std::string{path} : (std::filesystem::path{folder} / path).string();
  };
  if (option.name == "model" || option.name == "device") return names_file(value) ? found(value) : value;
  const auto is_its_link = [&](const NamedLink& link) { return link.field == option.name; };
  if (std::ranges::none_of(links_of(Training{}), is_its_link)) return value;
  std::string all;
  for (const std::string_view item : split_list(value))
    all += fmt::format("{}{}", all.empty() ? "" : ",", names_link_file(item) ? found(item) : std::string{item});
  return all;
}

bool names_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml") || text == "-";
}

void load_model(Inputs& inputs, Problems& problems) {
  if (inputs.model) inputs.model_shape = load<Model>(inputs, "model", *inputs.model, find_model, read_model, problems);
  if (inputs.device)
    inputs.device_sheet = load<DeviceSheet>(inputs, "device", *inputs.device, find_device, read_device, problems);
  load_links(inputs, problems);
}

void load_order(Inputs& inputs) {
  const std::string name = display_name(*inputs.schedule_file);
  traces::ScheduleFile file = traces::read_schedule(read_file(*inputs.schedule_file, inputs.place_of("schedule-file")),
                                                    name, inputs.forward_only);
  inputs.order = std::make_shared<const GivenOrder>(
      std::move(file.schedule), name, fmt::format("`schedule-file` {}", *inputs.schedule_file), std::move(file.notes));
}

void load_jitter(Inputs& inputs) {
  inputs.measured_jitter = std::make_shared<const MeasuredJitter>(measured_jitter(
      read_run_file(*inputs.jitter_from, inputs.place_of("jitter-from")), display_name(*inputs.jitter_from)));
}

} // namespace ppsim::cli
