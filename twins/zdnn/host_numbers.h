// Numbers of the host's types in its own memory, in its own order of bytes, at any address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dlfloat.h"
#include "include/zdnn.h"

namespace zdnn_twin {

template <class Number>
Number load(const void* from, std::uint64_t byte = 0) {
  Number number;
  std::memcpy(&number, static_cast<const std::byte*>(from) + byte, sizeof number);
  return number;
}

template <class Number>
void store(void* to, std::uint64_t byte, Number number) {
  std::memcpy(static_cast<std::byte*>(to) + byte, &number, sizeof number);
}

/// The index-th number of FP32, FP16 or BFLOAT data as DLFLOAT16. Saturated: numbers beyond its
/// largest become that.
inline Converted dlf_of_host(zdnn_data_types type, const void* data, std::uint64_t index,
                             bool saturated = false) {
  if (type == FP16) return dlf_from_fp16(load<std::uint16_t>(data, 2 * index));
  std::uint32_t pattern = type == FP32 ? load<std::uint32_t>(data, 4 * index)
                                       : std::uint32_t{load<std::uint16_t>(data, 2 * index)} << 16;
  return dlf_from_fp32(saturated ? fp32_saturated(pattern) : pattern);
}

/// Stores a DLFLOAT16 number as the index-th of FP32, FP16 or BFLOAT data.
inline Odd dlf_to_host(zdnn_data_types type, std::uint16_t dlf, void* data, std::uint64_t index) {
  const Odd ninf = (dlf & kDlfMagnitude) == kNinf ? Odd::kNotANumber : Odd::kNothing;
  if (type == FP32) {
    store(data, 4 * index, fp32_from_dlf(dlf));
    return ninf;
  }
  if (type == BFLOAT) {
    store(data, 2 * index, bfloat_from_dlf(dlf));
    return ninf;
  }
  const Converted half = fp16_from_dlf(dlf);
  store(data, 2 * index, half.pattern);
  return half.odd;
}

}  // namespace zdnn_twin
