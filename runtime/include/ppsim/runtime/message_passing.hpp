#pragma once
// MessagePassing: processes of one run, as MPI gives them. Implemented by the plugin ppsim_mpi, which links nothing of
// ppsim: this header and the standard library are all that both share.

#include "ppsim/runtime/interface.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ppsim::runtime {

/// The processes of a run, and messages between them. Not for several threads, but for abort().
class MessagePassing : public Interface {
public:
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t local_rank() const = 0; ///< among those of the same host
  [[nodiscard]] virtual std::string host() const = 0;

  using Request = std::size_t;
  [[nodiscard]] virtual Request isend(const void* data, std::size_t bytes, std::size_t to, int tag) = 0;
  [[nodiscard]] virtual Request irecv(void* data, std::size_t capacity, std::size_t from, int tag) = 0;
  /// True once it is complete; the request is then gone. `received`, where not null, gets the size of the message,
  /// which may be larger than the capacity (then nothing of it is to be used; SIZE_MAX where only that is known).
  [[nodiscard]] virtual bool test(Request request, std::size_t* received) = 0;
  virtual void cancel(Request request) noexcept = 0;

  /// True once all processes have called start_barrier() so often; never waits, so that a caller can give up.
  virtual void start_barrier() = 0;
  [[nodiscard]] virtual bool test_barrier() = 0;

  /// Ends every process of the run with that exit status. From any thread.
  [[noreturn]] virtual void abort(int status) noexcept = 0;
};

/// What the plugin exports as `extern "C" ppsim_mpi_plugin`. Whether a launcher started this process, the program knows
/// from its environment (launch.hpp).
struct MpiPlugin {
  const char* version;       ///< of ppsim; must be the program's
  std::string (*mpi_name)(); ///< "Open MPI 4.1.4"; starts nothing
  /// Starts MPI, or throws std::runtime_error. Once; waits for the other processes. Its end, which also waits, is
  /// the destructor.
  std::unique_ptr<MessagePassing> (*start)();
};

} // namespace ppsim::runtime
