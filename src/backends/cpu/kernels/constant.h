// Rows of one number, of any plain type.
#pragma once

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// A number as an element of a plain type.
class Constant {
 public:
  Constant(float value, DType dtype) : width_(trait(dtype).block_bytes) {
    trait(dtype).encode(&value, element_, 1);
  }
  /// Writes it to elements [first, first + count) of a row that is contiguous.
  void write(std::byte* row, std::int64_t first, std::int64_t count) const {
    const auto width = static_cast<std::int64_t>(width_);
    copy_elements(element_, 0, row + first * width, width, width_, count);
  }

 private:
  std::size_t width_;
  alignas(8) std::byte element_[8] = {};
};

}  // namespace shunt::cpu
