#pragma once
// Sends that do not wait for their receive.

#include "ppsim/engine/hang.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// As the public overload; `eager[id]`: whether the transfer of task `id` does not wait for its receive.
[[nodiscard]] std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order,
                                            Communicators communicators, const std::vector<bool>& eager);

/// Whether the transfer of `sender` does not wait for its receive (Streams::eager_below).
[[nodiscard]] bool is_eager(const TaskGraph& graph, TaskId sender);

} // namespace ppsim
