// Tensors between memory, with any type and strides, and the reference's doubles.
#pragma once

#include <cstddef>
#include <span>

#include "graph/op.h"

namespace shunt {

/// The values of a row of whole blocks, of which each starts `stride` bytes after the one before
/// it. Integers of up to 53 bits and F64 exactly, all others as their type decodes them.
void read_row(DType dtype, const std::byte* from, std::int64_t stride, std::span<double> to);

/// The values of a tensor at its actual sizes, as stored at `data`.
RefTensor read_tensor(const std::byte* data, const Tensor& tensor, const Sizes& sizes);
/// Writes values, converted to the tensor's type, to their places; other bytes are not changed.
/// Where a type takes weights to be encoded, all values weigh the same.
void write_tensor(const RefTensor& values, const Tensor& tensor, std::byte* data);
/// Writes values, contiguous, as bytes of a type.
std::vector<std::byte> to_bytes(const RefTensor& values, DType dtype);
/// Values after write_tensor and read_tensor: rounded to the type.
RefTensor rounded(const RefTensor& values, DType dtype);

/// Normalised mean square error: sum (a - b)^2 / sum b^2 over all elements. Where b is zero all
/// over, the sum of squares itself. Numbers too small for a normal F32 count as 0. Elements that
/// are the same infinity, or both not a number, count as equal; if only one is, infinity. `before`
/// is the content of the same memory before b was written there, if there was any. Elements that b
/// leaves as they were add to the first sum only, and so make no error smaller.
double nmse(const RefTensor& a, const RefTensor& b, const RefTensor* before = nullptr);

}  // namespace shunt
