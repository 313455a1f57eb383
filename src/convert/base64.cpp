#include "convert/base64.h"

#include <cstdint>

namespace shunt {

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kDigitBits = 6;
  constexpr unsigned kByteBits = 8;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * kDigitBits / kByteBits);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << kDigitBits) | static_cast<std::uint32_t>(digit);
    count += kDigitBits;
    if (count < kByteBits) continue;
    count -= kByteBits;
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> count)));
  }
  return bytes;
}

}  // namespace shunt
