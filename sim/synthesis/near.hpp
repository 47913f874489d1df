#pragma once
// Near: the windows of a few microbatches next to each other, for what holds of all.

#include "ppsim/synthesis/search.hpp"

#include "windows.hpp"

namespace ppsim::synthesis {

/// Which microbatches have to do with each other.
struct Reach {
  /// So many next to each other; 1 if memory is short nowhere, or if an order without some microbatches may not fit.
  std::size_t few = 1;
  std::size_t first = 0; ///< before it, memory is not short; m if `few` is 1
};
[[nodiscard]] Reach reach_of(const Views& views);

class Near {
public:
  Near(const Views& views, std::size_t few);
  Near(const Near&) = delete; // the views refer to the instance
  Near& operator=(const Near&) = delete;
  ~Near() = default;

  [[nodiscard]] const Views& views() const { return few_views_; }
  /// What holds of all orders of so few.
  [[nodiscard]] const Windows& root() const { return root_; }
  /// The first of those that end with that microbatch, or of the first ones.
  [[nodiscard]] std::size_t first(std::size_t microbatch) const {
    return microbatch < few_views_.m ? 0 : microbatch + 1 - few_views_.m;
  }
  /// Those that end with that microbatch, or the first ones; all if there are no others.
  [[nodiscard]] Neighbours among(std::size_t microbatch) const;
  /// A task of that microbatch, among those.
  [[nodiscard]] std::size_t task(std::size_t sequence, std::size_t microbatch) const {
    return sequence * few_views_.m + microbatch - first(microbatch);
  }

private:
  std::size_t all_; ///< microbatches
  Instance few_;    ///< the same for few microbatches
  Views few_views_;
  Windows root_;
};

} // namespace ppsim::synthesis
