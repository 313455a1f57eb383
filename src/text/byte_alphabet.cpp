#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace shunt::text {
namespace {

constexpr int kNoByte = -1;
constexpr std::size_t kLetters = 0x100 + 68;

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// The byte of each code point.
constexpr std::array<int, kLetters> make_bytes() {
  std::array<int, kLetters> bytes{};
  bytes.fill(kNoByte);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bytes[is_printable(byte) ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}
constexpr auto kByteOfCodePoint = make_bytes();
static_assert(kByteOfCodePoint[0x120] == ' ');

/// The code point of each byte.
constexpr std::array<char32_t, 256> make_code_points() {
  std::array<char32_t, 256> code_points{};
  for (std::size_t i = 0; i < kLetters; ++i) {
    if (kByteOfCodePoint[i] != kNoByte) {
      code_points[static_cast<std::size_t>(kByteOfCodePoint[i])] = static_cast<char32_t>(i);
    }
  }
  return code_points;
}
constexpr auto kCodePoints = make_code_points();

/// Appends the byte of the first character of `token` and removes the character; false if the
/// alphabet lacks it.
bool take_letter(std::string_view& token, std::string& bytes) {
  if (utf8_step(token).kind != Utf8Step::Kind::kCharacter) return false;
  const char32_t code_point = utf8_code_point(token);
  if (code_point >= kLetters || kByteOfCodePoint[code_point] == kNoByte) return false;
  bytes += static_cast<char>(kByteOfCodePoint[code_point]);
  token.remove_prefix(utf8_size(token));
  return true;
}

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    if (!take_letter(token, bytes)) return std::nullopt;
  }
  return bytes;
}

std::string alphabet_from_bytes(std::string_view bytes) {
  std::string token;
  for (const char byte : bytes) {
    const char32_t code_point = kCodePoints[static_cast<unsigned char>(byte)];
    if (code_point < 0x80) {
      token += static_cast<char>(code_point);
    } else {  // all are below U+0800: two bytes of UTF-8
      token += static_cast<char>(0xC0 | code_point >> 6);
      token += static_cast<char>(0x80 | (code_point & 0x3F));
    }
  }
  return token;
}

std::string bytes_from_alphabet_leniently(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    if (take_letter(token, bytes)) continue;
    const std::size_t size = utf8_step(token).size;
    bytes += token.substr(0, size);
    token.remove_prefix(size);
  }
  return bytes;
}

}  // namespace shunt::text
