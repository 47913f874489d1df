#include "ppsim/traces/measured_collective.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "nccl_tests_file.hpp"

namespace ppsim::traces {
namespace {

std::optional<Collective> collective_of(std::string_view name_of_program) {
  std::string program{name_of_program};
  std::ranges::replace(program, '-', '_');
  constexpr std::array<std::pair<std::string_view, Collective>, 4> programs{
      {{"all_reduce", Collective::all_reduce},
       {"all_gather", Collective::all_gather},
       {"reduce_scatter", Collective::reduce_scatter},
       {"alltoall", Collective::all_to_all}}};
  if (program.find("alltoallv") != std::string::npos) return std::nullopt; // shares differ
  std::optional<Collective> found;
  for (const auto& [name, collective] : programs)
    if (program.find(name) != std::string::npos) {
      if (found) return std::nullopt; // two in one name
      found = collective;
    }
  return found;
}

constexpr nccl_tests::Wanted wanted{
    .what = "a collective",
    .how_to =
        "give what all_gather_perf, reduce_scatter_perf, all_reduce_perf or alltoall_perf prints with -b 8 -e 1G -f 2",
    .takes = [](std::string_view program) { return collective_of(program).has_value(); }};

/// By rising size, without duplicates.
std::vector<LinkSample> means_by_size(std::vector<LinkSample> samples) {
  std::ranges::stable_sort(samples, {}, &LinkSample::bytes);
  std::vector<LinkSample> means;
  for (auto first = samples.begin(); first != samples.end();) {
    const auto behind =
        std::find_if(first, samples.end(), [&](const LinkSample& s) { return s.bytes != first->bytes; });
    double sum = 0;
    std::for_each(first, behind, [&](const LinkSample& sample) { sum += static_cast<double>(sample.time.count()); });
    means.push_back({first->bytes, Duration{std::llround(sum / static_cast<double>(behind - first))}});
    first = behind;
  }
  return means;
}

} // namespace

MeasuredCollective read_measured_collective(const ImportFile& file) {
  const auto refuse = [&](std::string what, std::string_view hint) {
    throw Error{ExitCode::bad_input, {file.name, std::move(what), std::string{hint}}};
  };
  nccl_tests::Measured measured = nccl_tests::read_file(file, wanted);
  const bool says_program = !measured.program.empty();
  const std::string_view program = says_program ? std::string_view{measured.program} : nccl_tests::file_of(file.name);
  const std::optional<Collective> collective = collective_of(program);
  if (!collective) refuse("does not say which collective it measures", "name it after its test: all_gather_perf.txt");
  std::vector<LinkSample> times = means_by_size(std::move(measured.samples));
  if (times.size() == 1)
    refuse(fmt::format("all times are for {}, so they do not show how time grows with size",
                       format_bytes(times.front().bytes)),
           fmt::format("measure sizes from small to large: {} -b 8 -e 1G -f 2",
                       says_program ? measured.program : "all_gather_perf"));
  return {.collective = *collective,
          .ranks = static_cast<std::int64_t>(measured.ranks),
          .times = std::move(times),
          .source = file.name};
}

} // namespace ppsim::traces
