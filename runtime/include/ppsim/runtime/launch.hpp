#pragma once
// Launch: how this process was started, and its end as one of several. For main().

#include "ppsim/base/error.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace ppsim::runtime {

/// This process among those that mpirun or srun started.
struct Launch {
  std::size_t rank = 0;
  std::optional<std::size_t> size; ///< none: the launcher does not say
};
/// By the environment, before MPI is loaded; nothing where no launcher started this process. `variable` gives the value
/// of a variable, or null.
[[nodiscard]] std::optional<Launch> launch(const std::function<const char*(const char*)>& variable);
[[nodiscard]] std::optional<Launch> launch(); ///< of this process

/// Whether this process is the one that speaks: rank 0, or the only one.
[[nodiscard]] bool speaks_first();
/// Before an error is printed: where all processes find the same one, all but rank 0 wait here until they are ended
/// with it. Returns where that does not happen: then the error is this process's own.
void leave_word_to_first(ExitCode status);

/// Ends the run of several processes that a backend or shared work started, if one did: waits for the others, up to a
/// limit. `status` is what this process is to end with; where another one was lost, this call can end it.
void finish_processes(ExitCode status);
/// As an error ends this process, ends the others of the run with it. Returns where there are none.
void abort_processes(ExitCode status) noexcept;

} // namespace ppsim::runtime
