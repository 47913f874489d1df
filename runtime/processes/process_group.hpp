#pragma once
// ProcessGroup: the processes that mpirun or srun started, from the start of MPI to its end. Backends mpi and nccl
// share it.

#include "ppsim/runtime/message_passing.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stage/failures.hpp"
#include "stage/guard.hpp"

namespace ppsim::runtime {

class ProcessGroup {
public:
  /// The only group of this process. Starts MPI at the first call, which waits for the other processes. Throws Error
  /// (failed) if that fails.
  [[nodiscard]] static ProcessGroup& get();
  /// The group, if it was started.
  [[nodiscard]] static ProcessGroup* started();

  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

  [[nodiscard]] std::size_t rank() const { return messages_->rank(); }
  [[nodiscard]] std::size_t size() const { return messages_->size(); }
  [[nodiscard]] bool is_leader() const { return rank() == 0; }
  [[nodiscard]] MessagePassing& messages() { return *messages_; }
  [[nodiscard]] Failures& failures() { return *failures_; }
  [[nodiscard]] const std::string& mpi_name() const { return library_; }
  [[nodiscard]] std::size_t hosts() const; ///< number of hosts

  /// What this process does, reported from another thread if it is ended from outside; null between runs.
  void set_doing(std::function<std::string()> doing);
  /// Whether that process is known to have ended, observable only on the same machine and container.
  [[nodiscard]] bool sees_gone(std::size_t rank) const;
  /// Marks a process as lost: it has ended or did not answer, and the others continue without it. If its end was not
  /// observed, rank 0 reports it.
  void lose(std::size_t lost);
  /// Waits for all, then ends MPI; both within a limit. If a process was lost, MPI cannot end: all exit without it, and
  /// rank 0 ends the remaining ones, with this status.
  void finish(ExitCode status);
  /// Whether the others have continued without this process, which is only woken to be ended and must stay silent.
  [[nodiscard]] bool was_left_behind() const;
  /// Ends all processes. From any thread.
  [[noreturn]] void abort(ExitCode status) noexcept;
  /// Prints `what` to stderr, then abort(failed).
  [[noreturn]] void abort_with(const std::string& what) noexcept;

private:
  ProcessGroup();
  void learn_peers();
  void leave(ExitCode status);
  [[nodiscard]] std::optional<std::string> last_words(bool is_ending);

  struct Peer {
    std::string host;
    std::string processes; ///< machine and container of `pid`; empty: unknown
    std::int64_t pid = 0;
  };
  [[nodiscard]] bool can_see(const Peer& peer) const; ///< whether the end of that process can be observed
  std::string library_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<MessagePassing> messages_;
  std::unique_ptr<Failures> failures_;
  std::vector<Peer> peers_; ///< by rank
  std::function<std::string()> doing_;
  std::vector<std::size_t> lost_; ///< on rank 0; elsewhere only non-empty if one was lost
  bool loss_seen_ = false;        ///< for the guard's thread
};

/// The description of the MPI library ("Open MPI 4.1.4"), or why it cannot be used. Throws Error (failed) if the plugin
/// is missing.
[[nodiscard]] std::string mpi_library();

} // namespace ppsim::runtime
