#pragma once
// One stage's channels as messages between processes, in the host's memory.

#include "ppsim/runtime/transport.hpp"

#include <memory>

#include "processes.hpp"

namespace ppsim::runtime {

/// The stage's rank is its number. A transfer's tag is its position (two stages share but one channel in a direction),
/// so that one that is lost is missed itself, and not taken for the next. At either end a channel has as many buffers
/// as slots. Receives are posted as far ahead as slots allow. Waits ask MPI again and again, which is also what moves
/// the messages on: MPI does so only while it is called.
///
/// A transfer ended when MPI first said so: at the latest when it was waited for, and, because nothing looks during a
/// task, up to a task later than it came. When it began only its sender could say.
///
/// `content` is the size of every transfer. `give_up` throws when the run is stopped.
[[nodiscard]] std::unique_ptr<Transport>
make_message_transport(const Program& program, StageId stage, MessagePassing& messages, Bytes content, GiveUp give_up);

} // namespace ppsim::runtime
