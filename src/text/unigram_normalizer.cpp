#include "text/unigram_normalizer.h"

#include "text/sentencepiece_text.h"
#include "text/utf8.h"

namespace shunt::text {
namespace {

/// Takes the next character, or as many as a rule is for, off `text`.
std::string_view take_normalised(const Charsmap& charsmap, std::string_view& text) {
  Charsmap::Replacement next = charsmap.find(text);
  if (next.consumed == 0) {
    const std::size_t size = utf8_size(text);
    next = {text.substr(0, size), size};
  }
  text.remove_prefix(std::min(next.consumed, text.size()));
  return next.text;
}

void remove_space_symbols_at_end(std::string& text) {
  while (text.ends_with(kSpaceSymbol)) text.resize(text.size() - kSpaceSymbol.size());
}

}  // namespace

std::string UnigramNormalizer::normalise(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 2 + kSpaceSymbol.size());
  bool after_space = remove_extra_whitespaces;
  bool at_start = true;
  while (!text.empty()) {
    std::string_view piece = take_normalised(charsmap, text);
    while (after_space && piece.starts_with(' ')) piece.remove_prefix(1);
    if (piece.empty()) continue;
    if (at_start && add_space_prefix) result += kSpaceSymbol;
    at_start = false;
    append_with_space_symbols(piece, result);
    after_space = remove_extra_whitespaces && piece.ends_with(' ');
  }
  if (remove_extra_whitespaces) remove_space_symbols_at_end(result);
  return is_valid_utf8(result) ? result : sanitize_utf8(result).text;
}

}  // namespace shunt::text
