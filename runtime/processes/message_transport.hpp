#pragma once
// One stage's channels as messages between processes, in host memory.

#include "ppsim/runtime/transport.hpp"

#include <memory>

#include "processes.hpp"

namespace ppsim::runtime {

/// The stage's rank is its number. A transfer's tag is its position (two stages share only one channel per direction),
/// so that a lost transfer is detected and the next one does not replace it. At either end a channel has as many
/// buffers as slots. Receives are posted as far ahead as slots allow. Waits poll MPI, which only moves messages while
/// it is called.
///
/// A transfer's recorded end is when MPI first reports it: at the latest when it is waited for, and up to one task
/// after its arrival, because nothing polls during a task. Only its sender knows when it began.
///
/// `content` is the size of every transfer. `give_up` throws if the run is stopped.
[[nodiscard]] std::unique_ptr<Transport>
make_message_transport(const Program& program, StageId stage, MessagePassing& messages, Bytes content, GiveUp give_up);

} // namespace ppsim::runtime
