#pragma once
// Ctrl-C as a wish to end with what there is.

#include <csignal>

namespace ppsim::cli {

/// While it exists, the first SIGINT is only noted; the second ends the program, as it does without. Signals are left
/// alone where this thread works for a Call: whoever made that stops it.
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
