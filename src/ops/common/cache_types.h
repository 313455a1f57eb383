// What caches of keys and values may be: what set_rows writes, and attention reads.
#pragma once

#include <array>

#include "shunt/tensor.h"

namespace shunt {

inline constexpr std::array kCacheTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0,
                                           DType::kQ4_0};

}  // namespace shunt
