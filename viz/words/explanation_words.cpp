#include "explanation_words.hpp"

#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "figures.hpp"

namespace ppsim::viz {
namespace {

using Lines = std::vector<std::string>;

/// How a reason is named as a part of a step; what was found, unless that names places or figures; and how a step goes
/// without it, unless it is never a finding.
struct ReasonWords {
  std::string_view part, found, without;
};

ReasonWords words_of(Reason reason) {
  switch (reason) {
  case Reason::after_tasks:
    return {"reductions and optimizer, after the tasks", "", ""};
  case Reason::late_starts:
    return {"tasks that started late", "tasks start late, although their stage is free and their input has arrived",
            "started at once"};
  case Reason::transfer_waits:
    return {"transfers longer than usual", "some transfers take longer than usual", "with the usual time"};
  case Reason::jitter:
    return {"jitter of tasks", "tasks of one stage and pass differ", "with their mean"};
  case Reason::slow_worker:
    return {"slow workers", "", "like them"};
  case Reason::heavy_stage:
    return {"the heaviest stage", "", "spread evenly over all"};
  case Reason::imbalance:
    return {"other differences of stages", "the stages also differ in other ways", "all alike"};
  case Reason::slow_link:
    return {"slow links", "", "like those"};
  case Reason::transfers:
    return {"transfers", "", "without them"};
  case Reason::schedule:
    return {"the order's own bubble", "", ""};
  case Reason::work:
    return {"work of a stage", "", ""};
  case Reason::drift:
    return {"drift", "tasks got slower after the first quarter of the steps", "as fast as then"};
  }
  return {};
}

std::string times(double ratio) {
  return fmt::format("{:.{}f} times", ratio, ratio < 9.995 ? 2 : 1);
}

/// "F 25 ms, 10 ms elsewhere (2.50 times)"
std::string beside_words(const std::vector<PassComparison>& passes, std::string_view elsewhere) {
  Lines words;
  for (const PassComparison& pass : passes)
    words.push_back(pass.others == Duration{0}
                        ? fmt::format("{} {}", letter(pass.pass), format_duration(pass.own))
                        : fmt::format("{} {}, {} {} ({})", letter(pass.pass), format_duration(pass.own),
                                      format_duration(pass.others), elsewhere, times(pass.ratio())));
  return joined(words, "; ");
}

/// "stage 0 of replica 1"; without the replica where there is one.
std::string place_words(const Explanation& explanation, std::size_t replica, StageId stage) {
  if (explanation.replicas.size() == 1) return fmt::format("stage {}", index(stage));
  return fmt::format("stage {} of replica {}", index(stage), replica);
}

const StageExplanation& stage_at(const Explanation& explanation, const Suspect& suspect) {
  return explanation.replicas[suspect.replica].stages[index(suspect.stage)];
}

/// "stage 3, the last,"
std::string heavy_name(const Explanation& explanation, StageId stage) {
  const std::size_t last = explanation.shape.stages - 1;
  const std::string_view which = index(stage) == last ? ", the last," : index(stage) == 0 ? ", the first," : "";
  return fmt::format("stage {}{}", index(stage), which);
}

/// Which replicas wait for others, and how long: "replicas 1, 2 and 3 wait 285 ms a step for it".
std::string waiting_words(const Explanation& explanation, std::size_t slow) {
  Lines names;
  Duration sum{0};
  for (std::size_t replica = 0; replica < explanation.replicas.size(); ++replica) {
    const Duration waits = explanation.replicas[replica].stages.front().waits_for_replicas;
    if (replica == slow || waits <= explanation.step.mean / 100) continue;
    names.push_back(fmt::format("{}", replica));
    sum += waits;
  }
  if (names.empty()) return {};
  const Duration mean = sum / static_cast<std::int64_t>(names.size());
  if (names.size() == 1) return fmt::format("replica {} waits {} a step", names[0], format_duration(mean));
  return fmt::format("replicas {} wait {} a step on average", enumerated(names), format_duration(mean));
}

Lines slow_worker_evidence(const Explanation& explanation, const Finding& finding) {
  const Suspect& worst = finding.suspects.front();
  const ReplicaExplanation& replica = explanation.replicas[worst.replica];
  Lines lines{beside_words(worst.passes, "elsewhere")};
  lines.push_back(fmt::format("tasks of replica {} take {} a step by simulation, and {} with this stage like the "
                              "others: it makes them {} as long",
                              worst.replica, format_duration(worst.before), format_duration(worst.after),
                              times(static_cast<double>(worst.before.count()) /
                                    static_cast<double>(std::max(worst.after, Duration{1}).count()))));
  std::string pace =
      fmt::format("replica {} ends last in {} of {} steps", worst.replica, replica.slowest_in, explanation.steps);
  if (const std::string waits = waiting_words(explanation, worst.replica); !waits.empty()) pace += "; " + waits;
  lines.push_back(std::move(pace));
  Lines others;
  constexpr std::size_t most = 4;
  for (std::size_t i = 1; i < std::min(finding.suspects.size(), most); ++i)
    others.push_back(fmt::format("{} ({})",
                                 place_words(explanation, finding.suspects[i].replica, finding.suspects[i].stage),
                                 times(finding.suspects[i].ratio())));
  if (finding.suspects.size() > most) others.push_back(fmt::format("{} more", finding.suspects.size() - most));
  if (!others.empty()) lines.push_back("also slow: " + joined(others, ", "));
  return lines;
}

Lines heavy_evidence(const Finding& finding) {
  const Suspect& suspect = finding.suspects.front();
  Lines lines{beside_words(suspect.passes, "on the others")};
  if (finding.may_be_slow)
    lines.emplace_back(
        "all its passes are equally longer, so its device may be slow instead: runs of other replicas would show that");
  return lines;
}

Lines jitter_evidence(const Explanation& explanation, const Finding& finding) {
  const Suspect& suspect = finding.suspects.front();
  Lines words;
  for (const PassStatistics& pass : stage_at(explanation, suspect).passes)
    words.push_back(
        fmt::format("{} {} +- {}", letter(pass.pass), format_duration(pass.mean), format_duration(pass.spread)));
  return {fmt::format("most on {}: {}", place_words(explanation, suspect.replica, suspect.stage), joined(words, ", "))};
}

Lines late_evidence(const Explanation& explanation, const Finding& finding) {
  const Suspect& suspect = finding.suspects.front();
  const Duration waits = stage_at(explanation, suspect).time[static_cast<std::size_t>(Label::host)];
  return {fmt::format("most on {}: {} a step", place_words(explanation, suspect.replica, suspect.stage),
                      format_duration(waits))};
}

Lines drift_evidence(const Explanation& explanation, const Finding& finding) {
  const StepTimes& tasks = explanation.tasks;
  Lines lines{fmt::format("the last task ended after {} on average in the first quarter of the steps, after {} in all "
                          "of them, and after {} in the last quarter",
                          format_duration(tasks.first), format_duration(tasks.mean), format_duration(tasks.last))};
  const Suspect& suspect = finding.suspects.front();
  lines.push_back(fmt::format("most on {}: busy for {} a step, at first for {}",
                              place_words(explanation, suspect.replica, suspect.stage), format_duration(suspect.own),
                              format_duration(suspect.others)));
  return lines;
}

Lines imbalance_evidence(const Explanation& explanation) {
  const auto busy = [](const StageExplanation& stage) { return stage.busy; };
  Duration least = Duration::max();
  Duration most{0};
  for (const ReplicaExplanation& replica : explanation.replicas) {
    const auto [low, high] = std::ranges::minmax(replica.stages, {}, busy);
    least = std::min(least, low.busy);
    most = std::max(most, high.busy);
  }
  return {
      fmt::format("as measured, stages are busy for {} to {} a step", format_duration(least), format_duration(most))};
}

std::string slow_link_words(const Explanation& explanation, const Finding& finding) {
  std::string whose;
  if (explanation.replicas.size() > 1)
    whose = finding.everywhere ? " of every replica" : fmt::format(" of replica {}", finding.replica);
  const std::string more = finding.links > 1 && !finding.everywhere
                               ? fmt::format(" (and {} more)", counted(finding.links - 1, "slow link"))
                               : std::string{};
  return fmt::format("transfers between stages {} and {}{} take {}{}, elsewhere {}", index(finding.stage),
                     index(finding.other), whose, format_duration(finding.own), more, format_duration(finding.others));
}

std::string found_words(const Explanation& explanation, const Finding& finding) {
  switch (finding.reason) {
  case Reason::slow_worker: {
    const Suspect& worst = finding.suspects.front();
    return fmt::format("{} takes {} as long as in the other replicas",
                       place_words(explanation, worst.replica, worst.stage), times(worst.ratio()));
  }
  case Reason::heavy_stage:
    return fmt::format("{} has {} the work of the others", heavy_name(explanation, finding.suspects.front().stage),
                       times(finding.suspects.front().ratio()));
  case Reason::slow_link:
    return slow_link_words(explanation, finding);
  case Reason::transfers:
    return fmt::format("transfers take {} on average", format_duration(finding.own));
  default:
    return std::string{words_of(finding.reason).found};
  }
}

} // namespace

std::string_view part_name(Reason reason) {
  return words_of(reason).part;
}

std::string finding_words(const Explanation& explanation, const Finding& finding) {
  const ReasonWords words = words_of(finding.reason);
  if (words.without.empty()) return std::string{words.part};
  return fmt::format("{}; {}, a step takes {} instead of {}", found_words(explanation, finding), words.without,
                     format_duration(finding.after), format_duration(finding.before));
}

Lines evidence_words(const Explanation& explanation, const Finding& finding) {
  switch (finding.reason) {
  case Reason::slow_worker:
    return slow_worker_evidence(explanation, finding);
  case Reason::heavy_stage:
    return heavy_evidence(finding);
  case Reason::jitter:
    return jitter_evidence(explanation, finding);
  case Reason::late_starts:
    return late_evidence(explanation, finding);
  case Reason::drift:
    return drift_evidence(explanation, finding);
  case Reason::imbalance:
    return imbalance_evidence(explanation);
  default:
    return {};
  }
}

} // namespace ppsim::viz
