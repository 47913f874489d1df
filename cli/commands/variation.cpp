// ppsim compare --vary: where the best schedule changes.

#include "variation.hpp"

#include "ppsim/base/parallel.hpp"
#include "ppsim/study/vary.hpp"
#include "ppsim/traces/json.hpp"
#include "ppsim/viz/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/outputs.hpp"
#include "options/axis.hpp"
#include "terminal/console.hpp"
#include "terminal/progress.hpp"
#include "terminal/terminal.hpp"

namespace ppsim::cli {
namespace {

constexpr std::array outputs{
    Output<Varied>{"svg", &Inputs::svg,
                   [](const Varied& varied, const Inputs&) { return viz::svg_variation(varied.variation); }},
    Output<Varied>{"json", &Inputs::json,
                   [](const Varied& varied, const Inputs&) { return traces::variation_json(varied.variation); }},
    Output<Varied>{"markdown", &Inputs::markdown,
                   [](const Varied& varied, const Inputs&) { return viz::variation_markdown(varied.variation); }},
};

} // namespace

ExitCode run_variation(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs, inputs);
  VaryOptions options{.points = inputs.points.value_or(0), .threads = inputs.threads.value_or(machine_threads())};
  if (!inputs.fail_if.empty())
    throw Error{ExitCode::bad_input,
                Problem{inputs.place_of("fail-if"), "may hold at some values only", "leave it or --vary out"}};
  if (inputs.precision)
    if (const auto wrong = parse_step(*inputs.precision, *inputs.vary, options.precision))
      throw Error{ExitCode::bad_input, Problem{inputs.place_of("precision"), wrong->what, wrong->hint}};
  const Varied varied = [&] {
    Progress progress{"simulations"};
    return vary(inputs, options, watched_by(progress));
  }();
  note_all(varied.notes);
  write_outputs(outputs, varied, inputs);
  if (!stdout_taken) write_file("-", viz::variation_text(varied.variation, terminal_options()), "variation");
  const bool fits =
      std::ranges::any_of(varied.variation.best, [](const BestStretch& best) { return best.line.has_value(); });
  return fits && !varied.order_refused ? ExitCode::done : ExitCode::no;
}

} // namespace ppsim::cli
