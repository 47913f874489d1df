#pragma once
// Certificates as JSON, schema 1 (docs/synthesis.md: keys are added, never changed).

#include "ppsim/certificate/certificate.hpp"

#include <string>
#include <string_view>

namespace ppsim::traces {

/// One JSON document. Times are whole nanoseconds.
[[nodiscard]] std::string write_certificate(const Certificate& certificate);

/// Reads a certificate, written by write_certificate() or another program. `where` names the file in errors. Throws
/// Error (bad_input) with every fault: invalid JSON by line and column, others by JSON pointer. The result is
/// well-formed but not checked.
[[nodiscard]] Certificate read_certificate(std::string_view text, std::string_view where);

/// The result of check_certificate() as JSON, schema 1.
[[nodiscard]] std::string certificate_verdict_json(const Certificate& certificate, const CertificateVerdict& verdict);

} // namespace ppsim::traces
