#pragma once
// Single-precision matrix products: by OpenBLAS if it is installed, otherwise by built-in loops. OpenBLAS is loaded on
// first use: if it were linked, it would start its threads whenever ppsim starts.

#include "ppsim/runtime/interface.hpp"

#include <cstddef>
#include <string>

namespace ppsim::runtime {

/// A matrix in row-major order, `stride` numbers from row to row.
struct Operand {
  const float* data = nullptr;
  std::size_t stride = 0;
  bool transposed = false; ///< the product uses its transpose
};

/// out = factor a b, or out += factor a b. `a` is rows x inner, `b` inner x columns, after transposition.
struct Product {
  std::size_t rows = 0, columns = 0, inner = 0;
  Operand a, b;
  float* out = nullptr;
  std::size_t stride = 0; ///< of `out`
  bool add = false;
  float factor = 1.0F;
};

/// Computes products. Thread-safe; equal operands give equal bits.
class MatrixLibrary : public Interface {
public:
  [[nodiscard]] virtual const std::string& description() const = 0; ///< "OpenBLAS 0.3.21"
  virtual void multiply(const Product& product) const = 0;
};

/// OpenBLAS or another BLAS with a C interface, with one thread. Null if none is installed. Loads it at the first call.
[[nodiscard]] const MatrixLibrary* installed_matrices();
/// The built-in blocked loops.
[[nodiscard]] const MatrixLibrary& built_in_matrices();
/// The installed library, otherwise the built-in loops.
[[nodiscard]] const MatrixLibrary& best_matrices();

} // namespace ppsim::runtime
