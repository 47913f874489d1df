#pragma once
// Short ways to write an order of tasks with its sends and receives, and to run it.

#include "ppsim/engine/streams.hpp"
#include "ppsim/report/stalls.hpp"
#include "support/runs.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppsim::test {

/// An order of tasks, and of the operations between them.
struct Written {
  Schedule schedule;
  CommOrder order;
};

/// Words of a row: a task, an operation, or several of either in brackets, with ';' between them.
inline std::vector<std::string> words_of(const std::string& row) {
  std::vector<std::string> words;
  std::istringstream text{row};
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

inline bool is_operation(std::string_view word) {
  return word.find('_') != std::string_view::npos;
}

/// "2RECV_F0": the operation as PyTorch writes it; "0SEND_F1!": the next task of its stage waits for it; "0SEND_F1!2":
/// the one after two more does.
inline CommOp operation(const Schedule& schedule, const ScheduleIndex& where, std::string_view word) {
  CommOp op;
  if (const std::size_t mark = word.find('!'); mark != std::string_view::npos) {
    op.holds = true;
    if (mark + 1 < word.size())
      op.holds_after = static_cast<std::uint32_t>(std::stoul(std::string{word.substr(mark + 1)}));
    word = word.substr(0, mark);
  }
  const std::size_t letter = word.find_first_not_of("0123456789");
  const std::size_t chunk = std::stoul(std::string{word.substr(0, letter)});
  op.is_send = word.substr(letter, 4) == "SEND";
  REQUIRE((op.is_send || word.substr(letter, 4) == "RECV"));
  const bool forward = word[letter + 5] == 'F';
  const std::size_t microbatch = std::stoul(std::string{word.substr(letter + 6)});
  const std::size_t sender = op.is_send ? chunk : forward ? chunk - 1 : chunk + 1;
  REQUIRE(sender < schedule.shape().chunks());
  op.sender = forward ? where.forward(sender, microbatch) : where.backward(sender, microbatch);
  return op;
}

/// Rows as "0F0 0SEND_F0 (0SEND_F1;2RECV_F0) 2F0": one per stage. Brackets hold a group, or an overlapped pair. Rows
/// without a backward are of forwards alone.
inline Written written(const Rows& rows) {
  Rows tasks;
  for (const std::string& row : rows) {
    std::string& kept = tasks.emplace_back();
    for (const std::string& word : words_of(row))
      if (!is_operation(word)) kept += word + " ";
  }
  Schedule schedule = order(tasks);
  const auto is_forward = [](const Task& task) { return task.pass == Pass::forward; };
  if (std::ranges::all_of(schedule.tasks(), is_forward)) schedule = schedule.forwards();
  const ScheduleIndex where{schedule};
  std::vector<CommOp> ops;
  std::vector<std::uint32_t> offsets{0};
  for (const std::string& row : rows) {
    std::uint32_t before = 0;
    for (std::string word : words_of(row)) {
      if (!is_operation(word)) {
        before += word.front() == '(' ? 2 : 1;
        continue;
      }
      const bool group = word.front() == '(';
      if (group) word = word.substr(1, word.size() - 2);
      std::istringstream members{word};
      bool joins = false;
      for (std::string member; std::getline(members, member, ';'); joins = true) {
        ops.push_back(operation(schedule, where, member));
        ops.back().before = before;
        ops.back().joins = joins;
      }
    }
    offsets.push_back(static_cast<std::uint32_t>(ops.size()));
  }
  return {std::move(schedule), CommOrder{std::move(ops), std::move(offsets)}};
}

/// A run under `streams`, with the times of its operations.
struct StreamOutcome {
  Outcome outcome;
  CommOrder order;
  Communicators communicators{};

  [[nodiscard]] std::size_t position(std::string_view name) const {
    const auto ops = order.ops();
    const auto found =
        std::ranges::find_if(ops, [&](const CommOp& op) { return to_string(outcome.graph.schedule(), op) == name; });
    REQUIRE(found != ops.end());
    return static_cast<std::size_t>(found - ops.begin());
  }
  [[nodiscard]] const OpRun& op(std::string_view name) const { return outcome.timeline.operations[position(name)]; }
  [[nodiscard]] Duration time(std::size_t stage, Label label) const {
    return outcome.report.stages[stage].time[static_cast<std::size_t>(label)];
  }
  /// Results of find_stalls() as text.
  [[nodiscard]] std::vector<std::string> stalls() const {
    std::vector<std::string> told;
    for (const Stall& stall : find_stalls(outcome.graph, order, communicators, outcome.timeline))
      told.push_back(describe(outcome.graph, order, stall));
    return told;
  }
};

inline StreamOutcome run_streams(const Written& written, Scenario scenario, Communicators communicators) {
  scenario.network.model = TransferModel::streams;
  scenario.network.streams.communicators = communicators;
  Outcome outcome = ppsim::test::run(written.schedule.with_communications(written.order), std::move(scenario));
  return {std::move(outcome), written.order, communicators};
}

} // namespace ppsim::test
