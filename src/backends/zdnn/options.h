// The options of zDNN: "zdnn.out_of_range".
#pragma once

#include <cstdint>
#include <span>

#include "shunt/registry.h"

namespace shunt::zdnn {

/// The treatment of finite numbers that DLFLOAT16 does not have (beyond 8.57e9). Either way they
/// are counted, by node (Device::warnings()).
enum class OutOfRange : std::uint8_t {
  kSaturate,  ///< they become the largest one of their sign
  kExact,     ///< an operation that meets them is computed by its plain meaning, on the host
};

std::span<const BackendOption> option_table();
/// Of options whose settings were checked.
OutOfRange parse_out_of_range(const Options& options);

}  // namespace shunt::zdnn
