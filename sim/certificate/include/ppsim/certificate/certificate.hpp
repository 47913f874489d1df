#pragma once
// Certificates: an order of tasks and a lower bound of the makespan of all orders, such that both can be checked by who
// did not find them (docs/synthesis.md).

#include "ppsim/base/error.hpp"
#include "ppsim/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// One pass of one chunk, for every microbatch. What it takes and gives is counted in bytes, or in activations: in what
/// the capacity of its stage is counted in.
struct CertificateSequence {
  std::string name;
  std::size_t stage = 0;
  Duration duration{};   ///< of each of its tasks
  std::int64_t take = 0; ///< what its stage holds more from a task's start on
  std::int64_t give = 0; ///< what its stage holds less from a task's end on
  Duration tail{};       ///< what must pass between the end of its last task and the end of the step
  bool operator==(const CertificateSequence&) const = default;
};

/// Task j of `to` starts no earlier than `lag` after the end of task j of `from`.
struct CertificateArc {
  std::size_t from = 0;
  std::size_t to = 0;
  Duration lag{};
  bool operator==(const CertificateArc&) const = default;
};

/// What is to be put in order.
struct CertificateInstance {
  std::size_t microbatches = 1;
  std::vector<std::optional<std::int64_t>>
      capacity; ///< by stage, in bytes or activations: the most it may hold; none: any
  std::vector<CertificateSequence> sequences;
  std::vector<CertificateArc> arcs;
  bool operator==(const CertificateInstance&) const = default;
};

/// A step of a proof: that task `x` runs before task `y`, another one of its stage, leads to a contradiction under what
/// the steps before it have shown. So y runs before x.
struct CertificateCase {
  std::size_t x_sequence = 0;
  std::size_t x_microbatch = 0;
  std::size_t y_sequence = 0;
  std::size_t y_microbatch = 0;
  bool operator==(const CertificateCase&) const = default;
};

/// A claim: this order has this makespan, and no order has one below the lower bound.
struct Certificate {
  CertificateInstance instance;
  std::optional<std::vector<std::vector<std::size_t>>>
      order;                        ///< by stage: the sequences whose next task runs, one by one
  std::optional<Duration> makespan; ///< of that order, with tails
  Duration lower_bound{};
  std::vector<CertificateCase> cases;
  std::string title;   ///< for people
  std::string command; ///< as above: what made it
  bool operator==(const Certificate&) const = default;
};

/// What a certificate may hold, so that no sum leaves its range and all of it fits into memory.
struct CertificateLimits {
  static constexpr std::size_t stages = 65535;
  static constexpr std::size_t sequences = 65535;
  static constexpr std::size_t microbatches = 32767;
  static constexpr std::size_t arcs = std::size_t{1} << 18;
  static constexpr std::size_t cases = std::size_t{1} << 20;
  static constexpr std::size_t tasks = std::size_t{1} << 22;
  static constexpr std::size_t counts = std::size_t{1} << 25; ///< for each task, a count for each sequence of its stage
  static constexpr std::int64_t total = std::int64_t{1}
                                        << 60; ///< of all durations and lags, and of all that is taken or given
  static constexpr std::uint64_t steps = std::uint64_t{1} << 38U; ///< that a check may take: some minutes
};

/// Whether the order is one, and what it says of itself true.
struct OrderVerdict {
  bool complete = false;           ///< every stage runs each of its tasks once, and no others
  bool runs = false;               ///< no task waits for itself
  bool fits = false;               ///< no stage ever holds more than its capacity
  bool as_said = false;            ///< its makespan is the one that the certificate names
  Duration makespan{};             ///< where it runs
  std::vector<std::string> faults; ///< what is wrong, in words
  [[nodiscard]] bool holds() const { return complete && runs && fits && as_said; }
};

/// Whether the rules show that no order ends before the lower bound.
struct BoundVerdict {
  bool proven = false;
  std::size_t cases_shown = 0; ///< of the certificate's cases, in order, before there was a contradiction or a fault
  std::size_t passes = 0;      ///< over all stages, until nothing changed or there was a contradiction
  std::uint64_t steps = 0;     ///< how much was calculated
  std::string contradiction;   ///< what a shorter order would lead to, in words; empty where none was found
  std::vector<std::string> faults; ///< why it is not proven, in words
};

struct CertificateVerdict {
  std::optional<OrderVerdict> order; ///< none where the certificate has no order
  BoundVerdict bound;
  /// All that the certificate says is true.
  [[nodiscard]] bool holds() const { return bound.proven && (!order || order->holds()); }
};

/// Throws Error (bad_input) with everything that makes `certificate` none: ids of what there is not, numbers out of
/// range, arcs in a circle. Places are `where` and a JSON pointer, such as "c.json: /instance/sequences/3/stage".
void require_well_formed(const Certificate& certificate, std::string_view where);

/// Runs the order, and proves the bound again; gives up after so many `steps`. Throws as require_well_formed().
[[nodiscard]] CertificateVerdict check_certificate(const Certificate& certificate,
                                                   std::string_view where = "certificate",
                                                   std::uint64_t steps = CertificateLimits::steps);

} // namespace ppsim
