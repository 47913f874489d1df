// The cases of a proof, one after another, and the verdict.

#include "ppsim/base/words.hpp"
#include "ppsim/certificate/certificate.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "proof.hpp"
#include "replay.hpp"

namespace ppsim {
namespace certificate {
namespace {

/// What is known of all microbatches, and of a few next to each other, case by case.
class CaseByCase {
public:
  /// Tries to prove that no order of `instance` ends by `end`.
  CaseByCase(const CertificateInstance& instance, Time end, Meter& meter)
      : instance_{instance}, end_{end}, meter_{meter}, all_{instance, end, meter} {
    all_.propagate();
  }

  /// Applies all rules to all microbatches, and to those of the case alone.
  void prepare(const CertificateCase& step) {
    all_.propagate();
    const auto [first, count] = step.among;
    if (count > 0 && !is_over()) look_at(step.view == 0 ? first : instance_.microbatches - first - count, count);
  }
  /// Whether its task cannot start before its time. If so, it starts no earlier from then on.
  bool show(const CertificateCase& step) {
    if (step.among.count == 0) return all_.show(step.view, step.sequence, step.index, step.start.count());
    if (!few_->proof.show(step.view, step.sequence, step.index - step.among.first, step.start.count())) return false;
    learn_from_few();
    return true;
  }
  /// Applies all rules to all microbatches.
  void finish() {
    if (!is_over()) all_.propagate();
  }

  [[nodiscard]] bool may_leave_out() const { return all_.may_leave_out(); }
  [[nodiscard]] bool is_over() const { return all_.is_over() || (few_ && few_->proof.is_over()); }
  [[nodiscard]] std::size_t passes() const { return passes_ + all_.passes() + (few_ ? few_->proof.passes() : 0); }
  [[nodiscard]] std::string contradiction() const {
    std::string found = all_.contradiction();
    if (!found.empty() || !few_) return found;
    found = few_->proof.contradiction();
    if (!found.empty()) found += words_of_few(few_->first, few_->instance.microbatches);
    return found;
  }
  static std::string words_of_few(std::size_t first, std::size_t count) {
    return fmt::format(", among microbatches {} to {}", first, first + count - 1);
  }

private:
  /// Forwards, the microbatches from `first` on.
  struct Few {
    Few(CertificateInstance of, std::size_t from, Time end, Meter& meter)
        : first{from}, instance{std::move(of)}, proof{instance, end, meter, from} {}
    std::size_t first;
    CertificateInstance instance;
    Proof proof;
  };

  /// What is known of all holds of those alone, and what they show of starts holds of all.
  void look_at(std::size_t first, std::size_t count) {
    if (!few_ || few_->first != first || few_->instance.microbatches != count) {
      if (few_) passes_ += few_->proof.passes();
      CertificateInstance few = instance_;
      few.microbatches = count;
      few_ = std::make_unique<Few>(std::move(few), first, end_, meter_);
    }
    few_->proof.learn(all_, -static_cast<std::ptrdiff_t>(first));
    few_->proof.propagate();
    if (!is_over()) learn_from_few();
  }
  void learn_from_few() { all_.learn(few_->proof, static_cast<std::ptrdiff_t>(few_->first)); }

  const CertificateInstance& instance_;
  Time end_;
  Meter& meter_;
  Proof all_;
  std::unique_ptr<Few> few_; ///< of the last case among some
  std::size_t passes_ = 0;   ///< of others
};

/// The task that a case is of, and when it starts.
std::string words_of(const CertificateCase& step, const CertificateInstance& instance) {
  const auto forwards = [&](std::size_t index) { return step.view == 0 ? index : instance.microbatches - 1 - index; };
  std::string words = fmt::format("task {} of {} starts before {} ns", forwards(step.index),
                                  in_quotes(instance.sequences[step.sequence].name), step.start.count());
  if (step.view == 1) words += ", seen backwards in time";
  if (const auto [first, count] = step.among; count > 0)
    words += CaseByCase::words_of_few(step.view == 0 ? first : forwards(first + count - 1), count);
  if (step.view == 1 || step.among.count > 0) words += ",";
  return words;
}

BoundVerdict prove(const Certificate& certificate, std::uint64_t steps) {
  Meter meter{.used = 0, .limit = steps};
  const Time end = certificate.lower_bound.count() - 1;
  BoundVerdict verdict;
  CaseByCase proof{certificate.instance, end, meter};
  for (const CertificateCase& step : certificate.cases) {
    const bool may = step.among.count == 0 || proof.may_leave_out();
    if (may) proof.prepare(step);
    if (proof.is_over()) break;
    if (!may || !proof.show(step)) {
      verdict.faults.push_back(fmt::format(
          "case {}: {}", verdict.cases_shown,
          may ? fmt::format("assuming that {} leads to no contradiction", words_of(step, certificate.instance))
              : "microbatches cannot be left out: on a stage, memory may be given "
                "before it is taken, or is not all given"));
      break;
    }
    ++verdict.cases_shown;
  }
  if (verdict.faults.empty()) proof.finish();
  verdict.passes = proof.passes();
  verdict.steps = meter.used;
  if (verdict.faults.empty()) verdict.contradiction = proof.contradiction();
  verdict.proven = !verdict.contradiction.empty();
  if (verdict.proven) return verdict;
  if (meter.is_spent()) verdict.faults = {fmt::format("given up after {} steps", steps)};
  if (verdict.faults.empty())
    verdict.faults.push_back(fmt::format("assuming a makespan of {} ns leads to no contradiction", end));
  return verdict;
}

} // namespace
} // namespace certificate

CertificateVerdict check_certificate(const Certificate& certificate, std::string_view where, std::uint64_t steps) {
  require_well_formed(certificate, where);
  CertificateVerdict verdict;
  if (certificate.order) verdict.order = certificate::replay(certificate);
  if (verdict.order && verdict.order->holds() && *certificate.makespan < certificate.lower_bound)
    verdict.bound.faults.push_back(
        fmt::format("the order's makespan, {} ns, is below it", certificate.makespan->count()));
  else
    verdict.bound = certificate::prove(certificate, steps);
  return verdict;
}

} // namespace ppsim
