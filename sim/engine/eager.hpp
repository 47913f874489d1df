#pragma once
// Which sends do not wait for their receive.

#include "ppsim/engine/hang.hpp"

#include <string>
#include <vector>

namespace ppsim {

/// As the public one; `eager[id]`: whether the transfer of task `id` does not wait for its receive.
[[nodiscard]] std::optional<Hang> find_hang(const Schedule& schedule, const CommOrder& order,
                                            Communicators communicators, const std::vector<bool>& eager);

/// Whether the transfer of `sender`, which sends, does not wait for its receive (Streams::eager_below).
[[nodiscard]] bool is_eager(const TaskGraph& graph, TaskId sender);

} // namespace ppsim
