// The playground's engine: the words of a command line in, a report out, both as JSON.

#include "ppsim/base/call.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/study/evaluate.hpp"
#include "ppsim/traces/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "commands/simulate.hpp"
#include "files/memory_files.hpp"
#include "options/options.hpp"
#include <nlohmann/json.hpp>

namespace ppsim::playground {
namespace {

/// A text that an answer holds of a run, as JSON.
struct Part {
  std::string_view key;
  std::string (*render)(const Evaluation&, const cli::Inputs&);
};
/// All of them are made of one simulation. What a page draws belongs here, too.
constexpr std::array parts{
    Part{"report",
         [](const Evaluation& run, const cli::Inputs& inputs) {
           return traces::report_json(run.graph, run.timeline, run.report, inputs.tasks);
         }},
};

[[nodiscard]] std::string as_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

[[nodiscard]] std::vector<std::string> words_in(std::string_view text) {
  const nlohmann::json words = nlohmann::json::parse(text, nullptr, false);
  if (!words.is_array() || !std::ranges::all_of(words, [](const auto& word) { return word.is_string(); }))
    throw Error{ExitCode::bad_input,
                Problem{"arguments", "are no JSON list of strings", R"(give words: ["--stages","4","--mb","8"])"}};
  return words.get<std::vector<std::string>>();
}

/// Throws Error where words ask for files, or for more than an answer holds.
void refuse_outputs(const cli::Inputs& inputs) {
  constexpr std::array<std::string_view, 2> answered{"tasks", "sensitivity"};
  Problems problems;
  for (const cli::Assignment& flag : inputs.flags) {
    const bool is_json = flag.option->name == "json" && flag.value == "-";
    if (flag.option->section == cli::Section::output && !is_json &&
        std::ranges::find(answered, flag.option->name) == answered.end())
      problems.add(flag.where, "the playground writes no files", "leave it out, or run ppsim itself");
  }
  problems.throw_if_any();
}

[[nodiscard]] std::string answer_to(std::string_view arguments) {
  cli::MemoryFiles files;
  const CallScope scope{&files};
  const cli::Inputs inputs = cli::parse_arguments(cli::simulate_command::done_by(nullptr), words_in(arguments));
  refuse_outputs(inputs);
  const Evaluation run = evaluate_fully(inputs, inputs.sensitivity);
  nlohmann::json notes = nlohmann::json::array();
  for (const auto& some : {files.notes(), run.notes})
    for (const std::string& note : some) notes.push_back(cli::in_flags(note));
  std::string answer = fmt::format(R"({{"ok":true,"notes":{})", as_json(notes));
  for (const Part& part : parts) answer += fmt::format(R"(,"{}":{})", part.key, part.render(run, inputs));
  return answer + "}";
}

[[nodiscard]] std::string refusal(const Error& error) {
  nlohmann::json errors = nlohmann::json::array();
  for (const Problem& problem : error.problems())
    errors.push_back({{"place", cli::in_flags(problem.where)},
                      {"problem", cli::in_flags(problem.what)},
                      {"remedy", cli::in_flags(problem.hint)}});
  return fmt::format(R"({{"ok":false,"errors":{}}})", as_json(errors));
}

[[nodiscard]] std::string too_large() {
  return refusal({ExitCode::failed,
                  Problem{"memory", "there is not enough for a run of this size", "use fewer microbatches or stages"}});
}

[[nodiscard]] std::string answer_or_refusal(std::string_view arguments) {
  try {
    return answer_to(arguments);
  } catch (const Error& error) {
    return refusal(error);
  } catch (const std::bad_alloc&) {
    return too_large();
  } catch (const std::length_error&) { // more than 32 bits can count
    return too_large();
  } catch (const std::exception& error) {
    return refusal({ExitCode::internal, Problem{"internal error", error.what(),
                                                "this is a bug in ppsim; please report it with the settings"}});
  }
}

} // namespace
} // namespace ppsim::playground

extern "C" {
/// The answer to the words of a command line behind `simulate`, a JSON list of strings: {"ok":true, "notes":[...],
/// "report":{...}} or {"ok":false, "errors":[{"place", "problem", "remedy"}...]}. Valid until the next call.
const char* ppsim_run(const char* arguments) {
  static std::string answer;
  answer = ppsim::playground::answer_or_refusal(arguments);
  return answer.c_str();
}
}
