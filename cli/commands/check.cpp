// ppsim check: whether a schedule file is valid, and whether it can deadlock.

#include "ppsim/base/words.hpp"
#include "ppsim/engine/hang.hpp"
#include "ppsim/engine/simulate.hpp"
#include "ppsim/engine/streams.hpp"
#include "ppsim/graph/timeline.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/files.hpp"
#include "options/commands.hpp"
#include "terminal/console.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli::check_command {
namespace {

using Json = nlohmann::ordered_json;

/// Whether an order runs to its end under one transfer model.
struct Verdict {
  TransferModel model{};
  std::optional<Problem> deadlock;
};

/// Whether its sends and receives hang on communicators shared in one way.
struct HangVerdict {
  Communicators communicators{};
  std::optional<Hang> hang{};
  std::string_view lowering{};           ///< that placed them; empty if they are the file's own
  bool eager_runs = false;               ///< if it hangs: it would not if no send waited for its receive
  std::optional<std::string> mismatch{}; ///< what would receive wrong data
  std::optional<std::string> uneven{};   ///< what NCCL leaves undefined: a warning, not an error
  [[nodiscard]] bool is_good() const { return !hang && !mismatch; }
};

/// Costs matter only for the order of operations that could be posted at the same time.
Scenario scenario_to_check(const Inputs& inputs, const Schedule& schedule) {
  Scenario scenario = uniform_scenario(schedule.shape(), std::chrono::milliseconds{1}, std::chrono::milliseconds{2});
  scenario.network.streams = {.lowering = std::string{lowering_in(inputs, schedule.communications() != nullptr)},
                              .overlap = overlap_in(inputs),
                              .communicators = communicators_in(inputs)};
  return scenario;
}

/// Times do not matter for deadlocks: each stage has a fixed order.
Verdict try_model(const Inputs& inputs, const Schedule& schedule, TransferModel model, const std::string& where) {
  Scenario scenario = scenario_to_check(inputs, schedule);
  scenario.network.model = model;
  try {
    static_cast<void>(simulate(lower(schedule, std::move(scenario), where)));
    return {model, std::nullopt};
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return {model, error.problems().front()};
  }
}

HangVerdict try_communicators(const TaskGraph& graph) {
  const Schedule& schedule = graph.schedule();
  const CommOrder order = operations_of(graph);
  HangVerdict verdict{communicators_of(graph)};
  if (const Lowering* const lowering = lowering_of(graph)) verdict.lowering = lowering->name;
  verdict.mismatch = find_mismatch(schedule, order, verdict.communicators);
  if (verdict.mismatch) return verdict; // operations matched in the wrong order also wait differently
  verdict.hang = find_hang(schedule, order, verdict.communicators);
  verdict.eager_runs = verdict.hang && !find_hang(schedule, order, verdict.communicators, true);
  verdict.uneven = find_uneven_groups(schedule, order, verdict.communicators);
  return verdict;
}

bool asks_for_hangs(const Inputs& inputs) {
  return inputs.p2p || inputs.lowering;
}

/// The communicators to check: the requested ones, otherwise all if the file has sends and receives.
std::vector<HangVerdict> hang_verdicts(const Inputs& inputs, const Schedule& schedule, const std::string& where) {
  const bool asked = asks_for_hangs(inputs);
  if (!asked && schedule.communications() == nullptr) return {};
  const auto placed_for = [&](std::optional<Communicators> communicators) {
    Scenario scenario = scenario_to_check(inputs, schedule);
    if (communicators) scenario.network.streams.communicators = communicators; // some lowerings depend on them
    return lower(schedule, std::move(scenario), where);
  };
  const auto verdict_on = [&](std::optional<Communicators> communicators) {
    return try_communicators(placed_for(communicators));
  };
  if (asked) return {verdict_on(communicators_in(inputs))};
  std::vector<HangVerdict> verdicts;
  verdicts.reserve(all_communicators.size());
  for (const Communicators communicators : all_communicators) verdicts.push_back(verdict_on(communicators));
  return verdicts;
}

std::string name_of(const HangVerdict& verdict) {
  const std::string name = fmt::format("p2p {}", to_string(verdict.communicators));
  return verdict.lowering.empty() ? name : fmt::format("{} (lowering {})", name, verdict.lowering);
}

/// The problem as one sentence, with a remedy.
Problem problem_of(const HangVerdict& verdict, const std::string& where) {
  const std::string name = fmt::format("{}: ", name_of(verdict));
  if (verdict.mismatch) return {where, name + *verdict.mismatch, std::string{mismatch_fix}};
  std::string what = name + in_a_line(*verdict.hang);
  if (verdict.eager_runs) what += "; it runs only while every send fits into a buffer and does not wait";
  const bool names_place = verdict.hang->fix.find("ppsim place") != std::string::npos;
  return {where, std::move(what),
          verdict.hang->fix + (names_place ? "" : "; or let 'ppsim place' find an order that runs")};
}

std::string verdict_json(const Schedule& schedule, const std::vector<Verdict>& verdicts,
                         const std::vector<HangVerdict>& hangs, bool ok) {
  Json json{{"schema", 1},
            {"valid", true},
            {"ok", ok},
            {"stages", schedule.shape().stages},
            {"microbatches", schedule.shape().microbatches},
            {"vpp", schedule.shape().vpp},
            {"tasks", schedule.size()}};
  for (const Verdict& verdict : verdicts) {
    Json entry{{"deadlock", verdict.deadlock.has_value()}};
    if (verdict.deadlock) entry["chain"] = in_flags(verdict.deadlock->what);
    json["transfer_models"][std::string{to_string(verdict.model)}] = std::move(entry);
  }
  for (const HangVerdict& verdict : hangs) {
    Json entry{{"hangs", verdict.hang.has_value()}};
    if (verdict.hang) {
      entry["cycle"] = verdict.hang->cycle;
      entry["fix"] = in_flags(verdict.hang->fix);
      entry["runs_if_eager"] = verdict.eager_runs;
    }
    if (verdict.mismatch) entry["mismatch"] = *verdict.mismatch;
    if (verdict.uneven) entry["uneven_groups"] = *verdict.uneven;
    if (!verdict.lowering.empty()) entry["lowering"] = verdict.lowering;
    json["p2p"][std::string{to_string(verdict.communicators)}] = std::move(entry);
  }
  return json.dump(2) + "\n";
}

std::string verdict_text(const Schedule& schedule, const std::vector<Verdict>& verdicts,
                         const std::vector<HangVerdict>& hangs, const std::string& where) {
  std::string text =
      fmt::format("{}: valid: {} stages, {} microbatches, vpp {}, {} tasks\n", where, schedule.shape().stages,
                  schedule.shape().microbatches, schedule.shape().vpp, schedule.size());
  std::vector<std::string_view> hanging;
  for (const HangVerdict& verdict : hangs)
    if (!verdict.is_good()) hanging.push_back(to_string(verdict.communicators));
  if (!hanging.empty()) {
    const std::string_view last = hanging.back();
    hanging.pop_back();
    text.pop_back();
    text += fmt::format("; its sends and receives hang or go astray on p2p {}{}{} (an error only with --p2p)\n",
                        joined(hanging, ", "), hanging.empty() ? "" : " and ", last);
  }
  std::size_t width = 0;
  for (const Verdict& verdict : verdicts) width = std::max(width, to_string(verdict.model).size());
  for (const HangVerdict& verdict : hangs) width = std::max(width, name_of(verdict).size());
  const auto add_line = [&](std::string_view name, std::string_view words) {
    text += fmt::format("  {:<{}}  {}\n", name, width, in_flags(words));
  };
  for (const Verdict& verdict : verdicts) {
    add_line(to_string(verdict.model), verdict.deadlock ? verdict.deadlock->what : "no deadlock");
    if (verdict.deadlock) add_line("", verdict.deadlock->hint);
  }
  for (const HangVerdict& verdict : hangs) {
    const std::string name = name_of(verdict);
    if (verdict.is_good()) {
      add_line(name, "no hang");
    } else {
      const Problem problem = problem_of(verdict, where);
      add_line(name, std::string_view{problem.what}.substr(name.size() + 2));
      add_line("", problem.hint);
    }
    if (verdict.uneven) add_line("", "but " + *verdict.uneven);
  }
  return text;
}

/// Reads the file. If it is malformed and JSON was requested, the JSON also contains the problems.
traces::ScheduleFile read_or_report(const Inputs& inputs, const std::string& path, const std::string& where) {
  const std::string text = read_file(path, "check");
  try {
    return traces::read_schedule(text, where, inputs.forward_only);
  } catch (const Error& error) {
    if (!inputs.json) throw;
    Json json{{"schema", 1}, {"valid", false}, {"ok", false}, {"problems", Json::array()}};
    for (const Problem& problem : error.problems())
      json["problems"].push_back(
          {{"where", in_flags(problem.where)}, {"what", in_flags(problem.what)}, {"hint", in_flags(problem.hint)}});
    write_file(*inputs.json, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", "--json");
    throw;
  }
}

ExitCode run(const Inputs& inputs) {
  if (!inputs.file)
    throw Error{ExitCode::bad_input,
                Problem{"check", "no file given", "for example: ppsim check order.csv; '-' reads stdin"}};
  const std::string where = display_name(*inputs.file);
  const Lowering* const lowering = find_lowering(lowering_in(inputs));
  if (inputs.overlap_p2p && (lowering == nullptr || !lowering->takes_overlap))
    throw Error{ExitCode::bad_input,
                Problem{"--overlap-p2p", "changes nothing without --lowering megatron", "add that, or leave it out"}};
  Problems problems;
  check_overlap(inputs, problems);
  problems.throw_if_any();
  const traces::ScheduleFile file = read_or_report(inputs, *inputs.file, where);
  note_all(file.notes);
  if (const auto on_batches = note_on_batches(inputs, lowering_in(inputs, file.schedule.communications() != nullptr)))
    note(*on_batches);
  if (inputs.lowering && file.schedule.communications() != nullptr)
    throw Error{ExitCode::bad_input,
                Problem{"--lowering", "the file has its own sends and receives, and check uses those",
                        "leave it out, or check the file without them ('ppsim --schedule-file FILE --csv')"}};
  const TransferModel asked = inputs.transfer.value_or(TransferModel::latency);
  std::vector<Verdict> verdicts{try_model(inputs, file.schedule, asked, where)};
  const bool ok = !verdicts.front().deadlock.has_value();
  const bool one_question = asks_for_hangs(inputs) && !inputs.transfer; // then there is one answer, except in JSON
  if (ok && !inputs.transfer && (!one_question || inputs.json))
    for (const TransferModel model : {TransferModel::link, TransferModel::blocking})
      verdicts.push_back(try_model(inputs, file.schedule, model, where));
  const std::vector<HangVerdict> hangs = ok ? hang_verdicts(inputs, file.schedule, where) : std::vector<HangVerdict>{};
  const bool never_runs = !hangs.empty() && !std::ranges::any_of(hangs, &HangVerdict::is_good); // all, or the one
  if (inputs.json) write_file(*inputs.json, verdict_json(file.schedule, verdicts, hangs, ok && !never_runs), "--json");
  if (!ok) throw Error{ExitCode::no, *verdicts.front().deadlock};
  if (never_runs) throw Error{ExitCode::no, problem_of(hangs.front(), where)};
  if (one_question) verdicts.clear();
  if (inputs.json != "-") write_file("-", verdict_text(file.schedule, verdicts, hangs, where), "check");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 6> extra{"transfer", "p2p", "lowering", "overlap-p2p", "forward-only", "json"};
constexpr std::array examples{
    Example{"ppsim check order.csv",
            "exit status 0: runs under latency and link (and says whether under blocking); 2: malformed; 3: deadlocks, "
            "or its sends and receives do in every way"},
    Example{"ppsim check --transfer blocking order.csv",
            "whether it also runs when stages wait for their sends and receives"},
    Example{"ppsim check --p2p group order.csv", "whether its sends and receives hang on NCCL, all on one communicator "
                                                 "as PyTorch runs them; which ones, and what to change"},
};

} // namespace

const Command definition{.name = "check",
                         .summary = "check a schedule file: is it valid, can it deadlock, under which transfer model",
                         .usage = "ppsim check [--transfer MODEL] [--p2p HOW] [--lowering NAME] [--json[=FILE]] FILE",
                         .argument = "FILE",
                         .argument_help =
                             "PyTorch pipelining CSV, or InfiniTrain task list (*.tasks.csv); '-' for stdin",
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::check_command
