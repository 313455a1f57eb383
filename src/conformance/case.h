// A test case of an op: parameters, sources and the largest allowed error.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shunt/graph.h"

namespace shunt {

/// The values of a source.
enum class Fill : std::uint8_t {
  kNormal,       ///< standard normal
  kUniform,      ///< uniform in [low, high)
  kIndex,        ///< integers uniform in [low, high), may repeat
  kPermutation,  ///< distinct integers from [low, high)
  kCausalMask,   ///< 0 or minus infinity; every row has at least one 0
  kValues,       ///< those given
};

/// One source of a test case: a contiguous tensor of `dtype` and `sizes`, then a strided view of
/// it. `permute` names the dimensions in their new order (identity by default). `slice` drops that
/// many elements at the start of each permuted dimension.
struct CaseSource {
  DType dtype = DType::kF32;
  Sizes sizes = {1, 1, 1, 1};  ///< before permuting and slicing
  Fill fill = Fill::kNormal;
  double low = 0;
  double high = 1;
  std::array<int, kMaxDims> permute = {0, 1, 2, 3};
  Sizes slice = {0, 0, 0, 0};
  bool given = true;                ///< false: an optional source that is left out
  std::vector<double> values = {};  ///< of kValues: as many as `sizes` has elements
};

/// One test case of an op.
struct Case {
  std::string name;  ///< unique within the op: "F32 [7, 3] eps=0.1"
  Params params;
  std::vector<CaseSource> sources;
  /// Largest normalised mean square error against the reference; the default is for sums of F32
  /// products.
  double max_error = 1e-10;
};

/// Receives each case of an op.
using CaseSink = std::function<void(Case)>;

}  // namespace shunt
