// Quantising: a GGUF file made again with weights of other types.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/quantize_plan.h"
#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt {

/// All tensors of one type in the new file.
struct TypeSummary {
  DType dtype = DType::kF32;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  double error_squares = 0;  ///< sum over all that were converted: (new - old)^2
  double squares = 0;        ///< old^2

  /// Root mean square error relative to that of the values; 0 if nothing was converted.
  double error() const;
};

struct QuantizeResult {
  std::uint64_t bytes_before = 0;  ///< of tensors' data
  std::uint64_t bytes_after = 0;
  std::vector<TypeSummary> types;  ///< largest first
};

/// Called now and then with bytes of the new file done and in all. An error ends it.
using QuantizeProgress = std::function<Status(std::uint64_t done, std::uint64_t total)>;

/// Writes `file` to `path` as planned, by way of a temporary file. Metadata stay, but for those
/// about parts, types and importance. Rows are shared by threads; the bytes are the same for any
/// number of them. Takes memory for some rows, not for the model. Invalid if `path` is a part of
/// `file`, or, naming tensor and place, for a value that is not finite or too large for its type.
Result<QuantizeResult> write_quantized(const std::string& path, const gguf::File& file,
                                       const QuantizationPlan& plan, const QuantizeOptions& options,
                                       const QuantizeProgress& progress = {});

}  // namespace shunt
