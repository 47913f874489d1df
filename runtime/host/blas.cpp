#include "blas.hpp"

#include "ppsim/runtime/host_device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "host_loops.hpp"
#include <dlfcn.h>

namespace ppsim::runtime {

namespace {

// The C interface of the BLAS, which every implementation shares.
constexpr int row_major = 101, not_transposed = 111, as_transposed = 112;
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int rows, int columns, int inner, float alpha,
                       const float* a, int a_stride, const float* b, int b_stride, float beta, float* c, int c_stride);

template <class Function>
Function find_function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

class InstalledMatrices final : public MatrixLibrary {
public:
  InstalledMatrices(Sgemm sgemm, std::string description) : sgemm_{sgemm}, description_{std::move(description)} {}
  [[nodiscard]] const std::string& description() const override { return description_; }
  void multiply(const Product& product) const override {
    const auto& [rows, columns, inner, a, b, out, stride, add, factor] = product;
    sgemm_(row_major, a.transposed ? as_transposed : not_transposed, b.transposed ? as_transposed : not_transposed,
           static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(inner), factor, a.data,
           static_cast<int>(a.stride), b.data, static_cast<int>(b.stride), add ? 1.0F : 0.0F, out,
           static_cast<int>(stride));
  }

private:
  Sgemm sgemm_;
  std::string description_;
};

class BuiltInMatrices final : public MatrixLibrary {
public:
  [[nodiscard]] const std::string& description() const override { return description_; }
  void multiply(const Product& product) const override { host_loops().multiply(product); }

private:
  std::string description_ = fmt::format("built-in loops ({})", host_loops().name);
};

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": its first two words.
std::string first_words(std::string_view text) {
  const auto first = text.find(' ');
  return std::string{text.substr(0, first == std::string_view::npos ? first : text.find(' ', first + 1))};
}

std::unique_ptr<MatrixLibrary> load(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto sgemm = find_function<Sgemm>(library, "cblas_sgemm");
  if (sgemm == nullptr) {
    dlclose(library);
    return nullptr;
  }
  if (const auto set_threads = find_function<void (*)(int)>(library, "openblas_set_num_threads")) set_threads(1);
  const auto config = find_function<const char* (*)()>(library, "openblas_get_config");
  return std::make_unique<InstalledMatrices>(sgemm, config != nullptr ? first_words(config()) : std::string{file});
}

std::unique_ptr<MatrixLibrary> load_first() {
  // The library may start threads while it is loaded; every stage needs only its own thread.
  setenv("OPENBLAS_NUM_THREADS", "1", 0); // NOLINT(concurrency-mt-unsafe): before any stage has a thread
  for (const char* file : {"libopenblas.so.0", "libopenblas.so", "libblas.so.3"}) {
    if (auto library = load(file)) return library;
  }
  return nullptr;
}

} // namespace

const MatrixLibrary* installed_matrices() {
  static const std::unique_ptr<MatrixLibrary> library = load_first();
  return library.get();
}

const MatrixLibrary& built_in_matrices() {
  static const BuiltInMatrices library;
  return library;
}

const MatrixLibrary& best_matrices() {
  const MatrixLibrary* installed = installed_matrices();
  return installed != nullptr ? *installed : built_in_matrices();
}

std::string matrix_library() {
  if (const MatrixLibrary* installed = installed_matrices()) return installed->description();
  return built_in_matrices().description() + ", OpenBLAS is not installed";
}

} // namespace ppsim::runtime
