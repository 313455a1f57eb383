// A CBLAS library for tests: plain loops, and counters of its calls. A variant lacks a function or
// has sizes of 64 bits: SHUNT_TEST_BLAS_WITHOUT_SGEMM, SHUNT_TEST_BLAS_WITHOUT_THREADS,
// SHUNT_TEST_BLAS_WIDE.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

namespace {

std::atomic<int> threads = 8;
std::atomic<int> inside = 0;
std::atomic<int> most_inside = 0;
std::atomic<int> calls = 0;

}  // namespace

extern "C" {

#ifndef SHUNT_TEST_BLAS_WITHOUT_SGEMM
/// c = alpha * op(a) * op(b) + beta * c, row by row (101); 112: transposed.
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  if (order != 101) return;
  int most = most_inside.load();
  const int now = ++inside;
  while (now > most && !most_inside.compare_exchange_weak(most, now)) {
  }
  ++calls;
  std::this_thread::yield();
  const auto at = [](const float* matrix, int stride, bool transposed, int i, int j) {
    const std::ptrdiff_t row = transposed ? j : i;
    return matrix[row * stride + (transposed ? i : j)];
  };
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += at(a, lda, transpose_a == 112, i, l) * at(b, ldb, transpose_b == 112, l, j);
      }
      float& to = c[static_cast<std::ptrdiff_t>(i) * ldc + j];
      to = alpha * sum + (beta == 0 ? 0 : beta * to);
    }
  }
  --inside;
}
#endif

#ifndef SHUNT_TEST_BLAS_WITHOUT_THREADS
void openblas_set_num_threads(int count) {
  threads = count;
}
#endif

const char* openblas_get_config() {
#ifdef SHUNT_TEST_BLAS_WIDE
  return "TestBLAS 1.0 USE64BITINT";
#else
  return "TestBLAS 1.0";
#endif
}

int test_blas_threads() {
  return threads;
}
int test_blas_calls() {
  return calls;
}
/// The most calls that were under way at the same time.
int test_blas_most_inside() {
  return most_inside;
}
}
