// Variable work as a block of a text. How it reads, of two replicas (ByteDance's trace ST):
//
//   steps 17 to 32  predicted  measured   error
//   mean              2.167 s   2.161 s  +0.26 %
//   50 % within       2.168 s   2.163 s  +0.23 %
//   95 % within        2.18 s   2.178 s  +0.10 %
//   99 % within        2.18 s   2.178 s  +0.10 %
//   predicted: 10000 steps drawn from steps 6 to 16 (the first 5 lie apart), each as long as the slowest of its
//   2 replicas; percentiles are those of 16 steps at a time, in the median; ...
//   at constant cost, ...

#include "variable_work_text.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include "text_blocks.hpp"
#include "words/figures.hpp"

namespace ppsim::viz {
namespace {

std::string signed_duration(Duration time) {
  return fmt::format("{}{}", time < Duration{0} ? "-" : "", format_duration(std::chrono::abs(time)));
}

std::string drawn_words(const VariableWork& work, std::size_t replicas) {
  const std::string apart = work.first == 0   ? ""
                            : work.first == 1 ? " (the first lies apart)"
                                              : fmt::format(" (the first {} lie apart)", work.first);
  return fmt::format("predicted: {} steps drawn from steps {} to {}{}, each {}; percentiles are those of {} at a time, "
                     "in the median; the mean is {} off single steps on average",
                     work.samples, work.first + 1, work.first + work.learned, apart,
                     replicas == 1 ? "as it was simulated"
                                   : fmt::format("as long as the slowest of its {} replicas{}", replicas,
                                                 work.together ? ", drawn together, as they balance each other"
                                                 : work.apart  ? ", whose microbatches are drawn one by one"
                                                               : ""),
                     counted(work.steps, "step"), percent(work.mean_error));
}

std::string constant_words(const VariableWork& work, std::size_t replicas) {
  std::string text = fmt::format("at constant cost, the mean of {} and pass for each task, a step takes {} (single "
                                 "steps are {} off)",
                                 replicas == 1 ? "its stage" : "its replica, stage", format_duration(work.constant),
                                 percent(work.constant_mean_error));
  text += fmt::format("; variable work adds {}", signed_duration(work.added()));
  if (replicas == 1) return text;
  return text + fmt::format(": {} within the replicas, {} from waiting for the slowest of each step. A replica waits "
                            "{} a step for it, {} at constant cost",
                            signed_duration(work.in_replicas), signed_duration(work.waits - work.constant_waits),
                            format_duration(work.waits), format_duration(work.constant_waits));
}

} // namespace

std::string variable_work_block(const VariableWork& work, std::size_t replicas, std::size_t width) {
  const std::size_t first = work.first + work.learned;
  std::vector<TableColumn> columns{{fmt::format("steps {} to {}", first + 1, first + work.steps), {}, 0, true},
                                   {"predicted", {}},
                                   {"measured", {}},
                                   {"error", {}}};
  const auto row = [&](std::string_view name, const ComparedTime& figure) {
    columns[0].cells.emplace_back(name);
    columns[1].cells.push_back(format_duration(figure.predicted));
    columns[2].cells.push_back(format_duration(figure.measured));
    columns[3].cells.push_back(signed_percent(figure.error()));
  };
  row("mean", work.mean);
  row("50 % within", work.p50);
  row("95 % within", work.p95);
  row("99 % within", work.p99);
  return indented_table(columns_that_fit(columns, width - 2)) +
         wrapped_lines("  " + drawn_words(work, replicas), width, 2) +
         wrapped_lines("  " + constant_words(work, replicas), width, 2);
}

} // namespace ppsim::viz
