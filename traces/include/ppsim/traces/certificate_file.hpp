#pragma once
// Certificates as JSON, schema 1 (docs/synthesis.md: keys are added, never changed).

#include "ppsim/certificate/certificate.hpp"

#include <string>
#include <string_view>

namespace ppsim::traces {

/// One JSON document. Times are whole nanoseconds.
[[nodiscard]] std::string write_certificate(const Certificate& certificate);

/// Reads what write_certificate() wrote, by whatever program. `where` names the file in errors. Throws Error
/// (bad_input) with every fault found: what is no JSON by line and column, all else by its JSON pointer. What is read
/// is well formed, and need not be true.
[[nodiscard]] Certificate read_certificate(std::string_view text, std::string_view where);

/// What check_certificate() found, schema 1.
[[nodiscard]] std::string certificate_verdict_json(const Certificate& certificate, const CertificateVerdict& verdict);

} // namespace ppsim::traces
