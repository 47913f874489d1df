#include "reasons.hpp"

#include "ppsim/base/percentile.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ppsim {
namespace {

/// Of each replica.
using JobCosts = std::vector<GroupCosts>;

constexpr std::array every_pass{Pass::forward, Pass::backward, Pass::input_grad, Pass::weight_grad};

double ratio_of(Duration own, Duration others) {
  return others == Duration{0} ? 1 : static_cast<double>(own.count()) / static_cast<double>(others.count());
}

class ReasonFinder {
public:
  ReasonFinder(const Replicas& replicas, Explanation& explanation)
      : graph_{replicas.graph}, groups_{replicas.groups}, runs_{replicas.runs}, mean_step_{replicas.mean_step},
        rest_{replicas.mean_step - replicas.mean_tasks}, now_{replicas.mean_tasks}, out_{explanation} {}

  void run() {
    add_part(Reason::after_tasks, rest_);
    take_means();
    take_out_measured();
    for (std::size_t replica = 0; replica < runs_.size(); ++replica)
      out_.replicas[replica].simulated = end_of_replica(costs_[replica]);
    out_.simulated = now_ + rest_;
    out_.model_error = ratio_of(out_.simulated, mean_step_) - 1;
    find_drift();
    heal_workers();
    level_heaviest();
    equalise();
    heal_links();
    free_transfers();
    std::ranges::stable_sort(out_.findings, std::ranges::greater{}, &Finding::gain);
  }

  [[nodiscard]] std::vector<Suspect> slow_workers() {
    take_means();
    JobCosts healed = costs_;
    return find_slow(healed);
  }

private:
  void take_means() {
    for (const MeasuredRun& run : runs_) costs_.push_back(mean_costs(graph_, groups_, run, 0, run.steps.size()));
  }

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

  /// The step without `reason` takes until `after`: from here on, it is gone.
  Finding take_out(Reason reason, Duration after) {
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

  void keep(Finding finding) {
    if (finding.share > least_share) out_.findings.push_back(std::move(finding));
  }

  // What needs every task's own duration: the mean over all steps.

  void take_out_measured() {
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
    keep(take_out(Reason::late_starts, own.mean()));
    keep(take_out(Reason::transfer_waits, usual.mean()));
    keep(take_out(Reason::jitter, end_of_job(costs_)));
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
    keep(std::move(finding));
  }

  // Slow workers.

  [[nodiscard]] Duration busy(const GroupCosts& costs, StageId stage) const {
    Duration sum{0};
    for (const std::size_t group : groups_.of_stage(stage))
      sum += static_cast<std::int64_t>(groups_.groups[group].tasks) * costs.task[group];
    return sum;
  }

  /// The mean duration of a pass on a stage; zero where it has no such tasks.
  [[nodiscard]] Duration mean_of(const GroupCosts& costs, StageId stage, Pass pass) const {
    std::int64_t sum = 0;
    std::int64_t tasks = 0;
    for (const std::size_t group : groups_.of_stage(stage)) {
      const TaskGroup& each = groups_.groups[group];
      if (each.pass != pass) continue;
      sum += static_cast<std::int64_t>(each.tasks) * costs.task[group].count();
      tasks += static_cast<std::int64_t>(each.tasks);
    }
    return tasks == 0 ? Duration{0} : Duration{divide_rounded(sum, tasks)};
  }

  [[nodiscard]] Suspect beside(std::size_t replica, StageId stage, const GroupCosts& own,
                               const GroupCosts& others) const {
    Suspect suspect{
        .replica = replica, .stage = stage, .own = busy(own, stage), .others = busy(others, stage), .passes = {}};
    for (const Pass pass : every_pass)
      if (const Duration mean = mean_of(own, stage, pass); mean > Duration{0})
        suspect.passes.push_back({pass, mean, mean_of(others, stage, pass)});
    return suspect;
  }

  /// Which replicas run `stage` slowly, beside the others.
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

  /// Gives the stage of each replica in which it is slow the mean over those in which it is not.
  void heal(JobCosts& healed, StageId stage, const std::vector<bool>& slow) const {
    for (const std::size_t group : groups_.of_stage(stage)) {
      RunningMean peers;
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (!slow[replica]) peers.add(costs_[replica].task[group]);
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (slow[replica]) healed[replica].task[group] = peers.mean();
    }
  }

  /// What healing this one alone gives to its replica.
  void heal_alone(Suspect& suspect, const JobCosts& healed) const {
    GroupCosts alone = costs_[suspect.replica];
    for (const std::size_t group : groups_.of_stage(suspect.stage))
      alone.task[group] = healed[suspect.replica].task[group];
    suspect.before = out_.replicas[suspect.replica].simulated;
    suspect.after = end_of_replica(alone);
  }

  /// The slowest first; heals them in `healed`, too.
  [[nodiscard]] std::vector<Suspect> find_slow(JobCosts& healed) const {
    std::vector<Suspect> suspects;
    for (const StageId stage : out_.shape.stage_ids()) {
      const std::vector<bool> slow = slow_replicas(stage);
      heal(healed, stage, slow);
      for (std::size_t replica = 0; replica < costs_.size(); ++replica)
        if (slow[replica]) suspects.push_back(beside(replica, stage, costs_[replica], healed[replica]));
    }
    std::ranges::stable_sort(suspects, std::ranges::greater{}, &Suspect::ratio);
    return suspects;
  }

  void heal_workers() {
    JobCosts healed = costs_;
    std::vector<Suspect> suspects = find_slow(healed);
    for (std::size_t i = 0; i < std::min(suspects.size(), most_healed_alone); ++i) heal_alone(suspects[i], healed);
    Finding finding = take_out(Reason::slow_worker, end_of_job(healed));
    finding.suspects = std::move(suspects);
    costs_ = std::move(healed);
    keep(std::move(finding));
  }

  // Stages that differ.

  /// Over all replicas, the busiest.
  [[nodiscard]] StageId heaviest() const {
    std::size_t most = 0;
    std::vector<Duration> sums(out_.shape.stages);
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
      for (const GroupCosts& costs : costs_) sums[stage] += busy(costs, make_id<StageId>(stage));
      if (sums[stage] > sums[most]) most = stage;
    }
    return make_id<StageId>(most);
  }

  /// The mean duration of a pass on all other stages that run it, and how many those are.
  [[nodiscard]] std::pair<Duration, std::int64_t> mean_elsewhere(const GroupCosts& costs, StageId stage,
                                                                 Pass pass) const {
    RunningMean elsewhere;
    std::int64_t stages = 0;
    for (const StageId other : out_.shape.stage_ids()) {
      if (other == stage) continue;
      const Duration each = mean_of(costs, other, pass);
      if (each == Duration{0}) continue;
      elsewhere.add(each);
      ++stages;
    }
    return {elsewhere.mean(), stages};
  }

  /// Moves what `stage` has more than the mean of the others evenly over all, pass by pass.
  void level(GroupCosts& costs, StageId stage) const {
    const GroupCosts before = costs;
    for (const Pass pass : every_pass) {
      const Duration own = mean_of(before, stage, pass);
      const auto [others, stages] = mean_elsewhere(before, stage, pass);
      if (own == Duration{0} || stages == 0) continue;
      const Duration given{(own - others).count() / (stages + 1)};
      for (std::size_t group = 0; group < groups_.groups.size(); ++group) {
        Duration& cost = costs.task[group];
        if (groups_.groups[group].pass != pass) continue;
        if (groups_.groups[group].stage == stage)
          cost = Duration{scale_rounded(cost.count(), (others + given).count(), own.count())};
        else
          cost = std::max(cost + given, Duration{0});
      }
    }
  }

  void level_heaviest() {
    if (out_.shape.stages < 2) return add_part(Reason::heavy_stage, Duration{0});
    const StageId stage = heaviest();
    JobCosts levelled = costs_;
    for (GroupCosts& costs : levelled) level(costs, stage);
    Suspect suspect = heavy_suspect(stage, levelled);
    Finding finding = take_out(Reason::heavy_stage, end_of_job(levelled));
    finding.may_be_slow = runs_.size() == 1 && alike(suspect.passes);
    finding.suspects.push_back(std::move(suspect));
    costs_ = std::move(levelled);
    keep(std::move(finding));
  }

  /// In the replica that sets the pace.
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
      if (const Duration own = mean_of(costs, stage, pass); own > Duration{0})
        suspect.passes.push_back({pass, own, mean_elsewhere(costs, stage, pass).first});
    return suspect;
  }

  /// A slow device is slow in every pass; more layers are, too. A loss is heavier in one of them. Compared is what they
  /// take beyond the others: of a production run with a slow worker 1.46 and 1.24 times, of one with a loss 1.07 and
  /// 0.41.
  static bool alike(const std::vector<PassBeside>& passes) {
    constexpr double tolerated = 1.5;
    if (passes.empty()) return false;
    const auto [least, most] = std::ranges::minmax_element(passes, {}, &PassBeside::ratio);
    return most->ratio() - 1 <= tolerated * (least->ratio() - 1);
  }

  /// Every task takes the mean of its pass over all stages.
  void equalise() {
    for (GroupCosts& costs : costs_)
      for (const Pass pass : every_pass) {
        std::int64_t sum = 0;
        std::int64_t tasks = 0;
        for (std::size_t group = 0; group < groups_.groups.size(); ++group) {
          const TaskGroup& each = groups_.groups[group];
          if (each.pass != pass) continue;
          sum += static_cast<std::int64_t>(each.tasks) * costs.task[group].count();
          tasks += static_cast<std::int64_t>(each.tasks);
        }
        for (std::size_t group = 0; group < groups_.groups.size(); ++group)
          if (groups_.groups[group].pass == pass) costs.task[group] = Duration{divide_rounded(sum, tasks)};
      }
    keep(take_out(Reason::imbalance, end_of_job(costs_)));
  }

  // Transfers.

  /// Transfers between two stages of one replica, both ways.
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
      for (std::size_t group = 0; group < groups_.groups.size(); ++group) {
        const TaskGroup& each = groups_.groups[group];
        if (!each.receiver) continue;
        const std::pair<StageId, StageId> ends = std::minmax(each.stage, *each.receiver);
        Link& link = found[ends];
        link.replica = replica;
        link.ends = ends;
        link.groups.push_back(group);
      }
      for (auto& [ends, link] : found) {
        RunningMean all;
        for (const std::size_t group : link.groups) all.add(costs_[replica].transfer[group]);
        link.time = all.mean();
        result.push_back(std::move(link));
      }
    }
    return result;
  }

  void heal_links() {
    const std::vector<Link> all = links();
    Finding slowest;
    JobCosts healed = costs_;
    std::set<std::pair<StageId, StageId>> slow;
    std::vector<Duration> times;
    times.reserve(all.size());
    for (const Link& link : all) times.push_back(link.time);
    const MedianOfOthers<Duration> others{times};
    for (const Link& link : all) {
      const Duration usual = others(link.time);
      if (all.size() == 1 || link.time * 100 <= slow_link_percent * usual) continue;
      for (const std::size_t group : link.groups) healed[link.replica].transfer[group] = usual;
      ++slowest.links;
      slow.insert(link.ends);
      if (link.time <= slowest.own) continue;
      slowest.own = link.time;
      slowest.others = usual;
      slowest.stage = link.ends.first;
      slowest.other = link.ends.second;
      slowest.replica = link.replica;
    }
    slowest.everywhere = slow.size() == 1 && slowest.links == runs_.size();
    const Finding taken = take_out(Reason::slow_link, end_of_job(healed));
    slowest.reason = taken.reason;
    slowest.before = taken.before;
    slowest.after = taken.after;
    slowest.share = taken.share;
    costs_ = std::move(healed);
    keep(std::move(slowest));
  }

  /// And what the order is left with.
  void free_transfers() {
    RunningMean usual;
    for (const Link& link : links()) usual.add(link.time);
    for (GroupCosts& costs : costs_) std::ranges::fill(costs.transfer, Duration{0});
    Finding finding = take_out(Reason::transfers, end_of_job(costs_));
    finding.own = usual.mean();
    keep(std::move(finding));
    Duration work{0};
    for (const GroupCosts& costs : costs_) {
      RunningMean stages;
      for (const StageId stage : out_.shape.stage_ids()) stages.add(busy(costs, stage));
      work = std::max(work, stages.mean());
    }
    out_.schedule_bubble = now_ == Duration{0} ? 0 : ratio_of(now_ - work, now_);
    add_part(Reason::schedule, now_ - work);
    add_part(Reason::work, work);
  }

  const TaskGraph& graph_;
  const TaskGroups& groups_;
  std::span<const MeasuredRun> runs_;
  Duration mean_step_;
  Duration rest_; ///< after the tasks; no simulation changes it
  Duration now_;  ///< to the last task of all replicas, without what was taken out
  JobCosts costs_;
  Explanation& out_;
};

} // namespace

double PassBeside::ratio() const {
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
