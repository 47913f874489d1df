#pragma once
// Certificates: an order of tasks and a lower bound on the makespan of all orders, both checkable without the program
// that found them (docs/synthesis.md).

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// One pass of one chunk, for every microbatch. `take` and `give` are in bytes or in activations, the unit of its
/// stage's capacity.
struct CertificateSequence {
  std::string name;
  std::size_t stage = 0;
  Duration duration{};   ///< of each of its tasks
  std::int64_t take = 0; ///< memory that its stage holds from a task's start on
  std::int64_t give = 0; ///< memory that its stage frees at a task's end
  Duration tail{};       ///< the least time between the end of its last task and the end of the step
  bool operator==(const CertificateSequence&) const = default;
};

/// Task j of `to` starts no earlier than `lag` after the end of task j of `from`.
struct CertificateArc {
  std::size_t from = 0;
  std::size_t to = 0;
  Duration lag{};
  bool operator==(const CertificateArc&) const = default;
};

/// The scheduling problem.
struct CertificateInstance {
  std::size_t microbatches = 1;
  std::vector<std::optional<std::int64_t>> capacity; ///< by stage, in bytes or activations; none: unlimited
  std::vector<CertificateSequence> sequences;
  std::vector<CertificateArc> arcs;
  bool operator==(const CertificateInstance&) const = default;
};

/// Microbatches next to each other, in a view's direction.
struct CertificateNeighbours {
  std::size_t first = 0;
  std::size_t count = 0; ///< 0: all that there are
  bool operator==(const CertificateNeighbours&) const = default;
};

/// A step of a proof: if the task started before `start`, the earlier steps would lead to a contradiction. So it starts
/// then or later.
struct CertificateCase {
  std::size_t view = 0; ///< 0: forward; 1: backward in time, where times count from the end of the step
  std::size_t sequence = 0;
  std::size_t index = 0; ///< of the task in its sequence, in the view's direction
  Duration start{};
  CertificateNeighbours among{}; ///< the others are left out
  bool operator==(const CertificateCase&) const = default;
};

/// A claim: this order has this makespan, and no order has a makespan below the lower bound.
struct Certificate {
  CertificateInstance instance;
  std::optional<std::vector<std::vector<std::size_t>>>
      order;                        ///< by stage: the sequences whose next task runs, one after another
  std::optional<Duration> makespan; ///< of that order, including tails
  Duration lower_bound{};
  std::vector<CertificateCase> cases;
  std::string title;   ///< for readers
  std::string command; ///< for readers: the command that made it
  bool operator==(const Certificate&) const = default;
};

/// Limits of a certificate, so that sums stay in range and all of it fits into memory.
struct CertificateLimits {
  static constexpr std::size_t stages = 65535;
  static constexpr std::size_t sequences = 65535;
  static constexpr std::size_t microbatches = 32767;
  static constexpr std::size_t arcs = std::size_t{1} << 18;
  static constexpr std::size_t cases = std::size_t{1} << 20;
  static constexpr std::size_t tasks = std::size_t{1} << 22;
  static constexpr std::size_t counts = std::size_t{1} << 25; ///< per task, one count for each sequence of its stage
  static constexpr std::int64_t total = std::int64_t{1}
                                        << 60; ///< sum of all durations and lags, and of all memory taken or given
  static constexpr std::uint64_t steps = std::uint64_t{1} << 38U; ///< the most steps of a check: some minutes
};

/// The result of checking the order.
struct OrderVerdict {
  bool complete = false;           ///< every stage runs each of its tasks once, and no others
  bool runs = false;               ///< there is no cycle of waits
  bool fits = false;               ///< no stage ever holds more than its capacity
  bool as_said = false;            ///< its makespan equals the stated one
  Duration makespan{};             ///< if it runs
  std::vector<std::string> faults; ///< what is wrong, in words
  [[nodiscard]] bool holds() const { return complete && runs && fits && as_said; }
};

/// The result of checking the lower bound: whether the rules show that no order ends before it.
struct BoundVerdict {
  bool proven = false;
  std::size_t cases_shown = 0; ///< cases of the certificate, in order, before a contradiction or a fault
  std::size_t passes = 0;      ///< over all stages, until nothing changed or a contradiction arose
  std::uint64_t steps = 0;     ///< number of calculation steps
  std::string contradiction;   ///< the contradiction that a shorter order leads to, in words; empty if none was found
  std::vector<std::string> faults; ///< why it is not proven, in words
};

struct CertificateVerdict {
  std::optional<OrderVerdict> order; ///< none if the certificate has no order
  BoundVerdict bound;
  /// Whether every claim of the certificate is true.
  [[nodiscard]] bool holds() const { return bound.proven && (!order || order->holds()); }
};

/// Throws Error (bad_input) with all malformed parts of `certificate`: unknown ids, numbers out of range, cycles of
/// arcs. Places are `where` and a JSON pointer, such as "c.json: /instance/sequences/3/stage".
void require_well_formed(const Certificate& certificate, std::string_view where);

/// Runs the order and repeats the proof of the bound; gives up after `steps` steps. Throws as require_well_formed().
[[nodiscard]] CertificateVerdict check_certificate(const Certificate& certificate,
                                                   std::string_view where = "certificate",
                                                   std::uint64_t steps = CertificateLimits::steps);

} // namespace ppsim
