// Parts of weights as 8-bit numbers with one scale, symmetric about 0, transposed.
#pragma once

#include <cstdint>
#include <optional>

#include "backend_support/host_tensor.h"
#include "shunt/device.h"

namespace shunt {

/// The largest of these numbers, of either sign.
inline constexpr std::int8_t kLargestInt8 = 127;

/// Quantizes a part and returns its scale. Element e of row r, divided by the scale and rounded, is
/// at to[e * rows + r]. `row` has room for a row's elements. Nothing if a number is not finite, or
/// if the scale is not a normal number.
std::optional<float> quantize_int8(const HostTensor& from, const MatrixPart& part, float* row,
                                   std::int8_t* to);

/// Adds the error of a part of the first matrix to `cost`. value(e, r) is the device's number for
/// element e of row r.
template <class Value>
void add_lossy_cost(const HostTensor& from, const MatrixPart& part, float* row, const Value& value,
                    LossyCost& cost) {
  for (std::int64_t r = 0; r < part.rows; ++r) {
    read_floats(from, from.row(part.row + r, 0, 0), part.element, part.elements, row);
    for (std::int64_t e = 0; e < part.elements; ++e) {
      const double exact = row[e];
      const double off = exact - static_cast<double>(value(e, r));
      cost.squares += exact * exact;
      cost.squared_error += off * off;
    }
  }
}

}  // namespace shunt
