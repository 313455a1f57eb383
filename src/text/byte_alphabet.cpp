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

/// The byte that each code point stands for.
constexpr std::array<int, kLetters> make_bytes() {
  std::array<int, kLetters> bytes{};
  bytes.fill(kNoByte);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bytes[is_printable(byte) ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}
constexpr auto kBytes = make_bytes();
static_assert(kBytes[0x120] == ' ');

/// Appends what the first character of `token` writes and removes it; false if it is no letter.
bool take_letter(std::string_view& token, std::string& bytes) {
  if (utf8_step(token).kind != Utf8Step::Kind::kCharacter) return false;
  const char32_t code_point = utf8_code_point(token);
  if (code_point >= kLetters || kBytes[code_point] == kNoByte) return false;
  bytes += static_cast<char>(kBytes[code_point]);
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
