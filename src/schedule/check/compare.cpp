#include "schedule/check/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/to_size.h"
#include "graph/tensor_values.h"

namespace shunt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The values of one row after the other.
class RowReader {
 public:
  RowReader(const Tensor& tensor, std::int64_t size)
      : dtype_(tensor.dtype), stride_(tensor.stride(0)), values_(to_size(size)) {}

  /// The row at `from`, valid until the next call.
  const std::vector<double>& read(const std::byte* from) {
    read_row(dtype_, from, stride_, values_);
    return values_;
  }

 private:
  DType dtype_;
  std::int64_t stride_;
  std::vector<double> values_;
};

class Comparison {
 public:
  explicit Comparison(bool integers) : integers_(integers) {}

  /// `counts`: whether the expected value belongs to the sum that the error is relative to.
  void add(double got, double expected, bool counts, const Sizes& at) {
    const double distance = distance_of(got, expected);
    if (first_ || distance > worst_) {
      worst_ = distance;
      difference_ = {.error = 0, .at = at, .got = got, .expected = expected};
    }
    first_ = false;
    if (integers_) {
      error_ += distance > 0 ? 1 : 0;
      norm_ += counts ? 1 : 0;
    } else {
      error_ += distance * distance;
      norm_ += counts && std::isfinite(expected) ? expected * expected : 0;
    }
  }

  static double distance_of(double got, double expected) {
    if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
    if (!std::isfinite(got) || !std::isfinite(expected)) return kInfinity;
    return std::abs(got - expected);
  }

  Difference take() {
    difference_.error = norm_ > 0 ? error_ / norm_ : error_;
    return difference_;
  }

 private:
  bool integers_;
  bool first_ = true;
  double error_ = 0;
  double norm_ = 0;
  double worst_ = 0;
  Difference difference_;
};

/// Some devices take numbers that are too small for a normal F32 for 0.
double without_denormals(double value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? 0 : value;
}

}  // namespace

Difference compare(const Tensor& tensor, const Sizes& sizes, const std::byte* got,
                   const std::byte* expected, const std::byte* before) {
  for (std::int64_t size : sizes) {
    if (size == 0) return {};
  }
  Comparison comparison(trait(tensor.dtype).integer);
  RowReader read_got(tensor, sizes[0]);
  RowReader read_expected(tensor, sizes[0]);
  RowReader read_before(tensor, sizes[0]);
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) {
        const std::int64_t offset =
            i1 * tensor.stride(1) + i2 * tensor.stride(2) + i3 * tensor.stride(3);
        const std::vector<double>& a = read_got.read(got + offset);
        const std::vector<double>& b = read_expected.read(expected + offset);
        const std::vector<double>* old =
            before != nullptr ? &read_before.read(before + offset) : nullptr;
        for (std::size_t i = 0; i < a.size(); ++i) {
          const bool counts = old == nullptr || Comparison::distance_of((*old)[i], b[i]) > 0;
          comparison.add(without_denormals(a[i]), without_denormals(b[i]), counts,
                         {static_cast<std::int64_t>(i), i1, i2, i3});
        }
      }
    }
  }
  return comparison.take();
}

}  // namespace shunt
