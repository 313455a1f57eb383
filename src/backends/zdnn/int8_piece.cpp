#include "backends/zdnn/int8_piece.h"

#include <algorithm>
#include <cmath>

namespace shunt::zdnn {

namespace {

constexpr float kLargestInt8 = 127;
/// The vendor's library may read as much beyond the end.
constexpr std::size_t kReadBeyond = 8;

}  // namespace

std::size_t quantize_bytes(const Dims& dims) {
  return static_cast<std::size_t>(dims.dim2) * sizeof(float) +
         static_cast<std::size_t>(dims.dim2 * dims.dim1) + kReadBeyond;
}

std::uint32_t quantize_transposed(const Symbols& zdnn, const HostTensor& from, std::int64_t row,
                                  std::int64_t begin, std::byte* work, Stick& to, LossyCost& cost) {
  const std::int64_t k = to.dims().dim2;
  const std::int64_t n = to.dims().dim1;
  auto* const floats = reinterpret_cast<float*>(work);
  auto* const numbers = reinterpret_cast<std::int8_t*>(floats + k);
  const auto each_row = [&](auto&& visit) {
    for (std::int64_t r = 0; r < n; ++r) {
      read_floats(from, from.row(row + r, 0, 0), begin, k, floats);
      visit(r);
    }
  };
  float largest = 0;
  bool finite = true;
  each_row([&](std::int64_t) {
    for (std::int64_t e = 0; e < k; ++e) {
      finite &= std::isfinite(floats[e]);
      largest = std::max(largest, std::fabs(floats[e]));
    }
  });
  if (!finite) return kConvertFailure;
  // Of numbers whose scale has no inverse the product is computed plainly, like of those that the
  // machine has not.
  const float scale = largest == 0 ? 1 : largest / kLargestInt8;
  if (!std::isnormal(scale) || !std::isnormal(1 / scale)) return kConvertFailure;
  to.set_scale(scale);
  each_row([&](std::int64_t r) {
    for (std::int64_t e = 0; e < k; ++e) {
      numbers[e * n + r] = static_cast<std::int8_t>(std::lround(floats[e] / scale));
    }
  });
  to.get()->is_transformed = false;
  const std::uint32_t status =
      zdnn.transform_quantized_ztensor(to.get(), false, -128, 127, numbers);
  if (status != kOk) return status;
  each_row([&](std::int64_t r) {
    for (std::int64_t e = 0; e < k; ++e) {
      const double value = floats[e];
      const double off = value - static_cast<double>(int8_value(to, e, r));
      cost.squares += value * value;
      cost.squared_error += off * off;
    }
  });
  return kOk;
}

}  // namespace shunt::zdnn
