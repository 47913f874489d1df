#include "ppsim/base/error.hpp"
#include "ppsim/study/build_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ppsim {
namespace {

/// Given costs, which are not computed. `asked`: only those set for this run.
std::string given_costs(const RunSpec& spec, bool asked) {
  std::string given;
  for (const RunField& field : run_fields())
    if (field.is_cost && (asked ? spec.is_asked(field.name) : spec.has(field.name)))
      given += fmt::format("{}{}", given.empty() ? "" : ", ", field.name);
  return given;
}

/// Whether task times were given, at least for one pass.
bool has_task_costs(const RunSpec& spec) {
  constexpr std::array<std::string_view, 4> passes{"forward", "backward", "input-grad", "weight-grad"};
  const bool varies = spec.vary && std::ranges::find(passes, spec.vary->option) != passes.end();
  return varies || spec.forward || spec.backward || spec.input_grad || spec.weight_grad;
}

/// Whether the field describes the devices, number or type of given operations.
bool is_of_operations(std::string_view field) {
  constexpr std::array<std::string_view, 6> fields{"tensor-parallel", "context-parallel", "data-parallel",
                                                   "data-type",       "microbatch-size",  "sequence-length"};
  return std::ranges::find(fields, field) != fields.end();
}

} // namespace

Model model_of(const RunSpec& spec) {
  PPSIM_ASSERT(spec.model_shape.has_value());
  Model model = *spec.model_shape;
  if (spec.layers) model.layers = static_cast<std::int64_t>(*spec.layers);
  return model;
}

std::optional<ModelCosts> price_model(const RunSpec& spec, Problems& problems) {
  if (!spec.model_shape) {
    for (const RunField& field : run_fields())
      if (field.is_of_model && spec.has(field.name) && !(spec.flops && is_of_operations(field.name)) &&
          !((spec.varies_by_chance() || spec.names_copies()) &&
            field.name == "data-parallel")) // the slowest copy ends a step
        problems.add(spec.place_of(field.name), "there is no model whose costs it changes",
                     "give `model` ('ppsim list models')");
    return std::nullopt;
  }
  for (const char* option : {"embedding", "head"})
    if (spec.has(option)) problems.add(spec.place_of(option), "the model's shape defines it", "leave it out");
  if (!spec.device_sheet) {
    problems.add(spec.place_of("model"), "how fast is the device that runs it?",
                 "give `device` ('ppsim list devices')");
    return std::nullopt;
  }
  try {
    return model_costs(model_of(spec), *spec.device_sheet, spec.training);
  } catch (const Error& error) {
    for (const Problem& problem : error.problems()) problems.add(problem.where, problem.what, problem.hint);
    return std::nullopt;
  }
}

std::optional<MicrobatchWork> given_work(const RunSpec& spec, Problems& problems) {
  if (!spec.flops) return std::nullopt;
  if (spec.model_shape) {
    problems.add(spec.place_of("flops"), "given together with `model`, whose shape defines it",
                 "leave one of them out");
    return std::nullopt;
  }
  if (spec.has("microbatch-size") && !spec.has("sequence-length"))
    problems.add(spec.place_of("microbatch-size"), "how long is a sample?", "give `sequence-length`");
  if (spec.has("data-type") && !spec.device_sheet)
    problems.add(spec.place_of("data-type"), "there is no device whose rate it chooses", "give `device`");
  else if (spec.device_sheet && spec.device_sheet->flops_per_second(spec.training.data_type) <= 0)
    problems.add(spec.place_of("data-type"),
                 fmt::format("{} has no rate for {}", spec.device_sheet->name, to_string(spec.training.data_type)),
                 "give bf16");
  MicrobatchWork work = work_of_devices(spec.training, spec.device_sheet);
  work.model.forward = static_cast<double>(spec.flops->count); // all of it: parts are never used
  work.tokens = spec.training.microbatch_size * spec.training.sequence_length;
  return work;
}

namespace {

/// "tensor-link, data-link": those with measured collectives.
std::string measured_links(const Training& training) {
  std::string measured;
  for (const auto& [field, link] : links_of(training))
    if (*link && (*link)->has_files()) measured += fmt::format("{}{}", measured.empty() ? "" : ", ", field);
  return measured;
}

/// "; experts over 32 ranks, each split over 2, tokens by flex": important settings that are often defaults.
std::string expert_words(const Training& training) {
  if (training.expert_parallel == 1) return "";
  const std::int64_t split = training.expert_tensor_ranks();
  return fmt::format("; experts over {} ranks{}{}", training.expert_parallel,
                     split > 1 ? fmt::format(", each split over {}", split) : "",
                     training.expert_link                                     ? ""
                     : training.token_dispatcher == TokenDispatcher::alltoall ? ", tokens by alltoall"
                                                                              : ", tokens by flex");
}

} // namespace

std::string cost_source(const RunSpec& spec) {
  if (!spec.model_shape || !spec.device_sheet) {
    // The description of costs in a file does not apply to costs given instead.
    const std::string given = spec.source && !spec.is_asked("source") ? given_costs(spec, true) : "";
    return fmt::format("{}{}{}", spec.source.value_or(""), given.empty() ? "" : "; given: " + given,
                       spec.source && !has_task_costs(spec) ? "; forward and backward are the defaults" : "");
  }
  std::string text = spec.source ? *spec.source + "; " : "";
  text += fmt::format("computed from the shape of {} and the datasheet of {}", spec.model_shape->name,
                      spec.device_sheet->name);
  if (spec.training.efficiency_ppm && (!spec.vary || spec.vary->option != "efficiency"))
    text += fmt::format(" at efficiency {:g}", static_cast<double>(*spec.training.efficiency_ppm) / 1e6);
  text += ", not measured";
  if (spec.measured_step)
    text += fmt::format(", scaled to a step of {}: compute takes {:.4g} of its time",
                        format_duration(spec.measured_step->time),
                        static_cast<double>(spec.training.compute_ppm) / static_cast<double>(whole_share));
  if (const std::string measured = measured_links(spec.training); !measured.empty())
    text += fmt::format("; collectives of {} measured", measured);
  text += expert_words(spec.training);
  if (spec.stages != 1 && !spec.where.contains("link") && !spec.comm && !spec.latency && !spec.bandwidth)
    text += fmt::format("; {} between stages", spec.link.value_or(standard_link()).name);
  if (const std::string given = given_costs(spec, false); !given.empty()) text += fmt::format("; given: {}", given);
  return text;
}

std::optional<std::string> far_ranks_note(std::string_view place, const Training& training) {
  if (training.tensor_link || training.fit_in_node({training.tensor_parallel, 1})) return std::nullopt;
  return fmt::format(
      "{}: {} ranks are on several nodes of {} (`gpus-per-node`): their collectives have {}'s latency, "
      "and its bandwidth of each of their devices on a node; `tensor-link` takes what nccl-tests measured",
      place, training.tensor_parallel, training.node_ranks(), standard_link().name);
}

std::vector<std::string> link_notes(const RunSpec& spec) {
  std::vector<std::string> notes;
  if (!spec.model_shape || !spec.device_sheet) return notes;
  if (auto note = far_ranks_note(spec.place_of("tensor-parallel"), spec.training)) notes.push_back(*std::move(note));
  for (const CollectiveNote& note : collective_notes(model_of(spec), spec.training))
    notes.push_back(fmt::format("{}: {}", spec.place_of(note.field), note.what));
  return notes;
}

} // namespace ppsim
