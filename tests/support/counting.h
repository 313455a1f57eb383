// Bytes that differ from their neighbours and from those 256 further on: a byte that a copy puts in
// another place is noticed.
#pragma once

#include <cstddef>
#include <vector>

namespace shunt::test {

inline std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

}  // namespace shunt::test
