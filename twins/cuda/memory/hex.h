// Addresses in messages.
#pragma once

#include <cstdint>
#include <string>

namespace cuda_twin {

/// As C writes it, such as 0x1f.
inline std::string in_hex(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

}  // namespace cuda_twin
