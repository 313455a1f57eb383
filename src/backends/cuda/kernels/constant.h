// A number as the bytes of an element.
#pragma once

#include <cstring>

#include "backends/cuda/gpu/shared.h"
#include "shunt/tensor.h"

namespace shunt::cuda {

/// `value`, converted to a plain type as cpy() does.
inline gpu::u64 constant_bits(float value, DType type) {
  std::byte bytes[sizeof(gpu::u64)] = {};
  trait(type).encode(&value, bytes, 1);
  gpu::u64 bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

}  // namespace shunt::cuda
