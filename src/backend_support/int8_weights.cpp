#include "backend_support/int8_weights.h"

#include <algorithm>
#include <cmath>

namespace shunt {

std::optional<float> quantize_int8(const HostTensor& from, const MatrixPart& part, float* row,
                                   std::int8_t* to) {
  const auto read = [&](std::int64_t r) {
    read_floats(from, from.row(part.row + r, 0, 0), part.element, part.elements, row);
  };
  float largest = 0;
  bool finite = true;
  for (std::int64_t r = 0; r < part.rows; ++r) {
    read(r);
    for (std::int64_t e = 0; e < part.elements; ++e) {
      finite &= std::isfinite(row[e]);
      largest = std::max(largest, std::fabs(row[e]));
    }
  }
  if (!finite) return {};
  const float scale = largest == 0 ? 1 : largest / kLargestInt8;
  // The inverse of a normal scale is normal: the scale is at most the largest F32 number / 127.
  if (!std::isnormal(scale)) return {};
  for (std::int64_t r = 0; r < part.rows; ++r) {
    read(r);
    for (std::int64_t e = 0; e < part.elements; ++e) {
      to[e * part.rows + r] = static_cast<std::int8_t>(std::lround(row[e] / scale));
    }
  }
  return scale;
}

}  // namespace shunt
