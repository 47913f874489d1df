// ppsim compare --vary: where the best schedule changes.

#include "ppsim/viz/variation.hpp"

#include "ppsim/sim/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../outputs.hpp"
#include "../vary.hpp"

namespace ppsim::cli {
namespace {

std::string plain_text(const Variation& variation) {
  std::string text;
  const Axis& axis = variation.axis;
  for (const BestStretch& stretch : variation.best)
    text += fmt::format("{} .. {}: {}\n", axis.format(stretch.from), axis.format(stretch.to),
                        stretch.line ? variation.lines[*stretch.line].name : "none");
  for (const Crossing& crossing : variation.crossings)
    text += fmt::format("{} no slower to {}, {} faster from {}\n", variation.lines[crossing.first].name,
                        axis.format(crossing.until), variation.lines[crossing.second].name, axis.format(crossing.from));
  return text;
}

constexpr std::array outputs{
    Output<Varied>{"svg", &Inputs::svg,
                   [](const Varied& varied, const Inputs&) { return viz::svg_variation(varied.variation); }},
};

} // namespace

ExitCode run_variation(const Inputs& inputs) {
  const bool stdout_taken = uses_stdout(outputs, inputs);
  const Varied varied = vary_inputs(inputs, inputs.threads.value_or(machine_threads()));
  for (const std::string& note : varied.notes) fmt::print(stderr, "ppsim: note: {}\n", note);
  write_outputs(outputs, varied, inputs);
  if (!stdout_taken) write_file("-", plain_text(varied.variation), "variation");
  const bool fits =
      std::ranges::any_of(varied.variation.best, [](const BestStretch& best) { return best.line.has_value(); });
  return fits ? ExitCode::done : ExitCode::no;
}

} // namespace ppsim::cli
