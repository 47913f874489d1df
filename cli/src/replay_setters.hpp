#pragma once
// How the values of the options of replays are read.

#include "setters.hpp"

namespace ppsim::cli {

/// A size of the workload; whether they fit together is for the backend to say.
template <std::size_t runtime::Workload::*member>
Result set_workload(Inputs& inputs, std::string_view text) {
  std::size_t number = 0;
  if (auto wrong = parse_count(text, 1, number)) return wrong;
  constexpr std::size_t most = std::size_t{1} << 32;
  inputs.workload.*member = std::min(number, most);
  return std::nullopt;
}

[[nodiscard]] Result set_backend(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_compute(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_transport(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_p2p(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_block(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_seed(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_trainer(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_learning_rate(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_timeout(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_fault(Inputs& inputs, std::string_view text);
[[nodiscard]] Result set_tolerance(Inputs& inputs, std::string_view text);

} // namespace ppsim::cli
