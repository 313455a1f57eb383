// The CBLAS library: its functions, and the owner of its threads.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "backend_support/host_matrix.h"
#include "backend_support/vendor_library.h"

namespace shunt::blas {

/// The largest size and distance between rows that CBLAS can express.
inline constexpr std::int64_t kMaxSize = std::numeric_limits<int>::max();

/// Null where a library lacks a function of OpenBLAS.
struct Symbols {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c,
                int ldc) = nullptr;
  void (*set_num_threads)(int threads) = nullptr;
  int (*end_threads)() = nullptr;
  char* (*get_config)() = nullptr;
};

class Library {
 public:
  /// NotFound if there is no library or no cblas_sgemm in it, Unsupported if it has 64-bit sizes.
  static Result<std::unique_ptr<Library>> open(const Options& options);

  struct Sizes {
    std::int64_t m, n, k;
  };
  /// y[n * stride + m] = sum over k of w[k, m] * x[k, n], or that is added to y. k is the element,
  /// or the row, of both matrices. Thread-safe.
  void multiply(const FloatMatrix& w, const FloatMatrix& x, const Sizes& sizes, bool k_is_row,
                bool add, float* y, std::int64_t stride) const;
  const std::string& description() const { return description_; }
  /// Why it computes one product at a time; empty if it runs on the threads that call it.
  const std::string& note() const { return note_; }

 private:
  Library(std::shared_ptr<VendorLibrary> runtime, const Symbols& symbols);

  std::shared_ptr<VendorLibrary> runtime_;
  Symbols symbols_;
  std::string description_;
  std::string note_;
};

}  // namespace shunt::blas
