#include "options.hpp"

#include "ppsim/sim/error.hpp"
#include "ppsim/sim/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "condition.hpp"

namespace ppsim::cli {
namespace {

using Result = std::optional<Wrong>;

template <class Member>
struct MemberValue;
template <class Value>
struct MemberValue<std::optional<Value> Inputs::*> {
  using type = Value;
};
template <auto member>
using ValueOf = typename MemberValue<decltype(member)>::type;

/// A whole number of at least `least`.
Result parse_count(std::string_view text, std::size_t least, std::size_t& value) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    if (error == std::errc::result_out_of_range)
      return Wrong{fmt::format("{} is too large", in_quotes(text)), "give a smaller whole number"};
    return Wrong{fmt::format("expected a whole number, got {}", in_quotes(text)), "for example 8"};
  }
  if (number < least) return Wrong{"must be at least 1, got 0", "give a whole number from 1 up"};
  value = number;
  return std::nullopt;
}

/// One of a list of whole numbers, from 1 up.
Result parse_unit(std::string_view text, std::size_t& value) {
  return parse_count(text, 1, value);
}

template <auto member, std::size_t least = 1>
Result set_count(Inputs& inputs, std::string_view text) {
  std::size_t number = 0;
  if (auto wrong = parse_count(text, least, number)) return wrong;
  inputs.*member = number;
  return std::nullopt;
}

template <auto member>
Result set_text(Inputs& inputs, std::string_view text) {
  if (text.empty()) return Wrong{"is empty", "leave it out"};
  if (std::ranges::any_of(
          text, [](char character) { return static_cast<unsigned char>(character) < 0x20 || character == 0x7F; }))
    return Wrong{fmt::format("{} has control characters", in_quotes(text)), "leave them out"};
  inputs.*member = std::string{text};
  return std::nullopt;
}

bool is_bare_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::ranges::count(text, '.') < 2;
}

/// "12,4ms": one comma between digits.
bool is_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && is_bare_number(text.substr(0, comma)) &&
         text.find(',', comma + 1) == std::string_view::npos;
}

Result parse_unit(std::string_view text, Duration& value) {
  const auto parsed = parse_duration(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  if (is_bare_number(text))
    return Wrong{fmt::format("{} has no unit", in_quotes(text)), fmt::format("give ns, us, ms or s: {}ms", text)};
  if (text.starts_with('-')) return Wrong{fmt::format("{} is negative", in_quotes(text)), "times are 0 or more"};
  return Wrong{fmt::format("{} is not a duration", in_quotes(text)),
               "a number and ns, us, ms or s, up to a day: 1.5ms"};
}

Result parse_unit(std::string_view text, Bytes& value) {
  const auto parsed = parse_bytes(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  if (is_bare_number(text))
    return Wrong{fmt::format("{} has no unit", in_quotes(text)),
                 fmt::format("give B, KiB, MiB, GiB or kB, MB, GB: {}MiB", text)};
  if (text.starts_with('-')) return Wrong{fmt::format("{} is negative", in_quotes(text)), "sizes are 0 or more"};
  return Wrong{fmt::format("{} is not a size", in_quotes(text)),
               "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB: 16MiB"};
}

Result parse_unit(std::string_view text, Bandwidth& value) {
  const auto parsed = parse_bandwidth(text);
  if (parsed) value = *parsed;
  if (parsed) return std::nullopt;
  return Wrong{fmt::format("{} is not a bandwidth", in_quotes(text)),
               "a number above 0 and a unit per second: 50GB/s, 400Gbit/s"};
}

template <auto member>
Result set_unit(Inputs& inputs, std::string_view text) {
  ValueOf<member> value{1};
  if (auto wrong = parse_unit(text, value)) return wrong;
  inputs.*member = value;
  return std::nullopt;
}

/// One value, or a list with commas.
template <auto member>
Result set_list(Inputs& inputs, std::string_view text) {
  ValueOf<member> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view item = text.substr(begin, end - begin);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    auto& value = values.emplace_back();
    if (auto wrong = parse_unit(item, value)) {
      if (text.find(',') != std::string_view::npos)
        wrong->what = fmt::format("value {}: {}", values.size(), wrong->what);
      if (!std::is_same_v<decltype(values), std::vector<std::size_t>> && is_decimal_comma(text))
        wrong->hint = "a comma separates values; a decimal is written with a point, such as 12.4ms";
      return wrong;
    }
    begin = end + 1;
  }
  inputs.*member = std::move(values);
  return std::nullopt;
}

template <class Value>
struct Choice {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t size>
std::optional<Value> choose(std::string_view text, const std::array<Choice<Value>, size>& choices, Result& wrong) {
  std::vector<std::string_view> words;
  std::string listed;
  for (const auto& choice : choices) {
    if (choice.word == text) return choice.value;
    words.push_back(choice.word);
    listed += fmt::format("{}{}", listed.empty() ? "one of " : ", ", choice.word);
  }
  wrong = Wrong{fmt::format("unknown value {}", in_quotes(text)), did_you_mean(text, words, listed)};
  return std::nullopt;
}

Result set_transfer(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<TransferModel>{"latency", TransferModel::latency},
                                      Choice<TransferModel>{"link", TransferModel::link},
                                      Choice<TransferModel>{"blocking", TransferModel::blocking}};
  Result wrong;
  if (const auto model = choose(text, choices, wrong)) inputs.transfer = *model;
  return wrong;
}

Result set_optimizer_step(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<OptimizerStep>{"synchronous", OptimizerStep::synchronous},
                                      Choice<OptimizerStep>{"per-stage", OptimizerStep::per_stage}};
  Result wrong;
  if (const auto step = choose(text, choices, wrong)) inputs.optimizer_step = *step;
  return wrong;
}

Result set_backward_order(Inputs& inputs, std::string_view text) {
  static constexpr std::array choices{Choice<bool>{"ascending", false}, Choice<bool>{"descending", true}};
  Result wrong;
  if (const auto descending = choose(text, choices, wrong)) inputs.descending_backward = *descending;
  return wrong;
}

Result set_pair(Inputs& inputs, std::string_view text) {
  using Kind = PairRule::Kind;
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(factor)) {
    if (factor <= 0 || factor > 100)
      return Wrong{fmt::format("factor {} is out of range", in_quotes(text)), "a number above 0 and at most 100: 0.8"};
    inputs.pair = PairRule{Kind::factor, std::llround(factor * 1e6)};
    return std::nullopt;
  }
  static constexpr std::array choices{Choice<Kind>{"sum", Kind::sum}, Choice<Kind>{"max", Kind::max},
                                      Choice<Kind>{"serial", Kind::serial}, Choice<Kind>{"hide", Kind::hide}};
  Result wrong;
  if (const auto kind = choose(text, choices, wrong)) inputs.pair = PairRule{.kind = *kind};
  if (wrong) wrong->hint += ", or a factor of the sum such as 0.8";
  return wrong;
}

Result set_schedule(Inputs& inputs, std::string_view text) {
  try {
    inputs.schedule = find_generator(text).name;
    return std::nullopt;
  } catch (const Error& error) {
    return Wrong{error.problems().front().what, error.problems().front().hint};
  }
}

/// A flag without a value; in a scenario file it is true or false.
template <bool Inputs::*member>
Result set_flag(Inputs& inputs, std::string_view text) {
  if (text != "true" && text != "false")
    return Wrong{fmt::format("takes no value, got {}", in_quotes(text)),
                 "write the flag alone; in a scenario file, true or false"};
  inputs.*member = text == "true";
  return std::nullopt;
}

Result set_recompute(Inputs& inputs, std::string_view text) {
  using Kind = RecomputeKind;
  static constexpr std::array choices{Choice<Kind>{"none", Kind::none}, Choice<Kind>{"selective", Kind::selective},
                                      Choice<Kind>{"full", Kind::full}};
  Result wrong;
  if (const auto kind = choose(text, choices, wrong)) inputs.recompute = *kind;
  return wrong;
}

Result add_fail_if(Inputs& inputs, std::string_view text) {
  inputs.fail_if.emplace_back(text);
  if (parse_condition(text)) return std::nullopt;
  std::vector<std::string_view> tags;
  for (const Metric& metric : metrics()) tags.push_back(metric.tag);
  return Wrong{
      fmt::format("{} is not a condition", in_quotes(text)),
      did_you_mean(text.substr(0, text.find_first_of(" <>=")), tags,
                   "write METRIC > NUMBER or METRIC < NUMBER: 'bubble_ratio > 0.1', 'step_time_ns > 30ms'; 'ppsim list "
                   "metrics' shows the metrics")};
}

using S = Section;
using A = Argument;
using I = Inputs;

constexpr std::array table{
    Option{"stages", "pp", S::pipeline, A::required, "P", "pipeline stages: devices, ranks", "", "schedule-file",
           set_count<&I::stages>},
    Option{"mb", "microbatches", S::pipeline, A::required, "M", "microbatches per step", "", "schedule-file",
           set_count<&I::microbatches>},
    Option{"vpp", "virtual-stages", S::pipeline, A::required, "V", "chunks per stage (virtual stages); default 1", "",
           "schedule-file", set_count<&I::vpp>},
    Option{"schedule", "", S::pipeline, A::required, "NAME",
           "a schedule by name, see 'ppsim list schedules'; default 1f1b, with --vpp above 1 interleaved", "",
           "schedule-file,SCHEDULE-OPTIONS", set_schedule},
    Option{"schedule-file", "", S::pipeline, A::required, "FILE",
           "the order from a PyTorch pipelining CSV, or an InfiniTrain task list (*.tasks.csv); it sets P, M and V", "",
           "schedule,stages,mb,vpp,SCHEDULE-OPTIONS", set_text<&I::schedule_file>},
    Option{"group-size", "microbatch-group-size", S::pipeline, A::required, "G",
           "interleaved: microbatches per group of one chunk; default P", "", "", set_count<&I::group_size>},
    Option{"gpipe-backward", "", S::pipeline, A::required, "ORDER",
           "gpipe: ascending (default) or descending, as the paper draws it", "ascending,descending", "",
           set_backward_order},
    Option{
        "activation-limit", "", S::pipeline, A::required, "N",
        "zb-auto, v-auto: activations (of a chunk and a microbatch) that a stage may hold; default P, for v-auto 2P; "
        "--memory-limit with --activation-bytes takes its place",
        "", "", set_count<&I::activation_limit>},
    Option{"replicas", "", S::pipeline, A::required, "N[,...]",
           "pipedream: stages that share each position of the pipeline and take its microbatches in turn; costs and "
           "memory are then per position; default 1 each",
           "", "", set_list<&I::replicas>},
    Option{"layers", "", S::pipeline, A::required, "N",
           "layers of the model, split over the chunks as Megatron-LM does; costs and memory follow, one value being "
           "the mean stage",
           "", "", set_count<&I::layers>},
    Option{"first-stage-layers", "", S::pipeline, A::required, "N",
           "layers on the first stage; the rest evenly over the others", "", "", set_count<&I::first_stage_layers>},
    Option{"last-stage-layers", "", S::pipeline, A::required, "N",
           "layers on the last stage; the rest evenly over the others", "", "", set_count<&I::last_stage_layers>},
    Option{"forward-only", "", S::pipeline, A::none, "",
           "the forwards of the schedule alone, as in inference; a schedule file may then hold nothing else", "", "",
           set_flag<&I::forward_only>},

    Option{"forward", "", S::costs, A::required, "TIME[,...]",
           "forward of a whole stage and microbatch, or one value per chunk (P*V values); default 1ms", "", "",
           set_list<&I::forward>},
    Option{"backward", "", S::costs, A::required, "TIME[,...]",
           "full backward likewise; split in half where only it is given; default 2ms", "", "input-grad,weight-grad",
           set_list<&I::backward>},
    Option{"input-grad", "", S::costs, A::required, "TIME[,...]", "input-gradient half of the backward", "", "backward",
           set_list<&I::input_grad>},
    Option{"weight-grad", "", S::costs, A::required, "TIME[,...]", "weight-gradient half of the backward", "",
           "backward", set_list<&I::weight_grad>},
    Option{"overhead", "", S::costs, A::required, "TIME", "added to every task: kernel launch, Python; default 0ns", "",
           "", set_unit<&I::overhead>},
    Option{"pair", "", S::costs, A::required, "RULE",
           "how long an overlapped pair F&B lasts: sum (default), max, serial, hide, or a factor of the sum",
           "sum,max,serial,hide", "", set_pair},
    Option{"forward-collective", "", S::costs, A::required, "TIME[,...]",
           "part of the forward that is communication (tensor parallel, all-to-all); --pair hide overlaps it", "", "",
           set_list<&I::forward_collective>},
    Option{"backward-collective", "", S::costs, A::required, "TIME[,...]",
           "likewise, part of the input-gradient half of the backward", "", "", set_list<&I::backward_collective>},
    Option{"embedding", "", S::costs, A::required, "FORWARD[,BACKWARD]",
           "time that the embedding adds to the first chunk; the backward, all of it weight gradient, is by default as "
           "long",
           "", "", set_list<&I::embedding>},
    Option{"head", "", S::costs, A::required, "FORWARD[,BACKWARD]",
           "time that output layer and loss add to the last chunk; the backward, half of it weight gradient, is by "
           "default twice as long",
           "", "", set_list<&I::head>},
    Option{"recompute", "", S::costs, A::required, "KIND",
           "activations that a backward computes again: none (default); selective: some, see --recompute-time and "
           "--checkpoint-bytes; full: all but the input of a chunk",
           "none,selective,full", "recompute-time,checkpoint-bytes,microbatches-without-recompute", set_recompute},
    Option{"recompute-time", "", S::costs, A::required, "TIME[,...]",
           "by how much that makes the backward longer; with --recompute full by default the forward", "", "",
           set_list<&I::recompute_time>},
    Option{"microbatches-without-recompute", "", S::costs, A::required, "N",
           "of every W+1 forwards of a stage with W warm-up forwards, the first N are not recomputed; default 0", "",
           "", set_count<&I::microbatches_without_recompute, 0>},
    Option{"reduce", "", S::costs, A::required, "TIME[,...]",
           "data-parallel reduction of a stage's gradients, or one value per chunk; beside the tasks", "", "",
           set_list<&I::reduce>},
    Option{"tied-embedding-reduce", "", S::costs, A::required, "TIME",
           "reduction of the embedding that the first and the last chunk share", "", "",
           set_unit<&I::tied_embedding_reduce>},
    Option{"optimizer", "", S::costs, A::required, "TIME[,...]", "optimizer step of a stage, or one value per chunk",
           "", "", set_list<&I::optimizer>},
    Option{"optimizer-step", "", S::costs, A::required, "WHEN",
           "synchronous (default): all stages together; per-stage: each when its own gradients are there",
           "synchronous,per-stage", "", set_optimizer_step},

    Option{"comm", "", S::communication, A::required, "TIME[,...]",
           "time of a transfer between stages, or one per boundary between chunks (P*V-1 values); default 0ns", "",
           "latency,bandwidth", set_list<&I::comm>},
    Option{"latency", "", S::communication, A::required, "TIME[,...]",
           "fixed part of a transfer's time, with --bandwidth for the rest", "", "comm", set_list<&I::latency>},
    Option{"bandwidth", "", S::communication, A::required, "RATE", "bandwidth of a link: 50GB/s, 400Gbit/s", "", "comm",
           set_unit<&I::bandwidth>},
    Option{"boundary-bytes", "", S::communication, A::required, "SIZE[,...]",
           "size of a transfer, or one per boundary between chunks", "", "", set_list<&I::boundary_bytes>},
    Option{"transfer", "", S::communication, A::required, "MODEL",
           "latency (default): no contention; link: one transfer at a time per link; blocking: stages wait for their "
           "sends and receives",
           "latency,link,blocking", "", set_transfer},
    Option{"send-slices", "", S::communication, A::required, "N",
           "equal parts in which a task's output leaves, each when that share of the task is done; default 1", "", "",
           set_count<&I::send_slices>},
    Option{"stages-per-node", "", S::communication, A::required, "N",
           "consecutive stages that share a node; with --transfer link they share its one uplink", "", "",
           set_count<&I::stages_per_node>},
    Option{"inter-node-latency", "", S::communication, A::required, "TIME",
           "fixed part of a transfer between nodes; default as within one", "", "", set_unit<&I::inter_node_latency>},
    Option{"inter-node-bandwidth", "", S::communication, A::required, "RATE",
           "bandwidth between nodes; default as within one", "", "", set_unit<&I::inter_node_bandwidth>},

    Option{"activation-bytes", "", S::memory, A::required, "SIZE[,...]",
           "activations of a whole stage and one microbatch, or one value per chunk", "", "",
           set_list<&I::activation_bytes>},
    Option{"weight-activation-bytes", "", S::memory, A::required, "SIZE[,...]",
           "the part of them that W needs, kept to its end; the rest goes at the end of I; default all", "", "",
           set_list<&I::weight_activation_bytes>},
    Option{
        "checkpoint-bytes", "", S::memory, A::required, "SIZE[,...]",
        "the part of them that a forward keeps where it is recomputed; with --recompute full by default the input of "
        "a chunk (--boundary-bytes)",
        "", "", set_list<&I::checkpoint_bytes>},
    Option{"release-outputs", "", S::memory, A::none, "",
           "give up the output of a chunk (--boundary-bytes, a part of its activation) once it is sent", "", "",
           set_flag<&I::release_outputs>},
    Option{"parameter-bytes", "", S::memory, A::required, "SIZE[,...]", "parameters of a stage, or one value per chunk",
           "", "", set_list<&I::parameter_bytes>},
    Option{"gradient-bytes", "", S::memory, A::required, "SIZE[,...]", "gradients likewise", "", "",
           set_list<&I::gradient_bytes>},
    Option{"optimizer-bytes", "", S::memory, A::required, "SIZE[,...]", "optimizer state likewise", "", "",
           set_list<&I::optimizer_bytes>},
    Option{"memory-limit", "", S::memory, A::required, "SIZE",
           "what a device holds; exit status 3 when a stage needs more", "", "", set_unit<&I::memory_limit>},

    Option{"scenario", "", S::scenario, A::required, "FILE",
           "read options from a TOML file; its keys are these flags without dashes, flags win over it", "", "",
           set_text<&I::scenario>},
    Option{"title", "", S::scenario, A::required, "TEXT", "a name for the run, shown in report and chart", "", "",
           set_text<&I::title>},
    Option{"source", "", S::scenario, A::required, "TEXT", "where the costs come from, shown in report and chart", "",
           "", set_text<&I::source>},

    Option{"json", "", S::output, A::optional, "FILE",
           "the report as JSON (schema 1); without FILE or with '-' to stdout, instead of the report", "", "",
           set_text<&I::json>},
    Option{"svg", "", S::output, A::required, "FILE", "a Gantt chart", "", "", set_text<&I::svg>},
    Option{"trace", "", S::output, A::required, "FILE", "Chrome trace events, for Perfetto", "", "",
           set_text<&I::trace>},
    Option{"csv", "", S::output, A::required, "FILE",
           "the order as PyTorch pipelining CSV, or as InfiniTrain task list when FILE ends in .tasks.csv", "", "",
           set_text<&I::csv>},
    Option{"csv-comms", "", S::output, A::required, "FILE",
           "the same CSV with send and receive cells, placed as PyTorch does", "", "", set_text<&I::csv_comms>},
    Option{"tasks", "", S::output, A::none, "", "list every task with its step and times, in the report or in the JSON",
           "", "", set_flag<&I::tasks>},
    Option{"fail-if", "", S::output, A::required, "CONDITION", "exit with status 3 if it holds: 'bubble_ratio > 0.1'",
           "", "", add_fail_if},
};

} // namespace

std::string_view to_string(Section section) {
  constexpr std::array<std::string_view, section_count> names{"Pipeline", "Costs",    "Communication",
                                                              "Memory",   "Scenario", "Output"};
  return names[static_cast<std::size_t>(section)];
}

std::span<const Option> options() {
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : table)
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  return nullptr;
}

void assign(const std::vector<Assignment>& assignments, Inputs& inputs, Problems& problems) {
  for (const Assignment& assignment : assignments) {
    inputs.where[std::string{assignment.option->name}] = assignment.where;
    if (auto wrong = assignment.option->set(inputs, assignment.value))
      problems.add(assignment.where, std::move(wrong->what), std::move(wrong->hint));
  }
}

} // namespace ppsim::cli
