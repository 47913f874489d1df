// The playground's engine: takes command lines and returns a report or the data of a page, as JSON.

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/page.hpp"
#include "ppsim/viz/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/simulate.hpp"
#include "files/memory_files.hpp"
#include "options/options.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::playground {
namespace {

[[nodiscard]] std::string as_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

using Words = std::vector<std::string>;

/// Throws Error if `text` is not JSON of that kind.
template <class Value>
[[nodiscard]] Value value_in(std::string_view text, std::string_view kind, std::string_view example) {
  try {
    return nlohmann::json::parse(text).get<Value>();
  } catch (const nlohmann::json::exception&) {
    throw Error{ExitCode::bad_input, Problem{"arguments", fmt::format("are no JSON {}", kind), std::string{example}}};
  }
}

/// The kinds of answers.
enum class Answer { report, page };

/// Throws Error if arguments request outputs that such an answer does not contain.
void refuse_outputs(const cli::Inputs& inputs, Answer answer) {
  constexpr std::array<std::string_view, 4> answered{"bound", "jitter", "samples", "sensitivity"};
  Problems problems;
  for (const cli::Assignment& flag : inputs.flags) {
    const bool is_of_report = flag.option->name == "tasks" || (flag.option->name == "json" && flag.value == "-");
    if (flag.option->section == cli::Section::output && !(answer == Answer::report && is_of_report) &&
        std::ranges::find(answered, flag.option->name) == answered.end())
      problems.add(flag.where, "the playground has no such output", "leave it out, or run the program");
  }
  problems.throw_if_any();
}

/// A simulated command line.
struct Simulated {
  cli::Inputs inputs;
  Evaluation run;
  nlohmann::json notes = nlohmann::json::array();
};

[[nodiscard]] Simulated simulate_words(const Words& words, Answer answer) {
  cli::MemoryFiles files;
  const CallScope scope{&files};
  cli::Inputs inputs = cli::parse_arguments(cli::simulate_command::done_by(nullptr), words);
  refuse_outputs(inputs, answer);
  Evaluation run = evaluate_fully(inputs, inputs.sensitivity);
  Simulated simulated{std::move(inputs), std::move(run)};
  for (const auto& some : {files.notes(), simulated.run.notes})
    for (const std::string& note : some) simulated.notes.push_back(cli::in_flags(note));
  return simulated;
}

[[nodiscard]] nlohmann::json errors_of(const Error& error) {
  nlohmann::json errors = nlohmann::json::array();
  for (const Problem& problem : error.problems())
    errors.push_back({{"place", cli::in_flags(problem.where)},
                      {"problem", cli::in_flags(problem.what)},
                      {"remedy", cli::in_flags(problem.hint)}});
  return errors;
}

[[nodiscard]] nlohmann::json too_large() {
  return errors_of({ExitCode::failed, Problem{"memory", "there is not enough for a run of this size",
                                              "use fewer microbatches or stages"}});
}

/// Runs the action; returns its problems if it throws, otherwise null.
template <class Action>
[[nodiscard]] nlohmann::json errors_in(Action act) {
  try {
    act();
    return nullptr;
  } catch (const Error& error) {
    return errors_of(error);
  } catch (const std::bad_alloc&) {
    return too_large();
  } catch (const std::length_error&) { // exceeds 32 bits
    return too_large();
  } catch (const std::exception& error) {
    return errors_of({ExitCode::internal, Problem{"internal error", error.what(),
                                                  "this is a bug in ppsim; please report it with the settings"}});
  }
}

[[nodiscard]] std::string refusal(const nlohmann::json& errors) {
  return fmt::format(R"({{"ok":false,"errors":{}}})", as_json(errors));
}

[[nodiscard]] std::string report_of(std::string_view arguments) {
  std::string answer;
  const nlohmann::json errors = errors_in([&] {
    const Simulated made = simulate_words(
        value_in<Words>(arguments, "list of strings", R"(give words: ["--stages","4","--mb","8"])"), Answer::report);
    answer = fmt::format(R"({{"ok":true,"notes":{},"report":{}}})", as_json(made.notes),
                         traces::report_json(made.run.graph, made.run.timeline, made.run.report, made.inputs.tasks));
  });
  return errors.is_null() ? answer : refusal(errors);
}

/// The data of one page of all runs; null if there are none.
[[nodiscard]] std::string page_of(const std::vector<Simulated>& runs) {
  if (runs.empty()) return "null";
  std::vector<viz::Panel> panels;
  std::string names;
  for (const Simulated& made : runs) {
    panels.push_back({made.run.graph, made.run.timeline, made.run.report, made.run.graph.schedule().name()});
    names += (names.empty() ? "" : ", ") + panels.back().name;
  }
  const Evaluation& first = runs.front().run;
  return viz::page_data({.command = "simulate",
                         .title = names,
                         .source = first.graph.scenario().source,
                         .text = viz::text_report(first.graph, first.timeline, first.report, {}),
                         .json = ""},
                        panels);
}

[[nodiscard]] std::string page_for(std::string_view command_lines) {
  std::vector<Simulated> runs;
  nlohmann::json refused = nlohmann::json::array();
  nlohmann::json notes = nlohmann::json::array();
  std::string answer;
  const nlohmann::json errors = errors_in([&] {
    const auto lines = value_in<std::vector<Words>>(command_lines, "list of lists of strings",
                                                    R"(give words: [["--stages","4","--mb","8"]])");
    for (const Words& words : lines) {
      refused.push_back(errors_in([&] { runs.push_back(simulate_words(words, Answer::page)); }));
      notes.push_back(refused.back().is_null() ? runs.back().notes : nlohmann::json::array());
    }
    answer = fmt::format(R"({{"ok":true,"refused":{},"notes":{},"data":{}}})", as_json(refused), as_json(notes),
                         page_of(runs));
  });
  return errors.is_null() ? answer : refusal(errors);
}

} // namespace
} // namespace ppsim::playground

extern "C" {
/// The answer to the words of a command line after `simulate`, a JSON list of strings: {"ok":true, "notes":[...],
/// "report":{...}} or {"ok":false, "errors":[{"place", "problem", "remedy"}...]}. Valid until the next call.
const char* ppsim_run(const char* arguments) {
  static std::string answer;
  answer = ppsim::playground::report_of(arguments);
  return answer.c_str();
}

/// The page of several runs, from a JSON list of such lists: {"ok":true, "refused":[null, or the errors of that
/// run...], "notes":[[...]...], "data": what a page shows (viz/html/README.md), or null where every run is refused}.
/// Valid until the next call.
const char* ppsim_page(const char* command_lines) {
  static std::string answer;
  answer = ppsim::playground::page_for(command_lines);
  return answer.c_str();
}
}
