// Tensors between memory, with any type and strides, and the reference's doubles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/op.h"

namespace shunt::test {

/// The values of a tensor at its actual sizes, as they lie at `data`.
RefTensor read_tensor(const std::byte* data, const Tensor& tensor, const Sizes& sizes);
/// Writes values, converted to the tensor's type, to where they belong; other bytes are left alone.
void write_tensor(const RefTensor& values, const Tensor& tensor, std::byte* data);
/// What write_tensor and read_tensor make of values: rounded to the type.
RefTensor rounded(const RefTensor& values, DType dtype);
/// Values for a source of a test case, contiguous, as its fill says; the same seed gives the same.
RefTensor make_values(const CaseSource& source, std::uint64_t seed);
/// The same as the bytes of a tensor: for what is decoded and must be the same again. Blocks of
/// formats that take long to encode are drawn from some that were made before.
std::vector<std::byte> make_bytes(const CaseSource& source, std::uint64_t seed);
/// Normalised mean square error: sum (a - b)^2 / sum b^2 over all elements. Where b is zero all
/// over, the sum of squares itself. Numbers too small for a normal F32 count as 0. Elements that
/// are the same infinity, or both not a number, count as equal; if only one is, infinity.
double nmse(const RefTensor& a, const RefTensor& b);

}  // namespace shunt::test
