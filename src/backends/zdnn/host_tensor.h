// Tensors in plain memory, at the sizes of a run, and how numbers get out of them.
#pragma once

#include <span>
#include <vector>

#include "backends/zdnn/stick.h"

namespace shunt::zdnn {

/// Types whose numbers the library transforms itself, if they follow each other.
inline bool is_host_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

struct HostTensor {
  std::byte* data = nullptr;  ///< null: none
  DType dtype = DType::kF32;
  Sizes sizes = {};
  std::array<std::int64_t, kMaxDims> strides = {};

  const std::byte* row(std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
    return data + i1 * strides[1] + i2 * strides[2] + i3 * strides[3];
  }
  /// Whether its elements follow each other without gaps, at these sizes.
  bool is_dense() const;
};

/// Elements [begin, begin + n) of a row, as the type decodes them; `begin` a multiple of the type's
/// blocks.
void read_floats(const HostTensor& tensor, const std::byte* row, std::int64_t begin, std::int64_t n,
                 float* to);

/// How numbers are, beside those that DLFLOAT16 has.
enum class Range : std::uint8_t {
  kInside,
  kSaturated,  ///< some were finite and beyond, and are now the largest one of their sign
  kBeyond,
};
/// `saturate`: whether finite ones become the largest one. Infinite ones, and what is no number,
/// stay what they are.
Range range_of(std::span<float> values, bool saturate);

/// A source repeated to larger sizes, all of it, dense.
void gather(const HostTensor& tensor, const Sizes& sizes, float* to);

/// Rows [row, row + rows) of one matrix, elements [begin, begin + n) of each, transposed: element e
/// of row r is at to[e * rows + r]. `scratch` has room for a row's n.
void gather_transposed(const HostTensor& tensor, std::int64_t i2, std::int64_t i3, std::int64_t row,
                       std::int64_t rows, std::int64_t begin, std::int64_t n, float* scratch,
                       float* to);

}  // namespace shunt::zdnn
