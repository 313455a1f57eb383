// Numbers and names that the file format fixes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shunt::gguf {

inline constexpr std::string_view kMagic = "GGUF";
/// The bytes that some programs write at the start of big-endian files; others write kMagic there,
/// too.
inline constexpr std::string_view kBigEndianMagic = "FUGG";
inline constexpr std::uint32_t kDefaultAlignment = 32;
inline constexpr std::string_view kAlignmentKey = "general.alignment";

/// The format says 64, which not every writer heeds. No writer gives longer names than this on
/// purpose.
inline constexpr std::size_t kMaxNameBytes = std::size_t{1} << 20;

/// The condition for an alignment.
constexpr bool is_alignment(std::uint64_t value) {
  return value >= 8 && (value & (value - 1)) == 0;
}

/// `value` rounded up to a multiple of `alignment`, a power of two; the sum must fit.
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace shunt::gguf
