// What the kinds of tokenizers made by SentencePiece have in common: spaces are U+2581, and bytes
// of characters that the vocabulary lacks are tokens "<0xXX>". Kudo and Richardson,
// "SentencePiece" (2018); github.com/google/sentencepiece.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/text.h"

namespace shunt::text {

inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

/// Whether tokens of this kind of vocabulary have U+2581 for spaces.
bool has_space_symbols(const Vocabulary& vocabulary);

/// Appends `text` with U+2581 for spaces.
void append_with_space_symbols(std::string_view text, std::string& result);
/// `text` with spaces for U+2581.
std::string with_spaces(std::string_view text);

/// The tokens of single bytes, and what becomes of characters that have no token.
class ByteTokens {
 public:
  /// Invalid argument, naming the token, for a byte token that names no byte.
  static Result<ByteTokens> create(const Vocabulary& vocabulary);

  /// Appends the ids of a character without a token: those of its bytes, or the unknown token, once
  /// for a run of such characters. `after_unknown` carries that from one character to the next.
  /// Unsupported if the vocabulary has neither.
  Status append(std::string_view character, bool& after_unknown,
                std::vector<std::int32_t>& ids) const;

  /// The text of a normal or byte token.
  static std::string bytes(const Token& token);

 private:
  std::array<std::int32_t, 256> ids_{};
  std::optional<std::int32_t> unknown_;
};

}  // namespace shunt::text
