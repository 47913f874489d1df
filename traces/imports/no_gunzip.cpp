// Replaces unpacking if there is no zlib: in a web page.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/gzip.hpp"

namespace ppsim::traces {

std::string gunzip(std::string_view /*bytes*/, std::string_view where, std::uint64_t /*limit*/) {
  throw Error{ExitCode::bad_input, Problem{std::string{where}, "is packed with gzip", "unpack it before"}};
}

} // namespace ppsim::traces
