#pragma once
// SearchCall: a part of a search that ends when the search is to end.

#include "ppsim/base/call.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace ppsim {

/// Stops where the call around it does, and where `go_on` says so. That is asked by one thread at a time.
class SearchCall final : public Call {
public:
  explicit SearchCall(std::function<bool()> go_on) : outer_{current_call()}, go_on_{std::move(go_on)} {}

  [[nodiscard]] bool is_stopped() const override {
    if (ended_ || Call::is_stopped() || (outer_ != nullptr && outer_->is_stopped())) return true;
    const std::unique_lock lock{asking_, std::try_to_lock};
    if (!lock || ++checks_ % checks_per_question != 0) return false;
    const CallScope outside{outer_};
    if (!go_on_()) ended_ = true;
    return ended_;
  }
  /// Not the call around it.
  [[nodiscard]] bool has_ended() const { return ended_; }

private:
  static constexpr std::uint64_t checks_per_question = 256;

  Call* outer_;
  std::function<bool()> go_on_;
  mutable std::mutex asking_;
  mutable std::uint64_t checks_ = 0;
  mutable std::atomic<bool> ended_{false};
};

} // namespace ppsim
