// Normal forms of Unicode (Unicode Standard Annex 15), with utf8proc's tables. Time O(n log n) for
// any text.
#pragma once

#include <string>
#include <string_view>

namespace shunt::text {

/// Appends the canonical decomposition of a code point; marks are not in order yet.
void append_decomposed(char32_t code_point, std::u32string& text);

/// Puts runs of combining marks into canonical order.
void order_marks(std::u32string& text);

/// Valid UTF-8 in the normal form NFC.
std::string to_nfc(std::string_view text);

/// Whether to_nfc() may change this valid UTF-8.
bool may_need_nfc(std::string_view text);

}  // namespace shunt::text
