#pragma once
// Interface: what the abstract classes of the runtime share. Inline, so that plugins have it too.

namespace ppsim::runtime {

/// Is not copied, and destroyed by whoever holds it.
class Interface {
public:
  Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;
};

} // namespace ppsim::runtime
