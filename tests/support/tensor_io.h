// The functions for tensors' values that tests need, under the names of the tests.
#pragma once

#include <cstddef>
#include <vector>

#include "conformance/case_data.h"
#include "graph/tensor_values.h"

namespace shunt::test {

using shunt::make_bytes;
using shunt::make_values;
using shunt::nmse;
using shunt::read_tensor;
using shunt::rounded;
using shunt::write_tensor;

/// make_values() of that type and these sizes, made once for all tests: quantizing takes longer
/// than the tests with them.
const RefTensor& kept_values(DType type, const Sizes& sizes, std::uint64_t seed);

/// What write_tensor() writes. For quantized types it is kept for the next tests with the same
/// values: quantizing takes longer than most tests. Any thread may call it.
std::vector<std::byte> tensor_bytes(const RefTensor& values, const Tensor& tensor);

}  // namespace shunt::test
