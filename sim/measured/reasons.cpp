#include "reasons.hpp"

#include "ppsim/base/percentile.hpp"

#include <algorithm>
#include <map>

namespace ppsim {
namespace {

/// By replica.
using JobCosts = std::vector<GroupCosts>;

constexpr std::array every_pass{Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad};

double ratio_of(Duration own, Duration others) {
  return others == Duration{0} ? 1 : static_cast<double>(own.count()) / static_cast<double>(others.count());
}

class ReasonFinder {
public:
  ReasonFinder(const Replicas& replicas, Explanation& explanation)
      : graph_{replicas.graph}, groups_{replicas.groups}, runs_{replicas.runs}, mean_step_{replicas.mean_step},
        rest_{replicas.mean_step - replicas.mean_tasks}, now_{replicas.mean_tasks}, out_{explanation} {
    for (const MeasuredRun& run : runs_) costs_.push_back(mean_costs(graph_, groups_, run, 0, run.steps.size()));
  }

  void run() {
    add_part(Reason::after_tasks, rest_);
    find_waits_and_jitter();
    for (std::size_t replica = 0; replica < runs_.size(); ++replica)
      out_.replicas[replica].simulated = end_of_replica(costs_[replica]);
    out_.simulated = now_ + rest_;
    out_.model_error = ratio_of(out_.simulated, mean_step_) - 1;
    find_drift();
    find_slow_workers();
    find_heavy_stage();
    find_imbalance();
    find_slow_links();
    find_transfers();
    std::ranges::stable_sort(out_.findings, std::ranges::greater{}, &Finding::gain);
  }

  [[nodiscard]] std::vector<Suspect> slow_workers() const {
    JobCosts levelled = costs_;
    return level_slow_workers(levelled);
  }

private:
  [[nodiscard]] Duration end_of_replica(const GroupCosts& costs) const {
    return tasks_end(graph_, spread_over_tasks(groups_, costs));
  }

  /// All replicas wait for the slowest.
  [[nodiscard]] Duration end_of_job(const JobCosts& costs) const {
    Duration end{0};
    for (const GroupCosts& replica : costs) end = std::max(end, end_of_replica(replica));
    return end;
  }

  void add_part(Reason reason, Duration time) { out_.parts.push_back({reason, time}); }

  /// Removes `reason`: the step's tasks then end at `after`, also for later reasons.
  Finding without(Reason reason, Duration after) {
    Finding finding = finding_of(reason, now_, after);
    add_part(reason, now_ - after);
    now_ = after;
    return finding;
  }

  [[nodiscard]] Finding finding_of(Reason reason, Duration before, Duration after) const {
    Finding finding{.reason = reason, .before = before + rest_, .after = after + rest_};
    finding.share = mean_step_ == Duration{0} ? 0 : ratio_of(finding.gain(), mean_step_);
    return finding;
  }

  /// Drops findings with too little gain.
  void add_finding(Finding finding) {
    if (finding.share > least_share) out_.findings.push_back(std::move(finding));
  }

  // With every task's own duration: means over all steps.

  void find_waits_and_jitter() {
    RunningMean own;
    RunningMean usual;
    for (std::size_t step = 0; step < runs_.front().steps.size(); ++step) {
      Duration slowest_own{0};
      Duration slowest_usual{0};
      for (std::size_t replica = 0; replica < runs_.size(); ++replica) {
        StepCosts costs = costs_of_step(graph_, runs_[replica].steps[step]);
        slowest_own = std::max(slowest_own, tasks_end(graph_, costs));
        costs.transfer = spread_over_tasks(groups_, costs_[replica]).transfer;
        slowest_usual = std::max(slowest_usual, tasks_end(graph_, costs));
      }
      own.add(slowest_own);
      usual.add(slowest_usual);
    }
    out_.own_error = ratio_of(own.mean() + rest_, mean_step_) - 1;
    add_finding(without(Reason::late_starts, own.mean()));
    add_finding(without(Reason::transfer_waits, usual.mean()));
    add_finding(without(Reason::jitter, end_of_job(costs_)));
  }

  // Drift.

  void find_drift() {
    const std::size_t steps = runs_.front().steps.size();
    const std::size_t quarter = steps / 4;
    if (quarter == 0) return;
    JobCosts early;
    for (const MeasuredRun& run : runs_) early.push_back(mean_costs(graph_, groups_, run, 0, quarter));
    Finding finding = finding_of(Reason::drift, now_, end_of_job(early));
    if (finding.share <= least_share) return;
    Suspect most;
    for (std::size_t replica = 0; replica < runs_.size(); ++replica) {
      for (const StageId stage : out_.shape.stage_ids()) {
        Suspect suspect = beside(replica, stage, costs_[replica], early[replica]);
        if (most.own == Duration{0} || suspect.ratio() > most.ratio()) most = std::move(suspect);
      }
    }
    finding.suspects.push_back(std::move(most));
    add_finding(std::move(finding));
  }

  // Slow workers.

  [[nodiscard]] Duration busy(const GroupCosts& costs, StageId stage) const {
    Duration sum{0};
    for (const std::size_t group : groups_.of_stage(stage))
      sum += static_cast<std::int64_t>(groups_.groups[group].tasks) * costs.task[group];
    return sum;
  }

  /// The mean duration of a pass in these groups; zero where they have no such tasks.
  template <class Groups>
  [[nodiscard]] Duration mean_of_pass(const GroupCosts& costs, const Groups& groups, Pass pass) const {
    std::int64_t sum = 0;
    std::int64_t tasks = 0;
    for (const std::size_t group : groups) {
      const TaskGroup& each = groups_.groups[group];
      if (each.pass != pass) continue;
      sum += static_cast<std::int64_t>(each.tasks) * costs.task[group].count();
      tasks += static_cast<std::int64_t>(each.tasks);
    }
    return tasks == 0 ? Duration{0} : Duration{divide_rounded(sum, tasks)};
  }
  [[nodiscard]] Duration mean_of_pass(const GroupCosts& costs, StageId stage, Pass pass) const {
    return mean_of_pass(costs, groups_.of_stage(stage), pass);
  }

  [[nodiscard]] Suspect beside(std::size_t replica, StageId stage, const GroupCosts& own,
                               const GroupCosts& others) const {
    Suspect suspect{
        .replica = replica, .stage = stage, .own = busy(own, stage), .others = busy(others, stage), .passes = {}};
    for (const Pass pass : every_pass)
      if (const Duration mean = mean_of_pass(own, stage, pass); mean > Duration{0})
        suspect.passes.push_back({pass, mean, mean_of_pass(others, stage, pass)});
    return suspect;
  }

  /// The replicas that run `stage` slowly compared with the others.
  [[nodiscard]] std::vector<bool> slow_replicas(StageId stage) const {
    std::vector<Duration> times;
    times.reserve(costs_.size());
    for (const GroupCosts& costs : costs_) times.push_back(busy(costs, stage));
    const MedianOfOthers<Duration> others{times};
    std::vector<bool> slow;
    slow.reserve(times.size());
    for (const Duration own : times) slow.push_back(times.size() > 1 && 100 * own > slow_worker_percent * others(own));
    return slow;
  }

  /// Sets the stage of each slow replica to the mean of the others.
  void level_with_peers(JobCosts& levelled, StageId stage, const std::vector<bool>& slow) const {
    for (const std::size_t group : groups_.of_stage(stage)) {
      RunningMean peers;
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (!slow[replica]) peers.add(costs_[replica].task[group]);
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (slow[replica]) levelled[replica].task[group] = peers.mean();
    }
  }

  /// The gain of its replica if only this worker is like its peers.
  void simulate_alone(Suspect& suspect, const JobCosts& levelled) const {
    GroupCosts alone = costs_[suspect.replica];
    for (const std::size_t group : groups_.of_stage(suspect.stage))
      alone.task[group] = levelled[suspect.replica].task[group];
    suspect.before = out_.replicas[suspect.replica].simulated;
    suspect.after = end_of_replica(alone);
  }

  /// The slowest first; `levelled` gets their peers' times.
  [[nodiscard]] std::vector<Suspect> level_slow_workers(JobCosts& levelled) const {
    std::vector<Suspect> suspects;
    for (const StageId stage : out_.shape.stage_ids()) {
      const std::vector<bool> slow = slow_replicas(stage);
      level_with_peers(levelled, stage, slow);
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (slow[replica]) suspects.push_back(beside(replica, stage, costs_[replica], levelled[replica]));
    }
    std::ranges::stable_sort(suspects, std::ranges::greater{}, &Suspect::ratio);
    return suspects;
  }

  void find_slow_workers() {
    JobCosts levelled = costs_;
    std::vector<Suspect> suspects = level_slow_workers(levelled);
    for (std::size_t i = 0; i < std::min(suspects.size(), most_simulated_alone); ++i)
      simulate_alone(suspects[i], levelled);
    Finding finding = without(Reason::slow_worker, end_of_job(levelled));
    finding.suspects = std::move(suspects);
    costs_ = std::move(levelled);
    add_finding(std::move(finding));
  }

  // Stages that differ.

  /// The busiest stage over all replicas.
  [[nodiscard]] StageId heaviest() const {
    std::size_t most = 0;
    std::vector<Duration> sums(out_.shape.stages);
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
      for (const GroupCosts& costs : costs_) sums[stage] += busy(costs, make_id<StageId>(stage));
      if (sums[stage] > sums[most]) most = stage;
    }
    return make_id<StageId>(most);
  }

  /// The mean duration of a pass on all other stages that run it, and their number.
  [[nodiscard]] std::pair<Duration, std::int64_t> mean_elsewhere(const GroupCosts& costs, StageId stage,
                                                                 Pass pass) const {
    RunningMean elsewhere;
    std::int64_t stages = 0;
    for (const StageId other : out_.shape.stage_ids()) {
      if (other == stage) continue;
      const Duration each = mean_of_pass(costs, other, pass);
      if (each == Duration{0}) continue;
      elsewhere.add(each);
      ++stages;
    }
    return {elsewhere.mean(), stages};
  }

  /// Distributes the excess of `stage` over the mean of the others evenly over all, pass by pass.
  void level_work(GroupCosts& costs, StageId stage) const {
    const GroupCosts before = costs;
    for (const Pass pass : every_pass) {
      const Duration own = mean_of_pass(before, stage, pass);
      const auto [others, stages] = mean_elsewhere(before, stage, pass);
      if (own == Duration{0} || stages == 0) continue;
      const Duration given{(own - others).count() / (stages + 1)};
      for (const std::size_t group : groups_.all()) {
        Duration& cost = costs.task[group];
        if (groups_.groups[group].pass != pass) continue;
        if (groups_.groups[group].stage == stage)
          cost = Duration{scale_rounded(cost.count(), (others + given).count(), own.count())};
        else
          cost = std::max(cost + given, Duration{0});
      }
    }
  }

  void find_heavy_stage() {
    if (out_.shape.stages < 2) return add_part(Reason::heavy_stage, Duration{0});
    const StageId stage = heaviest();
    JobCosts levelled = costs_;
    for (GroupCosts& costs : levelled) level_work(costs, stage);
    Suspect suspect = heavy_suspect(stage, levelled);
    Finding finding = without(Reason::heavy_stage, end_of_job(levelled));
    finding.may_be_slow = runs_.size() == 1 && alike(suspect.passes);
    finding.suspects.push_back(std::move(suspect));
    costs_ = std::move(levelled);
    add_finding(std::move(finding));
  }

  /// In the slowest replica.
  [[nodiscard]] Suspect heavy_suspect(StageId stage, const JobCosts& levelled) const {
    Suspect suspect{.stage = stage, .passes = {}};
    for (std::size_t replica = 0; replica < costs_.size(); ++replica)
      if (const Duration end = end_of_replica(costs_[replica]); end > suspect.before) {
        suspect.before = end;
        suspect.replica = replica;
      }
    const GroupCosts& costs = costs_[suspect.replica];
    suspect.after = end_of_replica(levelled[suspect.replica]);
    suspect.own = busy(costs, stage);
    RunningMean others;
    for (const StageId other : out_.shape.stage_ids())
      if (other != stage) others.add(busy(costs, other));
    suspect.others = others.mean();
    for (const Pass pass : every_pass)
      if (const Duration own = mean_of_pass(costs, stage, pass); own > Duration{0})
        suspect.passes.push_back({pass, own, mean_elsewhere(costs, stage, pass).first});
    return suspect;
  }

  /// A slow device is slow in every pass, and so are more layers; a loss is heavier in one pass. Compares the excess
  /// over the others: 1.46 and 1.24 times for a production run with a slow worker, 1.07 and 0.41 for one with a loss.
  static bool alike(const std::vector<PassComparison>& passes) {
    constexpr double tolerated = 1.5;
    if (passes.empty()) return false;
    const auto [least, most] = std::ranges::minmax_element(passes, {}, &PassComparison::ratio);
    return most->ratio() - 1 <= tolerated * (least->ratio() - 1);
  }

  /// Every task gets the mean of its pass over all stages.
  void find_imbalance() {
    for (GroupCosts& costs : costs_)
      for (const Pass pass : every_pass) {
        const Duration mean = mean_of_pass(costs, groups_.all(), pass);
        for (const std::size_t group : groups_.all())
          if (groups_.groups[group].pass == pass) costs.task[group] = mean;
      }
    add_finding(without(Reason::imbalance, end_of_job(costs_)));
  }

  // Transfers.

  /// Transfers between two stages of one replica, both directions.
  struct Link {
    std::size_t replica = 0;
    std::pair<StageId, StageId> ends;
    std::vector<std::size_t> groups; ///< of their senders
    Duration time{0};                ///< mean of those
  };

  [[nodiscard]] std::vector<Link> links() const {
    std::vector<Link> result;
    for (std::size_t replica = 0; replica < costs_.size(); ++replica) {
      std::map<std::pair<StageId, StageId>, Link> found;
      for (const std::size_t group : groups_.all()) {
        const TaskGroup& each = groups_.groups[group];
        if (!each.receiver) continue;
        const std::pair<StageId, StageId> ends = std::minmax(each.stage, *each.receiver);
        Link& link = found[ends];
        link.replica = replica;
        link.ends = ends;
        link.groups.push_back(group);
      }
      for (auto& [ends, link] : found) {
        link.time = mean_duration(link.groups, [&](std::size_t group) { return costs_[replica].transfer[group]; });
        result.push_back(std::move(link));
      }
    }
    return result;
  }

  void find_slow_links() {
    const std::vector<Link> all = links();
    std::vector<Duration> times;
    times.reserve(all.size());
    for (const Link& link : all) times.push_back(link.time);
    const MedianOfOthers<Duration> others{times};
    JobCosts levelled = costs_;
    std::vector<const Link*> slow;
    for (const Link& link : all) {
      if (all.size() == 1 || link.time * 100 <= slow_link_percent * others(link.time)) continue;
      for (const std::size_t group : link.groups) levelled[link.replica].transfer[group] = others(link.time);
      slow.push_back(&link);
    }
    Finding finding = without(Reason::slow_link, end_of_job(levelled));
    costs_ = std::move(levelled);
    if (slow.empty()) return;
    const Link& slowest = **std::ranges::max_element(slow, {}, &Link::time);
    finding.own = slowest.time;
    finding.others = others(slowest.time);
    finding.stage = slowest.ends.first;
    finding.other = slowest.ends.second;
    finding.replica = slowest.replica;
    finding.links = slow.size();
    const bool same = std::ranges::all_of(slow, [&](const Link* link) { return link->ends == slowest.ends; });
    finding.everywhere = same && slow.size() == runs_.size();
    add_finding(std::move(finding));
  }

  /// Transfers, and the remaining schedule.
  void find_transfers() {
    const Duration usual = mean_duration(links(), &Link::time);
    for (GroupCosts& costs : costs_) std::ranges::fill(costs.transfer, Duration{0});
    Finding finding = without(Reason::transfers, end_of_job(costs_));
    finding.own = usual;
    add_finding(std::move(finding));
    Duration work{0};
    for (const GroupCosts& costs : costs_)
      work = std::max(work, mean_duration(out_.shape.stage_ids(), [&](StageId stage) { return busy(costs, stage); }));
    out_.schedule_bubble = now_ == Duration{0} ? 0 : ratio_of(now_ - work, now_);
    add_part(Reason::schedule, now_ - work);
    add_part(Reason::work, work);
  }

  const TaskGraph& graph_;
  const TaskGroups& groups_;
  std::span<const MeasuredRun> runs_;
  Duration mean_step_;
  Duration rest_; ///< after the tasks; not changed by simulations
  Duration now_;  ///< until the last task of all replicas, without the removed reasons
  JobCosts costs_;
  Explanation& out_;
};

} // namespace

double PassComparison::ratio() const {
  return ratio_of(own, others);
}

double Suspect::ratio() const {
  return ratio_of(own, others);
}

void find_reasons(const Replicas& replicas, Explanation& explanation) {
  ReasonFinder{replicas, explanation}.run();
}

std::vector<Suspect> find_slow_workers(const Replicas& replicas) {
  Explanation nothing_said;
  nothing_said.shape = replicas.graph.schedule().shape();
  return ReasonFinder{replicas, nothing_said}.slow_workers();
}

} // namespace ppsim
