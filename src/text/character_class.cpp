#include "text/character_class.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/after_unicode_8.h"

namespace shunt::text {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

constexpr CodePointRange kWhiteSpace[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};
// github.com/google-research/bert, tokenization.py, _is_chinese_char; the last but one starts 256
// characters later in the package tokenizers, which models are used with.
constexpr CodePointRange kBertIdeographs[] = {
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
    {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
};

// Their categories changed after Unicode 8.
constexpr char32_t kCanadianChiSign = 0x166D;
constexpr char32_t kHanunooPamudpod = 0x1734;
constexpr char32_t kSharadaSandhiMark = 0x111C9;

template <class Ranges>
bool is_in(const Ranges& ranges, char32_t c) {
  return std::ranges::any_of(
      ranges, [&](const CodePointRange& range) { return c >= range.first && c <= range.last; });
}

}  // namespace

bool is_white_space(char32_t c) {
  return is_in(kWhiteSpace, c);
}

bool is_word_character(char32_t c) {
  const utf8proc_category_t found = category(c);
  const bool letter_or_mark = found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_ME;
  return letter_or_mark || found == UTF8PROC_CATEGORY_ND || found == UTF8PROC_CATEGORY_PC;
}

bool is_bert_punctuation(char32_t c) {
  const utf8proc_category_t found = category(c);
  const bool is = found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO;
  return (is && !is_in(kAfterUnicode8, c)) || c == kCanadianChiSign || c == kSharadaSandhiMark;
}

bool is_bert_accent(char32_t c) {
  const bool is = category(c) == UTF8PROC_CATEGORY_MN || c == kHanunooPamudpod;
  return is && c != kSharadaSandhiMark && !is_in(kAfterUnicode8, c);
}

bool is_bert_control(char32_t c) {
  const utf8proc_category_t found = category(c);
  const bool is = found == UTF8PROC_CATEGORY_CC || found == UTF8PROC_CATEGORY_CF ||
                  found == UTF8PROC_CATEGORY_CO;
  return is && !is_in(kAfterUnicode8, c);
}

bool is_bert_ideograph(char32_t c) {
  return is_in(kBertIdeographs, c);
}

char32_t to_lower_case(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

}  // namespace shunt::text
