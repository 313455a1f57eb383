#include "ascend/ops/products/sums.h"

#include "ascend/numbers/numbers.h"

namespace ascend_twin {
namespace {

/// Eight partial sums, added in one order: independent of the vector width of the host.
constexpr std::int64_t kLanes = 8;

template <class Sum>
Sum dot(const float* a, const float* b, std::int64_t k) {
  Sum lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= k; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += static_cast<Sum>(a[i + lane]) * static_cast<Sum>(b[i + lane]);
    }
  }
  Sum sum = 0;
  for (; i < k; ++i) sum += static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
  for (const Sum lane : lanes) sum += lane;
  return sum;
}

float dot_in_half(const float* a, const float* b, std::int64_t k) {
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    sum = value_of_half(half_of(sum + static_cast<double>(a[i]) * static_cast<double>(b[i])));
  }
  return static_cast<float>(sum);
}

}  // namespace

void multiply(const float* a, const float* b, std::int64_t m, std::int64_t n, std::int64_t k,
              float* result) {
  const auto how = setting_as<Accumulate>(Setting::kAccumulate);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float* const row = a + i * k;
      const float* const column = b + j * k;
      result[i * n + j] = how == Accumulate::kSingle ? dot<float>(row, column, k)
                          : how == Accumulate::kDouble
                              ? static_cast<float>(dot<double>(row, column, k))
                              : dot_in_half(row, column, k);
    }
  }
}

std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows,
                              std::int64_t columns) {
  std::vector<float> result(values.size());
  const auto each = static_cast<std::size_t>(rows * columns);
  for (std::size_t base = 0; base < values.size(); base += each) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        result[base + static_cast<std::size_t>(j * rows + i)] =
            values[base + static_cast<std::size_t>(i * columns + j)];
      }
    }
  }
  return result;
}

}  // namespace ascend_twin
