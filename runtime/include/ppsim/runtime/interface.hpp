#pragma once
// Interface: the base of the runtime's abstract classes. Inline, so that plugins can use it.

namespace ppsim::runtime {

/// Not copyable; destroyed through its base.
class Interface {
public:
  Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;
};

} // namespace ppsim::runtime
