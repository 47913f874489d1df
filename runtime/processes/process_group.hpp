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
  /// The one group of this process. Starts MPI at the first call, which waits for the other processes. Throws Error
  /// (failed) where that fails.
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
  [[nodiscard]] std::size_t hosts() const; ///< how many

  /// What this process does, to be said if it is ended from outside, from another thread; nothing: between runs.
  void set_doing(std::function<std::string()> doing);
  /// Whether that process is seen to be gone: only one of the same machine and container can be.
  [[nodiscard]] bool sees_gone(std::size_t rank) const;
  /// That process is gone, or has left this one waiting for too long, and the others go on without it. Where it is not
  /// seen to be gone, rank 0 says so.
  void lose(std::size_t lost);
  /// Waits for all, then ends MPI; both within a limit. Where one was lost, that never ends: then all leave MPI as
  /// it is, and rank 0 ends, with this status, what may be left of one that did not answer.
  void finish(ExitCode status);
  /// Whether the others have gone on without this process, which is woken to be ended: then it has nothing to say.
  [[nodiscard]] bool was_left_behind() const;
  /// Ends all processes. From any thread.
  [[noreturn]] void abort(ExitCode status) noexcept;
  /// Says `what` on stderr, then abort(failed).
  [[noreturn]] void abort_with(const std::string& what) noexcept;

private:
  ProcessGroup();
  void learn_peers();
  void leave(ExitCode status);
  [[nodiscard]] std::optional<std::string> last_words(bool is_ending);

  struct Peer {
    std::string host;
    std::string processes; ///< of which machine and container `pid` is one; empty: unknown
    std::int64_t pid = 0;
  };
  [[nodiscard]] bool can_see(const Peer& peer) const; ///< whether it is seen when that one is gone
  std::string library_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<MessagePassing> messages_;
  std::unique_ptr<Failures> failures_;
  std::vector<Peer> peers_; ///< by rank
  std::function<std::string()> doing_;
  std::vector<std::size_t> lost_; ///< on rank 0; elsewhere not empty where one was lost
  bool loss_seen_ = false;        ///< for the guard's thread
};

/// Why the plugin for MPI cannot be used, or what it is ("Open MPI 4.1.4"). Throws Error (failed) where it is missing.
[[nodiscard]] std::string mpi_library();

} // namespace ppsim::runtime
