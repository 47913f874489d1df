// Fuzzes the reader of certificates. What is read is written and read back unchanged, and checked, small ones
// completely; for tiny ones, no order may beat a proven bound. Everything else is a ppsim::Error.

#include "ppsim/traces/certificate_file.hpp"
#include "support/certificates.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace ppsim;

constexpr std::uint64_t most_steps = 200'000;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_same(const Certificate& certificate) {
  try {
    const std::string written = traces::write_certificate(certificate);
    const Certificate again = traces::read_certificate(written, "again.json");
    require(traces::write_certificate(again) == written); // names with invalid UTF-8 may have changed
  } catch (const Error&) {
    require(false);
  }
}

/// For tiny ones: no order may be shorter than a proven bound.
void require_true(const Certificate& certificate) {
  const CertificateInstance& instance = certificate.instance;
  if (instance.sequences.size() * instance.microbatches > 6 || instance.capacity.size() > 3) return;
  const auto shortest = test::try_all_orders(instance, 200);
  require(!shortest || !shortest->makespan || *shortest->makespan >= certificate.lower_bound.count());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  try {
    const Certificate certificate = traces::read_certificate(text, "fuzz.json");
    require_same(certificate);
    const CertificateInstance& instance = certificate.instance;
    if (instance.sequences.size() * instance.microbatches > 200) return 0;
    const CertificateVerdict verdict = check_certificate(certificate, "fuzz.json", most_steps);
    require(!traces::certificate_verdict_json(certificate, verdict).empty());
    require(verdict.bound.proven == verdict.bound.faults.empty());
    require(!verdict.order || verdict.order->holds() == verdict.order->faults.empty());
    if (verdict.bound.proven) require_true(certificate);
  } catch (const Error& error) {
    require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
  return 0;
}
