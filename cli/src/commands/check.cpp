// ppsim check: is a schedule file valid, and can it deadlock.

#include "ppsim/sim/timeline.hpp"
#include "ppsim/traces/schedule_file.hpp"

#include <fmt/format.h>

#include <array>

#include "../commands.hpp"
#include "../files.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Whether an order runs to its end under one transfer model.
struct Verdict {
  TransferModel model{};
  std::optional<Problem> deadlock;
};

/// Times do not matter for deadlock: each stage's order is fixed, so is what it waits for.
Verdict try_model(const Schedule& schedule, TransferModel model, const std::string& where) {
  Scenario scenario = uniform_scenario(schedule.shape(), std::chrono::milliseconds{1}, std::chrono::milliseconds{2});
  scenario.network.model = model;
  try {
    static_cast<void>(simulate(lower(schedule, scenario, where)));
    return {model, std::nullopt};
  } catch (const Error& error) {
    if (error.code() != ExitCode::no) throw;
    return {model, error.problems().front()};
  }
}

std::string verdict_json(const Schedule& schedule, const std::vector<Verdict>& verdicts, bool ok) {
  Json json{{"schema", 1},
            {"valid", true},
            {"ok", ok},
            {"stages", schedule.shape().stages},
            {"microbatches", schedule.shape().microbatches},
            {"vpp", schedule.shape().vpp},
            {"tasks", schedule.size()}};
  for (const Verdict& verdict : verdicts) {
    Json entry{{"deadlock", verdict.deadlock.has_value()}};
    if (verdict.deadlock) entry["chain"] = verdict.deadlock->what;
    json["transfer_models"][std::string{to_string(verdict.model)}] = std::move(entry);
  }
  return json.dump(2) + "\n";
}

std::string verdict_text(const Schedule& schedule, const std::vector<Verdict>& verdicts, const std::string& where) {
  std::string text =
      fmt::format("{}: valid: {} stages, {} microbatches, vpp {}, {} tasks\n", where, schedule.shape().stages,
                  schedule.shape().microbatches, schedule.shape().vpp, schedule.size());
  for (const Verdict& verdict : verdicts)
    text += verdict.deadlock ? fmt::format("  {:<9} {}\n            {}\n", to_string(verdict.model),
                                           verdict.deadlock->what, verdict.deadlock->hint)
                             : fmt::format("  {:<9} no deadlock\n", to_string(verdict.model));
  return text;
}

/// Reads the file. Where it is malformed, scripts that asked for JSON get the problems there too.
traces::ScheduleFile read_or_report(const Inputs& inputs, const std::string& path, const std::string& where) {
  const std::string text = read_file(path, "check");
  try {
    return traces::read_schedule(text, where, inputs.forward_only);
  } catch (const Error& error) {
    if (!inputs.json) throw;
    Json json{{"schema", 1}, {"valid", false}, {"ok", false}, {"problems", Json::array()}};
    for (const Problem& problem : error.problems())
      json["problems"].push_back({{"where", problem.where}, {"what", problem.what}, {"hint", problem.hint}});
    write_file(*inputs.json, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", "--json");
    throw;
  }
}

ExitCode run(const Inputs& inputs) {
  if (!inputs.file)
    throw Error{ExitCode::bad_input,
                Problem{"check", "names no file", "for example: ppsim check order.csv; '-' reads stdin"}};
  const std::string where = display_name(*inputs.file);
  const traces::ScheduleFile file = read_or_report(inputs, *inputs.file, where);
  for (const std::string& note : file.notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  const TransferModel asked = inputs.transfer.value_or(TransferModel::latency);
  std::vector<Verdict> verdicts{try_model(file.schedule, asked, where)};
  const bool ok = !verdicts.front().deadlock.has_value();
  if (ok && !inputs.transfer)
    for (const TransferModel model : {TransferModel::link, TransferModel::blocking})
      verdicts.push_back(try_model(file.schedule, model, where));
  if (inputs.json) write_file(*inputs.json, verdict_json(file.schedule, verdicts, ok), "--json");
  if (!ok) throw Error{ExitCode::no, *verdicts.front().deadlock};
  if (inputs.json != "-") write_file("-", verdict_text(file.schedule, verdicts, where), "check");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 3> extra{"transfer", "forward-only", "json"};
constexpr std::array examples{
    Example{"ppsim check order.csv",
            "exit status 0: runs under latency and link (and says whether under blocking); 2: malformed; 3: deadlocks"},
    Example{"ppsim check --transfer blocking order.csv",
            "does it also run when stages wait for their sends and receives"},
};

} // namespace

extern const Command check_command;
const Command check_command{.name = "check",
                            .summary = "is a schedule file valid, can it deadlock, under which transfer model",
                            .usage = "ppsim check [--transfer MODEL] [--forward-only] [--json[=FILE]] FILE",
                            .argument = "FILE",
                            .argument_help =
                                "PyTorch pipelining CSV, or InfiniTrain task list (*.tasks.csv); '-' for stdin",
                            .sections = {},
                            .extra = extra,
                            .examples = examples,
                            .run = run};

} // namespace ppsim::cli
