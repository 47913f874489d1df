// Notes on collectives of a training that are not used as measured.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives.hpp"

namespace ppsim {

bool LinkSheet::has_files() const {
  return std::ranges::any_of(measured, [](const MeasuredCollective& one) { return !one.source.empty(); });
}

std::array<NamedLink, 4> links_of(const Training& training) {
  return {NamedLink{"tensor-link", &training.tensor_link}, NamedLink{"expert-link", &training.expert_link},
          NamedLink{"data-link", &training.data_link}, NamedLink{"context-link", &training.context_link}};
}

namespace {

/// A collective of a training, with its link and number of ranks.
struct CollectiveUse {
  std::string_view field;
  const LinkSheet* link;
  Collective collective;
  std::int64_t ranks;
};

/// The collectives of a training over links that it names. Gathering and scattering belong together; they are an
/// all-reduce if `whole`.
std::vector<CollectiveUse> uses_of(const Model& model, const Training& training) {
  std::vector<CollectiveUse> uses;
  const auto add = [&](std::string_view field, const std::optional<LinkSheet>& link, Collective collective,
                       std::int64_t ranks) {
    if (link && ranks > 1) uses.push_back({field, &*link, collective, ranks});
  };
  const auto add_sums = [&](std::string_view field, const std::optional<LinkSheet>& link, bool whole,
                            std::int64_t ranks) {
    if (whole) return add(field, link, Collective::all_reduce, ranks);
    add(field, link, Collective::all_gather, ranks);
    add(field, link, Collective::reduce_scatter, ranks);
  };
  const std::int64_t split = training.expert_tensor_ranks();
  const std::int64_t replicas = training.data_parallel * training.context_parallel;
  add_sums("tensor-link", training.tensor_link, !training.sequence_parallel, training.tensor_parallel);
  add_sums("data-link", training.data_link, !training.distributed_optimizer, replicas);
  const ContextExchange exchange = training.context_exchange.value_or(ContextExchange::p2p);
  if (exchange == ContextExchange::all_gather)
    add_sums("context-link", training.context_link, false, training.context_parallel);
  else if (exchange == ContextExchange::a2a)
    add("context-link", training.context_link, Collective::all_to_all, training.context_parallel);
  if (model.experts == 0) return uses;
  add_sums("tensor-link", training.tensor_link, false, split);
  add_sums("data-link", training.data_link, !training.distributed_optimizer,
           replicas * training.tensor_parallel / (training.expert_parallel * split));
  if (training.expert_link)
    add("expert-link", training.expert_link, Collective::all_to_all, training.expert_parallel);
  else
    add("tensor-link", training.tensor_link, Collective::all_to_all, training.near_expert_ranks());
  return uses;
}

/// "a reduce-scatter and an all-gather": the measurements that replace a missing one.
std::string_view taken_for(Collective collective, const std::vector<const MeasuredCollective*>& tables) {
  const Collective first = tables.front()->collective;
  if (collective == Collective::all_reduce)
    return tables.front() != tables.back()   ? "a reduce-scatter and an all-gather"
           : first == Collective::all_gather ? "two all-gathers"
                                             : "two reduce-scatters";
  if (first == Collective::all_reduce) return "half an all-reduce";
  return first == Collective::all_gather ? "an all-gather" : "a reduce-scatter";
}

void add_notes(const CollectiveUse& use, std::vector<CollectiveNote>& notes) {
  const auto note = [&](std::string what) {
    const auto is_same = [&](const CollectiveNote& other) { return other.field == use.field && other.what == what; };
    if (std::ranges::none_of(notes, is_same)) notes.push_back({use.field, std::move(what)});
  };
  const std::vector<const MeasuredCollective*> tables = measured_for(*use.link, use.collective, use.ranks);
  if (tables.empty() || tables.front()->source.empty())
    return note(fmt::format("{} is in none of its files: computed from {}", to_string(use.collective), use.link->name));
  if (tables.front()->collective != use.collective)
    note(fmt::format("{} is in none of its files: using {}", to_string(use.collective),
                     taken_for(use.collective, tables)));
  for (const MeasuredCollective* table : tables)
    if (table->ranks == 0)
      note(fmt::format("{} does not say how many ranks it is for: assuming {}", table->source, use.ranks));
    else if (table->ranks != use.ranks)
      note(fmt::format("{} is for {} ranks: using the same bus bandwidth for {}", table->source, table->ranks,
                       use.ranks));
}

/// Notes files of a link that no collective uses.
void add_unused(std::string_view field, const std::optional<LinkSheet>& link, const std::vector<CollectiveUse>& uses,
                std::vector<CollectiveNote>& notes) {
  if (!link) return;
  for (const MeasuredCollective& measured : link->measured) {
    if (measured.source.empty()) continue; // shipped
    const auto reads = [&](const CollectiveUse& use) {
      const auto tables = measured_for(*use.link, use.collective, use.ranks);
      return std::ranges::find(tables, &measured) != tables.end();
    };
    if (std::ranges::none_of(uses, reads))
      notes.push_back({field, fmt::format("{} changes nothing: its {} is not needed here", measured.source,
                                          to_string(measured.collective))});
  }
}

} // namespace

std::vector<CollectiveNote> collective_notes(const Model& model, const Training& training) {
  std::vector<CollectiveUse> uses = uses_of(model, training);
  std::erase_if(uses, [](const CollectiveUse& use) { return !use.link->has_files(); });
  std::vector<CollectiveNote> notes;
  for (const CollectiveUse& use : uses) add_notes(use, notes);
  for (const auto& [field, link] : links_of(training))
    if (*link && (*link)->has_files()) add_unused(field, *link, uses, notes);
  return notes;
}

} // namespace ppsim
