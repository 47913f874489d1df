#pragma once
// Spread: distributes values per stage, or per chunk, over the chunks.

#include "ppsim/base/detail/wide.hpp"
#include "ppsim/base/error.hpp"
#include "ppsim/scenario/layout.hpp"
#include "ppsim/study/run_spec.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// A pass's times as the user gave them.
struct GivenTimes {
  std::vector<Duration> by_chunk;
  std::vector<Duration>
      by_microbatch; ///< chunk by chunk, with their means in `by_chunk`; empty: all of a chunk are equal
};

/// The mean of each `count` consecutive values. The sum of all may be out of range.
[[nodiscard]] std::vector<Duration> means_of(const std::vector<Duration>& values, std::size_t count);

/// "one value (for a stage) or 8 (P*V = 4 * 2, one per chunk)".
[[nodiscard]] std::string what_is_needed(const Shape& shape);

/// Distributes values per stage, or per chunk, over the chunks.
class Spread {
public:
  /// `computed`: the costs of each chunk from the model's shape; empty without one.
  Spread(const RunSpec& spec, const Shape& shape, const Layout& layout, const std::vector<BlockCosts>& computed,
         Problems& problems)
      : spec_{spec}, shape_{shape}, layout_{layout}, computed_{computed}, problems_{problems} {}

  /// One value is a stage's and is divided over its chunks: equally, or by layers with the value as that of the mean
  /// stage.
  template <class Value>
  std::vector<Value> per_chunk(std::string_view option, const std::optional<std::vector<Value>>& given,
                               Value otherwise) {
    return spread_out(option, given, otherwise, what_is_needed(shape_));
  }

  /// A pass also accepts a value for each microbatch of each chunk.
  GivenTimes of_pass(std::string_view option, const std::optional<std::vector<Duration>>& given, Duration otherwise);

  /// A missing value is computed from the model's shape if there is one.
  template <class Value>
  std::vector<Value> per_chunk(std::string_view option, const std::optional<std::vector<Value>>& given, Value otherwise,
                               Value BlockCosts::*computed) {
    return given || computed_.empty() ? per_chunk(option, given, otherwise) : from_model(computed);
  }
  template <class Value>
  [[nodiscard]] std::vector<Value> from_model(Value BlockCosts::*figure) const {
    std::vector<Value> values;
    values.reserve(computed_.size());
    for (const BlockCosts& chunk : computed_) values.push_back(chunk.*figure);
    return values;
  }
  [[nodiscard]] bool has_model() const { return !computed_.empty(); }

  /// One value applies to every boundary between chunks.
  template <class Value>
  std::vector<Value> per_boundary(std::string_view option, const std::optional<std::vector<Value>>& given) {
    const std::size_t boundaries = shape_.chunks() - 1;
    if (!given) return std::vector<Value>(boundaries, Value{0});
    if (given->size() == 1) return std::vector<Value>(boundaries, given->front());
    if (given->size() == boundaries) return *given;
    problems_.add(spec_.place_of(option),
                  fmt::format("{} values for {} boundar{} between chunks", given->size(), boundaries,
                              boundaries == 1 ? "y" : "ies"),
                  fmt::format("give one value or {} ({} - 1)", boundaries, shape_.shared > 0 ? "positions" : "P*V"));
    return std::vector<Value>(boundaries, Value{0});
  }

private:
  template <class Value>
  std::vector<Value> spread_out(std::string_view option, const std::optional<std::vector<Value>>& given,
                                Value otherwise, const std::string& needed) {
    const std::size_t chunks = shape_.chunks();
    if (given && given->size() == chunks && (chunks > 1 || layout_.empty())) return *given;
    if (given && given->size() != 1) {
      problems_.add(spec_.place_of(option), fmt::format("{} values for {} chunks", given->size(), chunks),
                    fmt::format("give {}{}", needed, origin_hint(option, given->size())));
      return std::vector<Value>(chunks, Value{0});
    }
    const Value stage = given ? given->front() : otherwise;
    std::vector<Value> values(chunks, Value{divide_rounded(stage.count(), static_cast<std::int64_t>(shape_.vpp))});
    if (layout_.empty()) return values;
    std::size_t total = 0;
    for (const ChunkBlocks& blocks : layout_) total += layers_of(blocks);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      values[chunk] = Value{share(stage.count(), layers_of(layout_[chunk]) * shape_.positions(), total)};
    return values;
  }

  /// The hint for values made for another shape.
  [[nodiscard]] std::string origin_hint(std::string_view option, std::size_t count) const;

  /// A layer for multi-token prediction counts as a layer.
  static std::size_t layers_of(const ChunkBlocks& blocks) { return blocks.layers + blocks.mtp_layers; }
  static std::int64_t share(std::int64_t whole, std::size_t part, std::size_t total) {
    return scale_rounded(whole, static_cast<std::int64_t>(part), static_cast<std::int64_t>(total));
  }

  const RunSpec& spec_;
  const Shape& shape_;
  const Layout& layout_;
  const std::vector<BlockCosts>& computed_;
  Problems& problems_;
};

} // namespace ppsim
