#include "text/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "text/utf8.h"

namespace shunt::text {
namespace {

// Characters below this are starters that nothing before them composes with, and are composed.
constexpr char32_t kFirstMark = 0x300;
constexpr unsigned char kFirstByteOfMarks = 0xCC;

std::uint64_t combining_class(char32_t code_point) {
  return static_cast<std::uint64_t>(
      utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class);
}

/// Sorts by class; marks of one class stay in order.
void order_run(std::span<char32_t> marks) {
  constexpr int kCharacterBits = 21;
  constexpr int kClassShift = 56;
  std::vector<std::uint64_t> keys;
  keys.reserve(marks.size());
  for (const char32_t mark : marks) {
    keys.push_back(combining_class(mark) << kClassShift |
                   std::uint64_t{keys.size()} << kCharacterBits | mark);
  }
  std::ranges::sort(keys);
  std::ranges::transform(keys, marks.begin(), [](std::uint64_t key) {
    return static_cast<char32_t>(key & ((1u << kCharacterBits) - 1));
  });
}

/// Appends `characters` composed, and clears it.
void compose(std::u32string& characters, std::string& text) {
  order_marks(characters);
  constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  static_assert(sizeof(char32_t) == sizeof(utf8proc_int32_t));
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(reinterpret_cast<utf8proc_int32_t*>(characters.data()),
                               static_cast<utf8proc_ssize_t>(characters.size()), kCompose);
  if (size >= 0) characters.resize(static_cast<std::size_t>(size));
  for (const char32_t c : characters) append_utf8(c, text);
  characters.clear();
}

}  // namespace

void append_decomposed(char32_t code_point, std::u32string& text) {
  if (code_point < 0xC0) {
    text += code_point;
    return;
  }
  std::array<utf8proc_int32_t, 16> parts{};
  int boundary = 0;
  constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), kDecompose, &boundary);
  if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) {
    text += code_point;  // not a character
    return;
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    text += static_cast<char32_t>(parts[static_cast<std::size_t>(i)]);
  }
}

void order_marks(std::u32string& text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] < kFirstMark || combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && combining_class(text[end]) != 0) ++end;
    order_run(std::span(text).subspan(i, end - i));
    i = end;
  }
}

bool may_need_nfc(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) >= kFirstByteOfMarks; });
}

std::string to_nfc(std::string_view text) {
  if (!may_need_nfc(text)) return std::string(text);
  constexpr std::size_t kAtATime = 1024;
  std::string result;
  result.reserve(text.size());
  std::u32string characters;
  while (!text.empty()) {
    const char32_t c = utf8_code_point(text);
    text.remove_prefix(utf8_size(text));
    if (c < kFirstMark && characters.size() >= kAtATime) compose(characters, result);
    append_decomposed(c, characters);
  }
  compose(characters, result);
  return result;
}

}  // namespace shunt::text
