// A number as 8 bits: q = x / scale + offset, rounded and cut off.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/reals.h"
#include "dlfloat.h"
#include "include/zdnn.h"

namespace zdnn_twin {

struct Quantizer {
  double rec_scale, offset;
  std::int8_t lowest, highest;

  /// As the machine gets its parameters: as DLFLOAT16 numbers.
  static Quantizer of_machine(const zdnn_ztensor& tensor, std::int8_t lowest, std::int8_t highest) {
    return {as_dlf(tensor.rec_scale), as_dlf(tensor.offset), lowest, highest};
  }

  /// No number, and a scale of 0, can't be used.
  bool usable() const {
    return std::isfinite(rec_scale) && std::isfinite(offset) && rec_scale != 0;
  }

  /// Halves away from zero; NaN becomes the lowest.
  std::int8_t operator()(double x) const {
    const double q = twin::round_half_away(x * rec_scale + offset);
    if (!(q > lowest)) return lowest;
    return q < highest ? static_cast<std::int8_t>(q) : highest;
  }
};

}  // namespace zdnn_twin
