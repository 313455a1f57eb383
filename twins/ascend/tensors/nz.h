// FRACTAL_NZ: matrices in fractals of 16 rows and 32 bytes, "Z" inside a fractal and "N" between
// fractals, zeros where they do not fit (facts 5.4).
#pragma once

#include <cstdint>
#include <string>

#include "ascend/tensors/view.h"

namespace ascend_twin {

/// Elements of 32 bytes: 16 of F16, 32 of INT8, 64 of INT4, 8 of F32.
inline std::int64_t nz_columns(aclDataType type) {
  return 256 / static_cast<std::int64_t>(bits_of(type));
}
/// Elements of the last two dimensions, rounded up to fractals.
std::int64_t nz_elements(aclDataType type, std::int64_t rows, std::int64_t columns);
std::int64_t nz_place(aclDataType type, std::int64_t rows, std::int64_t row, std::int64_t column);

/// The matrix that is stored under an NZ view. Strides (1, K) mean the matrix [N][K], used
/// transposed.
struct NzMatrix {
  std::int64_t rows = 1, columns = 1;
  std::int64_t batches = 1;
  bool is_transposed = false;
};
NzMatrix nz_matrix(const View& view);
std::int64_t nz_place_of(const View& view, std::int64_t number);
/// Elements of memory from the view's offset, padding included.
std::int64_t nz_span(const View& view);
/// The shape of the memory: [..., columns / C0, rows / 16, 16, C0] of a matrix [..., rows,
/// columns].
Shape nz_storage(aclDataType type, const Shape& shape);
/// Why the view is not a whole tensor in NZ, "which begins inside of it"; empty if it is.
std::string nz_fault(const View& view);

}  // namespace ascend_twin
