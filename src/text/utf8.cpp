#include "text/utf8.h"

#include <algorithm>
#include <array>

#include "shunt/text.h"

namespace shunt::text {
namespace {

// Well-Formed UTF-8 Byte Sequences (the Unicode standard, table 3-7): a range of first bytes, how
// many follow, and the range of the second byte; all later ones are 80 to BF.
struct Row {
  unsigned char first_low, first_high;
  unsigned char following;
  unsigned char second_low, second_high;
};
constexpr std::array<Row, 9> kWellFormed = {{
    {0x00, 0x7F, 0, 0x00, 0x00},
    {0xC2, 0xDF, 1, 0x80, 0xBF},
    {0xE0, 0xE0, 2, 0xA0, 0xBF},
    {0xE1, 0xEC, 2, 0x80, 0xBF},
    {0xED, 0xED, 2, 0x80, 0x9F},
    {0xEE, 0xEF, 2, 0x80, 0xBF},
    {0xF0, 0xF0, 3, 0x90, 0xBF},
    {0xF1, 0xF3, 3, 0x80, 0xBF},
    {0xF4, 0xF4, 3, 0x80, 0x8F},
}};

unsigned char byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

const Row* find_row(unsigned char first) {
  for (const Row& row : kWellFormed) {
    if (first >= row.first_low && first <= row.first_high) return &row;
  }
  return nullptr;
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  const Row* row = find_row(byte_at(bytes, 0));
  if (row == nullptr) return {Kind::kIllFormed, 1};
  for (std::size_t i = 1; i <= row->following; ++i) {
    if (i == bytes.size()) return {Kind::kIncomplete, i};
    const unsigned char low = i == 1 ? row->second_low : 0x80;
    const unsigned char high = i == 1 ? row->second_high : 0xBF;
    if (byte_at(bytes, i) < low || byte_at(bytes, i) > high) return {Kind::kIllFormed, i};
  }
  return {Kind::kCharacter, row->following + std::size_t{1}};
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto* other = std::find_if(bytes.begin(), bytes.end(),
                                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    bytes.remove_prefix(static_cast<std::size_t>(other - bytes.begin()));
    if (bytes.empty()) break;
    const Utf8Step step = utf8_step(bytes);
    if (step.kind != Utf8Step::Kind::kCharacter) return false;
    bytes.remove_prefix(step.size);
  }
  return true;
}

void take_complete_utf8(std::string& pending, std::string& text) {
  std::string_view rest = pending;
  while (!rest.empty()) {
    const Utf8Step step = utf8_step(rest);
    if (step.kind == Utf8Step::Kind::kIncomplete) break;
    text +=
        step.kind == Utf8Step::Kind::kCharacter ? rest.substr(0, step.size) : kReplacementCharacter;
    rest.remove_prefix(step.size);
  }
  pending.erase(0, pending.size() - rest.size());
}

std::size_t utf8_size(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

char32_t utf8_code_point(std::string_view text) {
  const std::size_t size = utf8_size(text);
  if (size == 1) return byte_at(text, 0);
  // A first byte has 7 - size bits of the code point, each later one 6.
  char32_t code_point = byte_at(text, 0) & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) code_point = code_point << 6 | (byte_at(text, i) & 0x3Fu);
  return code_point;
}

void append_utf8(char32_t code_point, std::string& text) {
  const auto following = [&](int shift) {
    text += static_cast<char>(0x80 | (code_point >> shift & 0x3F));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
    return;
  }
  if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | code_point >> 12);
    following(6);
  } else {
    text += static_cast<char>(0xF0 | code_point >> 18);
    following(12);
    following(6);
  }
  following(0);
}

SanitizedText sanitize_utf8(std::string_view text) {
  SanitizedText result;
  if (is_valid_utf8(text)) {
    result.text = text;
    return result;
  }
  std::string pending(text);
  take_complete_utf8(pending, result.text);
  if (!pending.empty()) result.text += kReplacementCharacter;
  result.changed = true;
  return result;
}

}  // namespace shunt::text
