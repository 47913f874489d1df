#include "failures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "result_bytes.hpp"

namespace ppsim::runtime {

namespace {

/// The most lines that rank 0 prints: of a thousand ranks nearly all wait.
constexpr std::size_t most_said = 16;

Message to_message(const FailureReport& report) {
  ByteWriter writer;
  writer.put(report.is_cause, static_cast<std::uint64_t>(report.problems.size()));
  for (const Problem& problem : report.problems) writer.put(problem.where, problem.what, problem.hint);
  return writer.bytes();
}

FailureReport report_from(const Message& message) {
  ByteReader reader{message};
  FailureReport report;
  reader.get(report.is_cause);
  report.problems.resize(reader.get_count(1));
  for (Problem& problem : report.problems) reader.get(problem.where, problem.what, problem.hint);
  return report;
}

/// The report, with its texts cut to fit.
Message to_message(FailureReport report, std::size_t most_bytes) {
  constexpr std::size_t longest = 500;
  for (Problem& problem : report.problems)
    for (std::string* text : {&problem.where, &problem.what, &problem.hint})
      text->resize(std::min(text->size(), longest));
  while (true) {
    Message message = to_message(report);
    if (message.size() <= most_bytes) return message;
    report.problems.pop_back();
  }
}

/// As wait_until(), but at most for `limit`.
void wait_for(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  try {
    wait_until([&] { return done() || std::chrono::steady_clock::now() > end; }, [] {}, Wait::patient);
  } catch (const std::runtime_error&) { // MPI also fails: continue with the known reports
  }
}

} // namespace

Failures::Failures(MessagePassing& messages, FailureLimits limits) : messages_{messages}, limits_{limits} {
  const bool is_leader = messages.rank() == 0;
  for (std::size_t from = is_leader ? 1 : 0; from < (is_leader ? messages.size() : 1); ++from)
    incoming_.push_back({from, std::vector<std::byte>(most_bytes), std::nullopt, std::nullopt});
  for (Incoming& it : incoming_)
    it.pending =
        Pending::receive(messages, it.text.data(), most_bytes, it.from, number(is_leader ? Tag::failure : Tag::stop));
}

bool Failures::look() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < std::chrono::milliseconds{1}) return heard_;
  last_look_ = now;
  return look_now();
}

bool Failures::look_now() {
  for (Incoming& it : incoming_) {
    if (!it.pending || !it.pending->test()) continue;
    it.text.resize(std::min(it.pending->bytes(), most_bytes));
    it.pending.reset();
    if (messages_.rank() == 0) it.report = report_from(it.text);
    heard_ = true;
  }
  return heard_;
}

Error Failures::conclude(const FailureReport& mine) {
  if (messages_.rank() == 0) return conclude_for_all(mine);
  report_ = to_message(mine, most_bytes);
  sends_.push_back(Pending::send(messages_, report_.data(), report_.size(), 0, number(Tag::failure)));
  const auto limit = limits_.end + (messages_.rank() > 1 ? limits_.end * 2 / 3 : std::chrono::milliseconds{0});
  wait_for(
      [&] {
        static_cast<void>(sends_.back().test()); // makes progress
        static_cast<void>(look_now());           // for heard()
        return false;
      },
      limit);
  std::vector<Problem> problems = mine.problems;
  problems.push_back({"rank 0", "does not answer: it is stopped, gone, or in a task that does not end", ""});
  return {ExitCode::failed, std::move(problems)};
}

Error Failures::conclude_for_all(const FailureReport& mine) {
  static constexpr std::byte stop{1};
  for (const Incoming& it : incoming_)
    sends_.push_back(Pending::send(messages_, &stop, sizeof stop, it.from, number(Tag::stop)));
  wait_for(
      [&] {
        static_cast<void>(look_now());
        return std::all_of(incoming_.begin(), incoming_.end(), [](const Incoming& it) { return it.report; });
      },
      limits_.answers);
  const auto add = [](std::vector<Problem>& to, const FailureReport& report) {
    to.insert(to.end(), report.problems.begin(), report.problems.end());
  };
  const auto first_of = [](std::vector<Problem> problems) {
    const std::size_t count = problems.size();
    if (count > most_said) {
      problems.resize(most_said);
      problems.push_back({"run", fmt::format("and {} more ranks", count - most_said), ""});
    }
    return problems;
  };
  std::vector<Problem> causes;
  std::vector<Problem> silent;
  std::vector<Problem> others;
  add(mine.is_cause ? causes : others, mine);
  for (const Incoming& it : incoming_) {
    if (it.report)
      add(it.report->is_cause ? causes : others, *it.report);
    else
      silent.push_back({fmt::format("rank {}", it.from),
                        "does not answer: it is stopped, gone, or in a task that does not end", ""});
  }
  if (!causes.empty()) return {ExitCode::failed, first_of(std::move(causes))};
  silent.insert(silent.end(), others.begin(), others.end());
  return {ExitCode::failed, first_of(std::move(silent))};
}

} // namespace ppsim::runtime
