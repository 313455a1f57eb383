// A tensor in host memory, at the sizes of a run.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "shunt/tensor.h"

namespace shunt {

struct HostTensor {
  std::byte* data = nullptr;  ///< null: an optional source that is not given
  DType dtype = DType::kF32;
  Sizes sizes = {};
  std::array<std::int64_t, kMaxDims> strides = {};  ///< bytes

  const std::byte* row(std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
    return data + i1 * strides[1] + i2 * strides[2] + i3 * strides[3];
  }
  /// A row of matrix number `matrix`, counted along dimension 2 first.
  const std::byte* row(std::int64_t i1, std::int64_t matrix) const {
    return row(i1, matrix % sizes[2], matrix / sizes[2]);
  }
  /// The same for a result of type F32.
  float* floats(std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
    return reinterpret_cast<float*>(data + i1 * strides[1] + i2 * strides[2] + i3 * strides[3]);
  }
  /// Whether its elements follow each other without gaps, at these sizes.
  bool is_dense() const;
};

/// Whether there is no element of such sizes.
bool is_empty(const Sizes& sizes);

inline std::int64_t count_rows(const Sizes& sizes) {
  return sizes[1] * sizes[2] * sizes[3];
}

/// For a product in which each matrix of a source serves a group of adjacent matrices of the
/// result: the number of the source's matrix for number `matrix` of the result.
inline std::int64_t grouped_matrix(const Sizes& result, std::int64_t matrix, const Sizes& source) {
  const std::int64_t i2 = matrix % result[2];
  const std::int64_t i3 = matrix / result[2];
  return i3 / (result[3] / source[3]) * source[2] + i2 / (result[2] / source[2]);
}

/// The same for sources that are repeated along dimensions 2 and 3 of the result.
inline std::int64_t repeated_matrix(const Sizes& result, std::int64_t matrix, const Sizes& source) {
  return matrix / result[2] % source[3] * source[2] + matrix % result[2] % source[2];
}

/// Elements [element, element + elements) of rows [row, row + rows) of a matrix. In block types the
/// elements are whole blocks.
struct MatrixPart {
  std::int64_t element = 0;
  std::int64_t elements = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
};

/// Elements [begin, begin + n) of a row, as the type decodes them; `begin` a multiple of the type's
/// blocks.
void read_floats(const HostTensor& tensor, const std::byte* row, std::int64_t begin, std::int64_t n,
                 float* to);

/// Elements of row `row` of the first matrix from `begin` on, whole blocks, as the type encodes
/// them.
void write_floats(std::span<const float> from, const HostTensor& to, std::int64_t row,
                  std::int64_t begin);

/// An element of the first matrix of a tensor of type I32 or I64.
std::int64_t integer_at(const HostTensor& tensor, std::int64_t i0, std::int64_t i1);

/// A source repeated to larger sizes, all of it, dense.
void gather(const HostTensor& tensor, const Sizes& sizes, float* to);

/// A part of a matrix by its number, dense.
void gather(const HostTensor& tensor, std::int64_t matrix, const MatrixPart& part, float* to);

/// Copies dense numbers to the rows of an F32 tensor. Elements of a row are contiguous.
void scatter(const float* from, const HostTensor& to);

/// A part of a matrix by its number, transposed: element e of row r of the part is at
/// to[e * rows + r]. `scratch` has room for a row's elements.
void gather_transposed(const HostTensor& tensor, std::int64_t matrix, const MatrixPart& part,
                       float* scratch, float* to);
/// All matrices, transposed.
void gather_transposed(const HostTensor& tensor, float* scratch, float* to);

/// Whether a tensor has no gaps whatever the dynamic dimensions, although strides are those of the
/// maximum.
bool is_always_dense(const Tensor& tensor);

}  // namespace shunt
