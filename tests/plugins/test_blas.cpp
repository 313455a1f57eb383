// A CBLAS library for tests: plain loops, and counters of its calls. A variant lacks a function or
// has sizes of 64 bits: SHUNT_TEST_BLAS_WITHOUT_SGEMM, SHUNT_TEST_BLAS_WITHOUT_THREADS,
// SHUNT_TEST_BLAS_WIDE. SHUNT_TEST_BLAS_OPENMP has the configuration of an OpenMP build.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

namespace {

std::atomic<int> threads = 8;
std::atomic<bool> running = true;
[[maybe_unused]] std::atomic<int> inside = 0;
std::atomic<int> most_inside = 0;
std::atomic<int> calls = 0;
std::atomic<int> callers = 0;
std::atomic<int> gathered = 0;

#ifndef SHUNT_TEST_BLAS_WITHOUT_SGEMM
/// Counts the calling thread the first time, and lets others call meanwhile: as many as
/// test_blas_gather() wants.
void enter() {
  static thread_local bool known = false;
  if (!known) {
    known = true;
    ++callers;
  }
  std::this_thread::yield();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (inside < gathered && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  gathered = 0;
}
#endif

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
  enter();
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
  running = true;  // OpenBLAS starts them again
}
int blas_thread_shutdown_() {
  running = false;
  return 0;
}
#endif

const char* openblas_get_config() {
#ifdef SHUNT_TEST_BLAS_WIDE
  return "TestBLAS 1.0 USE64BITINT";
#elif defined(SHUNT_TEST_BLAS_OPENMP)
  return "TestBLAS 1.0 USE_OPENMP";
#else
  return "TestBLAS 1.0";
#endif
}

int test_blas_threads() {
  return threads;
}
/// 1 while it has threads of its own.
int test_blas_running() {
  return running ? 1 : 0;
}
int test_blas_calls() {
  return calls;
}
/// How many threads have called it.
int test_blas_callers() {
  return callers;
}
/// Calls do not end until as many are under way, once, or 20 seconds have gone.
void test_blas_gather(int count) {
  gathered = count;
}
/// The most calls that were under way at the same time.
int test_blas_most_inside() {
  return most_inside;
}
}
