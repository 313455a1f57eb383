// The types that caches of keys and values may have: set_rows writes them, and attention reads
// them.
#pragma once

#include <array>

#include "shunt/tensor.h"

namespace shunt {

inline constexpr std::array kCacheTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0,
                                           DType::kQ4_0};

}  // namespace shunt
