// Writing a quantised file whose tensors need not be in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shunt/quantize.h"

namespace shunt {

/// Gives `count` rows of a tensor, from `first` on, in the byte order of its description. They stay
/// until the next call.
using TensorRows = std::function<Result<std::span<const std::byte>>(
    const gguf::TensorInfo& info, std::int64_t first, std::int64_t count)>;

/// As write_quantized(), with the data of tensors from `rows`. Called for one tensor after the
/// other, in the order of the plan. Invalid if one of the files `read` would be written.
Result<QuantizeResult> write_quantized_rows(const std::string& path, const gguf::File& file,
                                            const QuantizationPlan& plan,
                                            const QuantizeOptions& options,
                                            const QuantizeProgress& progress,
                                            const TensorRows& rows,
                                            std::span<const std::string> read);

}  // namespace shunt
