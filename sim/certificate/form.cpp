// Checks whether a certificate is well-formed, regardless of its claims.

#include "ppsim/base/words.hpp"
#include "ppsim/certificate/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "arcs.hpp"

namespace ppsim {
namespace {

using Limits = CertificateLimits;

constexpr std::string_view wrong_number = "count from 0";

class FormCheck {
public:
  FormCheck(const Certificate& certificate, std::string_view where)
      : certificate_{certificate}, instance_{certificate.instance}, where_{where} {}

  void run() {
    check_sizes();
    problems_.throw_if_any();
    check_sequences();
    check_arcs();
    problems_.throw_if_any();
    check_sums();
    check_claims();
    check_order();
    check_cases();
    if (problems_.empty() && !certificate::order_along_arcs(instance_))
      fault("/instance/arcs", "they form a cycle", "leave out the arcs that make a task wait for itself");
    problems_.throw_if_any();
  }

private:
  void fault(std::string_view pointer, std::string_view what, std::string_view hint) {
    problems_.add(fmt::format("{}: {}", where_, pointer), std::string{what}, std::string{hint});
  }

  void check_size(std::string_view pointer, std::size_t size, std::size_t least, std::size_t most) {
    if (size < least || size > most)
      fault(pointer, fmt::format("{} is out of range", size), fmt::format("give {} to {}", least, most));
  }

  void check_sizes() {
    check_size("/instance/microbatches", instance_.microbatches, 1, Limits::microbatches);
    check_size("/instance/capacity", instance_.capacity.size(), 1, Limits::stages);
    check_size("/instance/sequences", instance_.sequences.size(), 1, Limits::sequences);
    check_size("/instance/arcs", instance_.arcs.size(), 0, Limits::arcs);
    check_size("/proof/cases", certificate_.cases.size(), 0, Limits::cases);
    if (problems_.empty() && instance_.sequences.size() * instance_.microbatches > Limits::tasks)
      fault("/instance", fmt::format("it has {} tasks", instance_.sequences.size() * instance_.microbatches),
            fmt::format("give {} at most", Limits::tasks));
    for (std::size_t stage = 0; stage < instance_.capacity.size(); ++stage)
      if (const auto& capacity = instance_.capacity[stage])
        check_amount(fmt::format("/instance/capacity/{}", stage), *capacity);
  }

  void check_amount(std::string_view pointer, std::int64_t amount) {
    if (amount < 0 || amount > Limits::total)
      fault(pointer, fmt::format("{} is out of range", amount), fmt::format("give 0 to {}", Limits::total));
  }

  void check_id(std::string_view pointer, std::size_t id, std::size_t behind) {
    if (id >= behind) fault(pointer, fmt::format("{} does not exist", id), fmt::format("name 0 to {}", behind - 1));
  }

  void check_sequences() {
    std::vector<std::size_t> on_stage(instance_.capacity.size(), 0);
    for (std::size_t i = 0; i < instance_.sequences.size(); ++i) {
      const CertificateSequence& sequence = instance_.sequences[i];
      const std::string pointer = fmt::format("/instance/sequences/{}", i);
      check_id(pointer + "/stage", sequence.stage, instance_.capacity.size());
      check_amount(pointer + "/duration", sequence.duration.count());
      check_amount(pointer + "/take", sequence.take);
      check_amount(pointer + "/give", sequence.give);
      check_amount(pointer + "/tail", sequence.tail.count());
      if (sequence.stage < on_stage.size()) ++on_stage[sequence.stage];
    }
    std::size_t counts = 0;
    for (const std::size_t count : on_stage) counts += count * count * instance_.microbatches;
    if (counts > Limits::counts)
      fault("/instance/sequences", fmt::format("there are {} pairs of a task and a sequence of its stage", counts),
            fmt::format("give {} at most", Limits::counts));
  }

  void check_arcs() {
    for (std::size_t i = 0; i < instance_.arcs.size(); ++i) {
      const std::string pointer = fmt::format("/instance/arcs/{}", i);
      check_id(pointer + "/0", instance_.arcs[i].from, instance_.sequences.size());
      check_id(pointer + "/1", instance_.arcs[i].to, instance_.sequences.size());
      check_amount(pointer + "/2", instance_.arcs[i].lag.count());
    }
  }

  /// Adds `amount` for every microbatch, saturating above the limit. Both must be non-negative.
  void add(std::int64_t& total, std::int64_t amount) const {
    const std::int64_t most = Limits::total / static_cast<std::int64_t>(instance_.microbatches);
    if (amount > most || total > Limits::total - amount * static_cast<std::int64_t>(instance_.microbatches))
      total = Limits::total + 1;
    else
      total += amount * static_cast<std::int64_t>(instance_.microbatches);
  }

  void check_sums() {
    std::int64_t time = 0;
    std::int64_t memory = 0;
    for (const CertificateSequence& sequence : instance_.sequences) {
      add(time, sequence.duration.count());
      add(time, sequence.tail.count());
      add(memory, sequence.take);
      add(memory, sequence.give);
    }
    for (const CertificateArc& arc : instance_.arcs) add(time, arc.lag.count());
    if (time > Limits::total)
      fault("/instance", "the durations, lags and tails of all microbatches add up to more than 2^60 ns",
            "give shorter ones, or fewer");
    if (memory > Limits::total)
      fault("/instance", "the amounts that all microbatches take and give add up to more than 2^60",
            "count in a larger unit");
  }

  void check_claims() {
    check_amount("/lower_bound", certificate_.lower_bound.count());
    if (certificate_.makespan) check_amount("/makespan", certificate_.makespan->count());
    if (certificate_.makespan.has_value() != certificate_.order.has_value())
      fault("/makespan", certificate_.order ? "it is missing" : "there is no order",
            "give an order and its makespan, or null for both");
  }

  void check_order() {
    if (!certificate_.order) return;
    if (certificate_.order->size() != instance_.capacity.size())
      return fault("/order", fmt::format("it has {} rows", certificate_.order->size()), "give one for each stage");
    for (std::size_t stage = 0; stage < certificate_.order->size(); ++stage) {
      const std::vector<std::size_t>& row = (*certificate_.order)[stage];
      if (row.size() > Limits::tasks)
        return fault(fmt::format("/order/{}", stage), fmt::format("it has {} tasks", row.size()),
                     "give each task once");
      for (std::size_t i = 0; i < row.size(); ++i)
        if (row[i] >= instance_.sequences.size())
          check_id(fmt::format("/order/{}/{}", stage, i), row[i], instance_.sequences.size());
    }
  }

  void check_cases() {
    for (std::size_t i = 0; i < certificate_.cases.size(); ++i) {
      const CertificateCase& found = certificate_.cases[i];
      const std::string pointer = fmt::format("/proof/cases/{}", i);
      check_id(pointer + "/0", found.view, 2);
      check_id(pointer + "/1", found.sequence, instance_.sequences.size());
      check_id(pointer + "/2", found.index, instance_.microbatches);
      check_amount(pointer + "/3", found.start.count());
      if (found.among.count > 0) check_among(pointer, found);
    }
  }

  void check_among(const std::string& pointer, const CertificateCase& found) {
    const auto& [first, count] = found.among;
    check_id(pointer + "/4", first, instance_.microbatches);
    if (first >= instance_.microbatches) return;
    check_size(pointer + "/5", count, 1, instance_.microbatches - first);
    if (found.index < first || found.index - first >= count)
      fault(pointer + "/2", fmt::format("{} is not among its microbatches", found.index),
            fmt::format("name {} to {}", first, first + count - 1));
  }

  const Certificate& certificate_;
  const CertificateInstance& instance_;
  std::string_view where_;
  Problems problems_;
};

} // namespace

void require_well_formed(const Certificate& certificate, std::string_view where) {
  FormCheck{certificate, where}.run();
}

} // namespace ppsim
