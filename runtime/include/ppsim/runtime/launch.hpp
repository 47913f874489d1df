#pragma once
// Launch: how this process was started, and how it ends if it is one of several. For main().

#include "ppsim/base/error.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace ppsim::runtime {

/// The rank of this process among those that mpirun or srun started.
struct Launch {
  std::size_t rank = 0;
  std::optional<std::size_t> size; ///< none: the launcher does not set it
};
/// Reads the environment, before MPI is loaded; none if no launcher started this process. `variable` returns the value
/// of a variable, or null.
[[nodiscard]] std::optional<Launch> launch(const std::function<const char*(const char*)>& variable);
[[nodiscard]] std::optional<Launch> launch(); ///< of this process

/// Whether this process prints for all: rank 0, or the only process.
[[nodiscard]] bool prints_for_all();
/// Call before printing an error. If all processes find the same error, all except rank 0 wait here until rank 0 ends
/// them. Returns otherwise: the error is this process's own.
void defer_error_to_first(ExitCode status);

/// Ends the run of several processes that a backend or shared work started, if any: waits for the others, up to a
/// limit. `status` is the exit status of this process. If another process was lost, this call may end this one.
void finish_processes(ExitCode status);
/// Ends the other processes of the run after an error in this one. Returns if there are none.
void abort_processes(ExitCode status) noexcept;

} // namespace ppsim::runtime
