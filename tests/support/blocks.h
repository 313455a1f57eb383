// Encoding and decoding whole rows by a type's trait, in vectors of exactly their size.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shunt/tensor.h"

namespace shunt::test {

/// Where the type needs weights and there are none: all alike.
inline std::vector<std::byte> encode(DType dtype, const std::vector<float>& values,
                                     std::vector<float> weights = {}) {
  const DTypeTrait& type = trait(dtype);
  std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(type.block_elements) *
                               type.block_bytes);
  const auto n = static_cast<std::int64_t>(values.size());
  if (type.needs_weights() && weights.empty()) weights.assign(values.size(), 1.0f);
  if (weights.empty()) {
    type.encode(values.data(), bytes.data(), n);
  } else {
    type.encode_weighted(values.data(), weights.data(), bytes.data(), n);
  }
  return bytes;
}

inline std::vector<float> decode(DType dtype, std::span<const std::byte> bytes) {
  const DTypeTrait& type = trait(dtype);
  std::vector<float> values(bytes.size() / type.block_bytes *
                            static_cast<std::size_t>(type.block_elements));
  type.decode(bytes.data(), values.data(), static_cast<std::int64_t>(values.size()));
  return values;
}

}  // namespace shunt::test
