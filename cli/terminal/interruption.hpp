#pragma once
// Ctrl-C as a request to end with the result so far.

#include <csignal>

namespace ppsim::cli {

/// While it exists, the first SIGINT is only recorded; the second ends the program. Does not touch signals if this
/// thread works for a Call, whose owner stops it.
class Interruption {
public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  Interruption(Interruption&&) = delete;
  Interruption& operator=(Interruption&&) = delete;
  [[nodiscard]] static bool has_come();

private:
  bool handles_;
  struct sigaction before_ {};
};

} // namespace ppsim::cli
