// Profiles of the PyTorch profiler, as an import format: assigns ranks to stages and replicas.

#include "kineto.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ranges>
#include <set>

#include "imports/import_list.hpp"

namespace ppsim::traces {
namespace {

[[noreturn]] void refuse(std::string where, std::string what, std::string hint) {
  throw Error{ExitCode::bad_input, {std::move(where), std::move(what), std::move(hint)}};
}

std::vector<KinetoRank> read_ranks(std::span<const ImportFile> files, const ImportOptions& options) {
  double bytes = 0;
  for (const ImportFile& file : files) bytes += static_cast<double>(file.bytes.size());
  double before = 0;
  std::vector<KinetoRank> ranks;
  for (const ImportFile& file : files) {
    const double own = bytes > 0 ? static_cast<double>(file.bytes.size()) / bytes : 0;
    std::function<void(double)> progress;
    if (options.progress) progress = [&](double share) { options.progress(std::min(1.0, before + share * own)); };
    ranks.push_back(kineto_rank(read_kineto_trace(file, progress)));
    before += own;
  }
  if (options.progress) options.progress(1);
  std::ranges::stable_sort(ranks, {}, &KinetoRank::rank);
  return ranks;
}

void check_ranks(const std::vector<KinetoRank>& ranks) {
  for (const KinetoRank& rank : ranks) {
    if (rank.endless > 0 && (rank.endless == rank.waits || rank.tasks.empty()))
      refuse(rank.name,
             fmt::format("it has no kernels, and no end for {} of its {} receives: the work of a task cannot be told "
                         "from its wait",
                         rank.endless, rank.waits),
             "also profile the activity CUDA; on processors use the backend gloo, which records its receives");
    if (!rank.tasks.empty()) continue;
    if (rank.single_schedule)
      refuse(
          rank.name, "it has annotations like 'Forward 0', which do not name the stage, and none like PP:0F0",
          "run the schedule from a CSV file (_PipelineScheduleRuntime), whose actions are marked, and profile again");
    refuse(rank.name, "it has no annotations of tasks (PP:0F0)", std::string{how_to_profile});
  }
  const auto twice = std::ranges::adjacent_find(ranks, {}, &KinetoRank::rank);
  if (twice != ranks.end())
    refuse(twice->name, fmt::format("it is from rank {}, and so is {}", twice->rank, (twice + 1)->name),
           "give one file per rank");
}

/// Whether its tasks began after gloo had received their input.
bool waits_for_gloo(const KinetoRank& rank) {
  return rank.waits > rank.endless;
}

/// The words of a group's description, in lower case: {"mesh", "tp"}.
std::set<std::string> words_of(std::string_view description) {
  std::set<std::string> words;
  std::string word;
  for (const char c : description) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

enum class GroupKind { other, same_microbatch, pipeline };

GroupKind kind_of(const KinetoGroup& group) {
  const std::set<std::string> words = words_of(group.description);
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return words.contains(name); });
  };
  if (has({"dp", "data", "fsdp", "hsdp", "ep", "expert"})) return GroupKind::other; // "dp_shard_cp" is a flat mesh
  const bool pipeline = has({"pp", "pipeline"});
  if (has({"tp", "cp", "tensor", "context"})) return pipeline ? GroupKind::other : GroupKind::same_microbatch;
  return pipeline ? GroupKind::pipeline : GroupKind::other;
}

/// Ranks by stage: those that share a chunk are on one stage.
std::vector<std::vector<std::size_t>> stages_of(const std::vector<KinetoRank>& ranks) {
  std::map<std::uint32_t, std::size_t> stage_of_chunk;
  std::vector<std::vector<std::size_t>> stages;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<std::size_t> joined{i};
    std::set<std::size_t> others;
    for (const std::uint32_t chunk : ranks[i].chunks)
      if (const auto found = stage_of_chunk.find(chunk); found != stage_of_chunk.end()) others.insert(found->second);
    for (const std::size_t other : others) {
      joined.insert(joined.end(), stages[other].begin(), stages[other].end());
      stages[other].clear();
    }
    for (const std::size_t member : joined)
      for (const std::uint32_t chunk : ranks[member].chunks) stage_of_chunk[chunk] = stages.size();
    stages.push_back(std::move(joined));
  }
  std::erase_if(stages, [](const auto& stage) { return stage.empty(); });
  for (std::vector<std::size_t>& stage : stages) std::ranges::sort(stage);
  std::ranges::sort(stages, {}, [&](const std::vector<std::size_t>& stage) {
    std::uint32_t first = most_named_chunks;
    for (const std::size_t i : stage) first = std::min(first, ranks[i].chunks.front());
    return first;
  });
  return stages;
}

bool share_microbatches(const KinetoRank& one, std::int64_t other) {
  return std::ranges::any_of(one.groups, [&](const KinetoGroup& group) {
    return kind_of(group) == GroupKind::same_microbatch && std::ranges::count(group.ranks, one.rank) > 0 &&
           std::ranges::count(group.ranks, other) > 0;
  });
}

/// Keeps the lowest of the ranks that work on the same microbatches together; returns the number of dropped ones.
std::size_t drop_peers(const std::vector<KinetoRank>& ranks, std::vector<std::size_t>& stage) {
  std::vector<std::size_t> kept;
  for (const std::size_t i : stage) {
    const bool has_lower = std::ranges::any_of(kept, [&](std::size_t other) {
      return share_microbatches(ranks[i], ranks[other].rank) || share_microbatches(ranks[other], ranks[i].rank);
    });
    if (!has_lower) kept.push_back(i);
  }
  const std::size_t dropped = stage.size() - kept.size();
  stage = std::move(kept);
  return dropped;
}

/// The process group of a rank's pipeline; nullptr if there is none.
const KinetoGroup* pipeline_group(const KinetoRank& rank) {
  for (const KinetoGroup& group : rank.groups)
    if (kind_of(group) == GroupKind::pipeline && std::ranges::count(group.ranks, rank.rank) > 0) return &group;
  return nullptr;
}

/// The lowest rank of a rank's pipeline, if process groups identify it.
std::optional<std::int64_t> pipeline_of(const KinetoRank& rank) {
  const KinetoGroup* const group = pipeline_group(rank);
  return group == nullptr ? std::nullopt : std::optional{*std::ranges::min_element(group->ranks)};
}

/// Notes pipeline ranks without a file; without pipeline groups, the number of missing ranks of the job. Ranks of other
/// replicas, and those that work on the same microbatches, may be missing.
void note_missing(const std::vector<KinetoRank>& ranks, const std::vector<std::vector<std::size_t>>& stages,
                  std::vector<std::string>& notes) {
  constexpr std::string_view remedy = "that work is missing from the run and its costs; give a file for each rank";
  constexpr std::size_t most_named = 8;
  std::set<std::int64_t> given;
  std::int64_t of_job = 0;
  for (const KinetoRank& rank : ranks) {
    given.insert(rank.rank);
    of_job = std::max(of_job, rank.world_size);
  }
  std::set<std::int64_t> missing;
  bool all_in_pipelines = true;
  for (const std::size_t i : std::views::join(stages)) {
    const KinetoGroup* const group = pipeline_group(ranks[i]);
    all_in_pipelines = all_in_pipelines && group != nullptr;
    if (group == nullptr) continue;
    for (const std::int64_t member : group->ranks)
      if (!given.contains(member)) missing.insert(member);
  }
  if (missing.size() == 1)
    notes.push_back(fmt::format("rank {} of the same pipeline has no file: {}", *missing.begin(), remedy));
  else if (!missing.empty())
    notes.push_back(fmt::format("{} ranks of the same pipeline have no file ({}{}): {}", missing.size(),
                                joined(std::views::take(missing, most_named), ", "),
                                missing.size() > most_named ? ", ..." : "", remedy));
  else if (!all_in_pipelines && of_job > static_cast<std::int64_t>(given.size()))
    notes.push_back(fmt::format("the job had {} ranks, and {} of them {} a file: if others ran stages of the same "
                                "pipeline, {}",
                                of_job, given.size(), given.size() == 1 ? "has" : "have", remedy));
}

/// The replica of every rank: by its pipeline's process group, otherwise by its position among the ranks of its stage.
std::vector<std::uint32_t> replicas_of(const std::vector<KinetoRank>& ranks,
                                       const std::vector<std::vector<std::size_t>>& stages,
                                       std::vector<std::string>& notes) {
  std::vector<std::uint32_t> replicas(ranks.size());
  std::set<std::int64_t> pipelines;
  bool by_group = true;
  for (const std::vector<std::size_t>& stage : stages) {
    std::set<std::int64_t> own;
    for (const std::size_t i : stage) {
      const std::optional<std::int64_t> pipeline = pipeline_of(ranks[i]);
      by_group = by_group && pipeline && own.insert(*pipeline).second;
    }
    pipelines.insert(own.begin(), own.end());
  }
  for (const std::vector<std::size_t>& stage : stages)
    for (std::size_t place = 0; place < stage.size(); ++place)
      replicas[stage[place]] = static_cast<std::uint32_t>(
          by_group ? std::distance(pipelines.begin(), pipelines.find(*pipeline_of(ranks[stage[place]])))
                   : static_cast<std::ptrdiff_t>(place));
  if (by_group || stages.empty()) return replicas;
  const auto size = [](const std::vector<std::size_t>& stage) { return stage.size(); };
  const auto [least, most] = std::ranges::minmax(stages, {}, size);
  if (most.size() > 1)
    notes.push_back(fmt::format("ranks with the same chunks were taken as data-parallel replicas, in the order of "
                                "their numbers: no process group in the files names their pipeline{}",
                                least.size() == most.size() ? "" : "; some stages have more files than others"));
  return replicas;
}

void check_shape(const std::vector<KinetoRank>& ranks, const std::vector<std::vector<std::size_t>>& stages,
                 const ImportOptions& options) {
  if (options.stages && *options.stages != stages.size())
    refuse(fmt::format("--stages {}", *options.stages),
           fmt::format("the files are from {} stages, by the sets of chunks that run on one rank", stages.size()),
           "give the files of all stages, or leave --stages out");
  if (!options.vpp) return;
  for (const std::vector<std::size_t>& stage : stages)
    for (const std::size_t i : stage)
      if (ranks[i].chunks.size() != *options.vpp)
        refuse(fmt::format("--vpp {}", *options.vpp),
               fmt::format("{} runs {} chunks", ranks[i].name, ranks[i].chunks.size()), "leave --vpp out");
}

/// Numbers of steps for notes: the profiler's; from 0 if a profiler step contains several steps of the schedule, or no
/// rank has any.
void number_steps(std::vector<KinetoRank>& ranks, std::vector<std::string>& notes) {
  const auto has_steps = [](const KinetoRank& rank) { return rank.has_steps; };
  const bool all = std::ranges::all_of(ranks, has_steps);
  const bool none = std::ranges::none_of(ranks, has_steps);
  const bool repeats = std::ranges::any_of(ranks, [](const KinetoRank& rank) { return rank.repeats; });
  const auto each = [](KinetoRank& rank, const auto& change) {
    for (TaskEvent& event : rank.tasks) event.step = change(event.step);
    for (TransferEvent& event : rank.transfers) event.step = change(event.step);
    for (UpdateEvent& event : rank.updates) event.step = change(event.step);
  };
  if (all && !repeats) {
    for (KinetoRank& rank : ranks) each(rank, [](std::int64_t step) { return step / repeats_per_step; });
    return;
  }
  std::set<std::int64_t> found;
  const auto collect = [&](KinetoRank& rank) {
    each(rank, [&](std::int64_t step) {
      found.insert(step);
      return step;
    });
  };
  const bool together = all || none;
  if (together) std::ranges::for_each(ranks, collect);
  for (KinetoRank& rank : ranks) {
    if (!together) {
      found.clear();
      collect(rank);
    }
    std::map<std::int64_t, std::int64_t> places;
    for (const std::int64_t step : found) places.emplace(step, static_cast<std::int64_t>(places.size()));
    each(rank, [&](std::int64_t step) { return places.at(step); });
  }
  notes.emplace_back(all ? "steps were separated where actions repeat: one ProfilerStep holds several"
                         : "steps were separated where actions repeat, as not all files have ProfilerStep annotations "
                           "(profiler.step()): the first steps of all files were taken as the same");
}

void move_into(Recorded& recorded, KinetoRank&& rank, std::uint32_t replica, std::uint32_t stage) {
  const auto append = [&](auto& to, auto& from) {
    for (auto& event : from) {
      event.replica = replica;
      event.stage = stage;
    }
    to.insert(to.end(), from.begin(), from.end());
  };
  append(recorded.tasks, rank.tasks);
  append(recorded.transfers, rank.transfers);
  append(recorded.updates, rank.updates);
  if (rank.peak_bytes > 0) recorded.peak_bytes[{replica, stage}] = rank.peak_bytes;
  for (const auto& [reason, count] : rank.dropped) recorded.dropped[reason] += count;
}

} // namespace

Recorded read_kineto(std::span<const ImportFile> files, const ImportOptions& options) {
  std::vector<KinetoRank> ranks = read_ranks(files, options);
  check_ranks(ranks);
  Recorded recorded;
  number_steps(ranks, recorded.notes);
  std::vector<std::vector<std::size_t>> stages = stages_of(ranks);
  std::size_t peers = 0;
  for (std::vector<std::size_t>& stage : stages) peers += drop_peers(ranks, stage);
  if (peers > 0) recorded.dropped["ranks that work on the same microbatches as a lower one (tensor, context)"] = peers;
  note_missing(ranks, stages, recorded.notes);
  check_shape(ranks, stages, options);
  const std::vector<std::uint32_t> replicas = replicas_of(ranks, stages, recorded.notes);
  recorded.facts = {.backend = "PyTorch",
                    .compute = "",
                    .transport = std::ranges::any_of(ranks, waits_for_gloo) ? "gloo" : "NCCL",
                    .machine = ranks.empty() ? "" : ranks.front().device,
                    .command = "",
                    .timed = false,
                    .workload = {}};
  // Kernels follow each other on their stream; both ends were truncated to whole microseconds.
  constexpr std::int64_t nanoseconds_of_annotations = 2;
  constexpr std::int64_t two_microseconds = 2000;
  const bool coarse = std::ranges::all_of(ranks, &KinetoRank::whole_microseconds);
  recorded.time_error = coarse ? two_microseconds : nanoseconds_of_annotations;
  std::size_t on_processor = 0;
  std::size_t without_kernels = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    for (const std::size_t i : stages[stage]) {
      on_processor += ranks[i].on_processor;
      without_kernels += ranks[i].without_kernels;
      move_into(recorded, std::move(ranks[i]), replicas[i], static_cast<std::uint32_t>(stage));
    }
  note_times(recorded.notes, without_kernels, on_processor,
             recorded.facts.transport == "gloo" ? "the processor, from the end of their receive on" : "the processor");
  return recorded;
}

const ImportFormat kineto::definition{.name = "kineto",
                                      .files = "*.json, *.json.gz",
                                      .what = "profiles of torch.profiler, one file per rank",
                                      .sign = R"("schemaVersion")",
                                      .read = [](std::span<const ImportFile> files, const ImportOptions& options) {
                                        return assemble(read_kineto(files, options), options,
                                                        files.size() == 1 ? files.front().name : "the profiles");
                                      }};

} // namespace ppsim::traces
