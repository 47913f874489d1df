#include "ppsim/base/error.hpp"
#include "ppsim/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ppsim {
namespace {

/// Distributes `total` evenly over the chunks of `members`; the first ones get the remainder.
void spread(std::size_t total, const std::vector<std::size_t>& members, std::vector<std::size_t>& layers) {
  if (members.empty()) return;
  const std::size_t each = total / members.size();
  const std::size_t extra = total % members.size();
  for (std::size_t i = 0; i < members.size(); ++i) layers[members[i]] = each + (i < extra ? 1 : 0);
}

std::vector<std::size_t> chunks_of(const std::vector<StageId>& chunk_stage, StageId stage) {
  std::vector<std::size_t> chunks;
  for (std::size_t chunk = 0; chunk < chunk_stage.size(); ++chunk)
    if (chunk_stage[chunk] == stage) chunks.push_back(chunk);
  return chunks;
}

void check_end_stage(std::string_view flag, std::size_t layers, std::size_t vpp, Problems& problems) {
  if (layers == 0 || layers % vpp != 0)
    problems.add(std::string{flag},
                 fmt::format("{} layers do not divide over the {} chunks of that stage", layers, vpp),
                 fmt::format("give a multiple of {}", vpp));
}

void check_ends(const Shape& shape, std::size_t total, std::optional<std::size_t> first,
                std::optional<std::size_t> last, Problems& problems) {
  if (first) check_end_stage("`first-stage-layers`", *first, shape.vpp, problems);
  if (last) check_end_stage("`last-stage-layers`", *last, shape.vpp, problems);
  if (shape.positions() > 1) return;
  if (last)
    problems.add("`last-stage-layers`", "there is only one stage", "use `layers` alone");
  else if (first && *first != total)
    problems.add("`first-stage-layers`", "there is only one stage", "use `layers` alone");
}

/// The rest after the end stages must give every other chunk at least one layer.
void check_middle(std::size_t total, std::size_t at_the_ends, std::size_t chunks, Problems& problems) {
  if (chunks == 0 && at_the_ends != total)
    problems.add("`layers`", fmt::format("{} layers, but the first and last stage hold {}", total, at_the_ends),
                 "make the counts add up");
  else if (at_the_ends > total || total - at_the_ends < chunks)
    problems.add(
        "`layers`",
        fmt::format("{} layers cannot fill {} chunks{}", total, chunks,
                    at_the_ends > 0 ? fmt::format(" in addition to the {} on the first and last stage", at_the_ends)
                                    : ""),
        "use fewer stages or a smaller `vpp`, or a `layout`, in which the chunks of embedding and loss may have none");
}

} // namespace

Layout plain_layout(const std::vector<std::size_t>& layers) {
  Layout layout;
  for (const std::size_t count : layers) layout.push_back({.layers = count});
  layout.front().embedding = true;
  layout.back().loss = true;
  return layout;
}

std::vector<std::size_t> split_layers(const Shape& shape, const std::vector<StageId>& chunk_stage, std::size_t total,
                                      std::optional<std::size_t> first, std::optional<std::size_t> last) {
  Problems problems;
  check_ends(shape, total, first, last, problems);
  problems.throw_if_any();

  const StageId first_stage{0};
  const StageId last_stage = std::ranges::max(chunk_stage); // the first of its replicas
  std::vector<std::size_t> middle;
  for (std::size_t chunk = 0; chunk < chunk_stage.size(); ++chunk) {
    const bool fixed = (first && chunk_stage[chunk] == first_stage) || (last && chunk_stage[chunk] == last_stage);
    if (!fixed) middle.push_back(chunk);
  }
  const std::size_t at_the_ends = first.value_or(0) + last.value_or(0);
  check_middle(total, at_the_ends, middle.size(), problems);
  problems.throw_if_any();

  std::vector<std::size_t> layers(chunk_stage.size());
  if (first) spread(*first, chunks_of(chunk_stage, first_stage), layers);
  if (last) spread(*last, chunks_of(chunk_stage, last_stage), layers);
  spread(total - at_the_ends, middle, layers);
  return layers;
}

} // namespace ppsim
