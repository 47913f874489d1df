#pragma once
// MessagePassing: the processes of one run, through MPI. The plugin ppsim_mpi implements it. The plugin does not link
// ppsim: both share only this header and the standard library.

#include "ppsim/runtime/interface.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ppsim::runtime {

/// The processes of a run, and messages between them. For one thread, except abort().
class MessagePassing : public Interface {
public:
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t local_rank() const = 0; ///< among the processes of the same host
  [[nodiscard]] virtual std::string host() const = 0;

  using Request = std::size_t;
  [[nodiscard]] virtual Request isend(const void* data, std::size_t bytes, std::size_t to, int tag) = 0;
  [[nodiscard]] virtual Request irecv(void* data, std::size_t capacity, std::size_t from, int tag) = 0;
  /// True once it is complete; the request is then invalid. `received`, if not null, gets the size of the message. If
  /// that is larger than the capacity, the content must not be used (SIZE_MAX if the exact size is unknown).
  [[nodiscard]] virtual bool test(Request request, std::size_t* received) = 0;
  virtual void cancel(Request request) noexcept = 0;

  /// True once all processes have called start_barrier() equally often. Never waits, so that a caller can give up.
  virtual void start_barrier() = 0;
  [[nodiscard]] virtual bool test_barrier() = 0;

  /// Ends every process of the run with that exit status. Callable from any thread.
  [[noreturn]] virtual void abort(int status) noexcept = 0;
};

/// The plugin exports it as `extern "C" ppsim_mpi_plugin`. Whether a launcher started this process follows from the
/// environment (launch.hpp).
struct MpiPlugin {
  const char* version;       ///< of ppsim; must equal the program's
  std::string (*mpi_name)(); ///< "Open MPI 4.1.4"; does not start MPI
  /// Starts MPI, or throws std::runtime_error. Call it once; it waits for the other processes. The destructor ends MPI
  /// and waits also.
  std::unique_ptr<MessagePassing> (*start)();
};

} // namespace ppsim::runtime
