#include "spread.hpp"

namespace ppsim {
namespace {

/// As what_is_needed(), for passes.
std::string what_passes_need(const Shape& shape) {
  if (shape.shared > 0 || shape.microbatches == 1) return what_is_needed(shape);
  return fmt::format(
      "one value (for a stage), {} (P*V = {} * {}, one per chunk) or {} (P*V*M, one per microbatch, chunk by chunk)",
      shape.chunks(), shape.stages, shape.vpp, shape.chunks() * shape.microbatches);
}

} // namespace

std::vector<Duration> means_of(const std::vector<Duration>& values, std::size_t count) {
  const auto parts = static_cast<std::int64_t>(count);
  std::vector<Duration> means;
  for (std::size_t begin = 0; begin < values.size(); begin += count) {
    std::int64_t whole = 0;
    std::int64_t rest = 0;
    for (std::size_t i = begin; i < begin + count; ++i) {
      whole += values[i].count() / parts;
      rest += values[i].count() % parts;
    }
    means.emplace_back(whole + divide_rounded(rest, parts));
  }
  return means;
}

std::string what_is_needed(const Shape& shape) {
  if (shape.shared > 0) return fmt::format("one value or {} (one per position of `replicas`)", shape.chunks());
  return fmt::format("one value (for a stage) or {} (P*V = {} * {}, one per chunk)", shape.chunks(), shape.stages,
                     shape.vpp);
}

GivenTimes Spread::of_pass(std::string_view option, const std::optional<std::vector<Duration>>& given,
                           Duration otherwise) {
  const bool each = given && shape_.microbatches > 1 && given->size() == shape_.chunks() * shape_.microbatches;
  if (each) return {means_of(*given, shape_.microbatches), *given};
  return {spread_out(option, given, otherwise, what_passes_need(shape_)), {}};
}

std::string Spread::origin_hint(std::string_view option, std::size_t count) const {
  if (shape_.shared == 0 && !spec_.calibrated.empty() && !spec_.is_asked(option))
    return fmt::format("; 'ppsim calibrate --scenario {} --stages {} --vpp {}' measures the values of {} chunks (with "
                       "fewer --layers-per-chunk, if a stage is to keep its layers)",
                       spec_.calibrated, shape_.stages, shape_.vpp, shape_.chunks());
  const bool per_stage = count == shape_.positions();
  std::string hint = per_stage ? "; for times per stage, give their mean, and the extra work of the first or last "
                                 "stage as `embedding` or `head`"
                               : "";
  const bool of_pass = option == "forward" || option == "backward" || option == "input-grad" || option == "weight-grad";
  if (!of_pass || spec_.is_asked(option)) return hint;
  if (count > shape_.chunks() && count % shape_.chunks() == 0)
    hint += fmt::format("; values by microbatch would be for `mb` {}: 'ppsim import' without `by-microbatch` writes "
                        "costs for any, with `mean-stage` for any number of chunks",
                        count / shape_.chunks());
  else
    hint += per_stage ? ", as 'ppsim import --mean-stage' does"
                      : "; 'ppsim import --mean-stage' writes costs of a run for any number of chunks";
  return hint;
}

} // namespace ppsim
