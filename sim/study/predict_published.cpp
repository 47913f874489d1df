#include "ppsim/study/predict_published.hpp"

#include "ppsim/base/error.hpp"
#include "ppsim/base/parallel.hpp"
#include "ppsim/study/evaluate.hpp"

#include <utility>

namespace ppsim {
namespace {

void predict(PublishedPrediction& held, const SpecOfPublished& spec_of) {
  try {
    const RunSpec spec = spec_of(held.run);
    if (spec.device_sheet) held.device = spec.device_sheet->name;
    const Evaluation run = evaluate(spec);
    held.step = run.report.step_time;
    held.peak = run.report.peak_bytes();
    held.fits = !run.report.overflow;
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::no) throw;
    held.refused = error.problems().front();
  }
}

} // namespace

std::vector<PublishedPrediction> predict_published(std::vector<PublishedRun> runs, const SpecOfPublished& spec_of,
                                                   std::size_t threads, const Watch& watch) {
  std::vector<PublishedPrediction> held;
  held.reserve(runs.size());
  for (PublishedRun& run : runs) held.push_back({.run = std::move(run)});
  for_each_index(held.size(), threads, [&](std::size_t at) {
    predict(held[at], spec_of);
    if (watch) watch(held.size());
  });
  return held;
}

} // namespace ppsim
