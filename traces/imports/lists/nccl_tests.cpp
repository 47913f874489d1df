// nccl-tests, sendrecv_perf: latency and bandwidth of a link.

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"
#include "ppsim/measured/link_fit.hpp"
#include "ppsim/traces/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "imports/import_list.hpp"
#include "nccl_tests_file.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces::nccl_tests {
namespace {

constexpr Wanted sendrecv{
    .what = "a send and receive",
    .how_to = "give what 'sendrecv_perf -b 8 -e 1G -f 2' prints, or its -J file; give times of a collective with "
              "`tensor-link`, `expert-link`, `context-link` or `data-link` of a model",
    .takes = [](std::string_view program) { return program.find("sendrecv") != std::string_view::npos; }};

/// Measurements over links of one kind.
struct Links {
  std::vector<LinkSample> samples;
  std::vector<std::string> files;
};

/// Times of one size do not separate latency from the part that grows with size.
void require_sizes(const Links& links, std::string_view which) {
  const auto [least, most] = std::ranges::minmax(links.samples, {}, &LinkSample::bytes);
  if (least.bytes != most.bytes) return;
  throw Error{ExitCode::bad_input,
              {joined(links.files, ", "),
               fmt::format("all times of {} are for {}: latency cannot be told from bandwidth", which,
                           format_bytes(least.bytes)),
               "measure sizes from small to large: sendrecv_perf -b 8 -e 1G -f 2"}};
}

/// "measured 12 us, fitted 10 us": the sample with the largest residual.
std::string worst(const LinkFit& fit, std::span<const LinkSample> samples) {
  const auto fitted = [&](const LinkSample& sample) {
    return fit.latency + (fit.bandwidth ? fit.bandwidth->time_for(sample.bytes) : Duration{0});
  };
  const auto error = [&](const LinkSample& sample) {
    const auto time = static_cast<double>(std::max(sample.time.count(), std::int64_t{1}));
    return std::abs(static_cast<double>(fitted(sample).count()) - time) / time;
  };
  const LinkSample& farthest = *std::ranges::max_element(samples, {}, error);
  return fmt::format("{} took {}, fitted {}", format_bytes(farthest.bytes), format_duration(farthest.time),
                     format_duration(fitted(farthest)));
}

void add_costs(const Links& links, std::string_view prefix, std::string_view which, ScenarioDocument& costs) {
  require_sizes(links, which);
  const LinkFit fit = fit_link(links.samples);
  const auto [least, most] = std::ranges::minmax(links.samples, {}, &LinkSample::bytes);
  constexpr double percent = 100;
  costs.add_comment(fmt::format("{} of {}: latency + bytes / bandwidth, fitted to {} times of {} to {}", which,
                                joined(std::views::transform(links.files, file_of), ", "), links.samples.size(),
                                format_bytes(least.bytes), format_bytes(most.bytes)));
  costs.add_comment(
      fmt::format("the fit is off by {:.1f} % at most: {}", percent * fit.largest_residual, worst(fit, links.samples)));
  costs.add(fmt::format("{}latency", prefix), toml_time(fit.latency),
            "from a ring: every rank sends and receives at once, so links carry both directions");
  if (fit.bandwidth)
    costs.add(fmt::format("{}bandwidth", prefix), toml_string(format_closely(*fit.bandwidth)));
  else
    costs.add_comment("no bandwidth: times do not grow with size; measure larger ones");
}

// A list of independent lines.
// NOLINTNEXTLINE(readability-function-cognitive-complexity)
Imported read(std::span<const ImportFile> files, const ImportOptions& options) {
  Links inside;
  Links between; ///< nodes
  std::map<std::string, std::size_t> dropped;
  Imported imported;
  bool medians = false;
  bool minimums = false;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Measured measured = read_file(files[i], sendrecv);
    Links& links = measured.nodes.size() > 1 ? between : inside;
    links.samples.insert(links.samples.end(), measured.samples.begin(), measured.samples.end());
    links.files.push_back(files[i].name);
    for (const auto& [why, count] : measured.dropped) dropped[why] += count;
    medians = medians || measured.medians;
    minimums = minimums || measured.minimums;
    if (measured.program.empty())
      imported.notes.push_back(fmt::format("{}: does not name its test; assuming sendrecv_perf", files[i].name));
    if (options.progress) options.progress(static_cast<double>(i + 1) / static_cast<double>(files.size()));
  }
  const bool both = !inside.samples.empty() && !between.samples.empty();
  if (!inside.samples.empty()) add_costs(inside, "", both ? "links inside a node" : "links", imported.costs);
  if (!between.samples.empty()) add_costs(between, both ? "inter-node-" : "", "links between nodes", imported.costs);
  if (both) imported.notes.emplace_back("give --stages-per-node to say which stages share a node");
  if (medians) imported.notes.emplace_back("times are medians over the iterations of -I");
  if (minimums) imported.notes.emplace_back("times are the shortest of the iterations of -I");
  for (const auto& [why, count] : dropped) imported.dropped.push_back({why, count});
  return imported;
}

} // namespace

const ImportFormat definition{
    .name = "nccl-tests",
    .files = "*.txt, *.log, *.json",
    .what = "sendrecv_perf of nccl-tests: what it prints, or its -J file; latency and bandwidth of links",
    .sign = "algbw",
    .takes_stages = false,
    .takes_vpp = false,
    .no_runs = "means of transfers, not tasks",
    .read = read};

} // namespace ppsim::traces::nccl_tests
