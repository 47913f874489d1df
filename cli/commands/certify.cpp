// ppsim certify: whether the claims of a certificate about an order, and about all orders, are true.

#include "ppsim/base/words.hpp"
#include "ppsim/certificate/certificate.hpp"
#include "ppsim/traces/certificate_file.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "files/files.hpp"
#include "options/commands.hpp"

namespace ppsim::cli::certify_command {
namespace {

/// "within 2.5 % of the best", for an order and a bound that hold.
std::string gap_in_words(Duration makespan, Duration bound) {
  if (makespan == bound) return "optimal";
  return fmt::format("the order is within {:.3g} %", 100.0 * fraction(makespan - bound, bound));
}

std::string in_a_sentence(const Certificate& certificate, const CertificateVerdict& verdict) {
  std::string text;
  if (certificate.order)
    text = fmt::format(
        "order of {}, {}: makespan {} is correct; ", counted(certificate.instance.capacity.size(), "stage"),
        counted(certificate.instance.microbatches, "microbatch", "es"), format_closely(*certificate.makespan));
  else
    text = fmt::format("{}, {}: ", counted(certificate.instance.capacity.size(), "stage"),
                       counted(certificate.instance.microbatches, "microbatch", "es"));
  text += fmt::format("no order is shorter than {}: proven", format_closely(certificate.lower_bound));
  if (verdict.bound.cases_shown > 0) text += fmt::format(" by {}", counted(verdict.bound.cases_shown, "case"));
  if (certificate.makespan &&
      (certificate.makespan == certificate.lower_bound || certificate.lower_bound > Duration{0}))
    text += fmt::format(" ({})", gap_in_words(*certificate.makespan, certificate.lower_bound));
  return text;
}

/// The false claims, each with a remedy.
std::vector<Problem> refuted(const Certificate& certificate, const CertificateVerdict& verdict,
                             const std::string& where) {
  std::vector<Problem> problems;
  if (verdict.order)
    for (const std::string& fault : verdict.order->faults)
      problems.push_back({where, "its order is not valid: " + fault, "give a valid order, or null for none"});
  for (const std::string& fault : verdict.bound.faults)
    problems.push_back(
        {where, fmt::format("its lower bound of {} is not proven: {}", format_closely(certificate.lower_bound), fault),
         "give a lower bound that is proven, or more cases"});
  return problems;
}

ExitCode run(const Inputs& inputs) {
  if (!inputs.file)
    throw Error{ExitCode::bad_input,
                Problem{"certify", "no file given", "for example: ppsim certify best.json; '-' reads stdin"}};
  const std::string where = display_name(*inputs.file);
  if (inputs.json) require_writable(*inputs.json, "--json");
  const Certificate certificate = traces::read_certificate(read_file(*inputs.file, "certify"), where);
  const CertificateVerdict verdict = check_certificate(certificate, where);
  if (inputs.json) write_file(*inputs.json, traces::certificate_verdict_json(certificate, verdict), "--json");
  if (!verdict.holds()) throw Error{ExitCode::no, refuted(certificate, verdict, where)};
  if (inputs.json != "-")
    write_file("-", fmt::format("{}: {}\n", where, in_a_sentence(certificate, verdict)), "certify");
  return ExitCode::done;
}

constexpr std::array<std::string_view, 1> extra{"json"};
constexpr std::array examples{
    Example{"ppsim certify best.json", "exit status 0: the order has that makespan, and no order is shorter than the "
                                       "bound; 2: malformed; 3: a claim is wrong"},
};

} // namespace

const Command definition{.name = "certify",
                         .summary =
                             "check a certificate: does its order have the stated makespan, and can none be shorter",
                         .usage = "ppsim certify [--json[=FILE]] FILE",
                         .argument = "FILE",
                         .argument_help = "a certificate (docs/synthesis.md); '-' for stdin",
                         .extra = extra,
                         .examples = examples,
                         .run = run};

} // namespace ppsim::cli::certify_command
