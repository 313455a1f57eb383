// BPE over characters, spaces as U+2581, as SentencePiece does it and models after it. A text is
// cut where no token could reach across: two characters that are neighbours in no token never
// become one, so that both sides merge alone. That bounds memory, and makes words that come again
// cheap.
#pragma once

#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shunt/text.h"
#include "text/merge.h"
#include "text/neighbours.h"
#include "text/sentencepiece_text.h"

namespace shunt::text {

class CharacterBpe {
 public:
  /// Of no token and no merge yet.
  CharacterBpe(const Vocabulary& vocabulary, const ByteTokens& byte_tokens);

  /// A symbol whose merges are to be added; `text` must be valid UTF-8 and not empty.
  void add_token(std::string_view text, std::int32_t id);
  /// The symbol of a character; one of its own if there is no such token.
  std::int32_t character_symbol(char32_t character);
  void add_merge(std::int32_t left, std::int32_t right, Merge merge);

  /// Appends the ids of `text`, with a space in front if `add_space`.
  Status encode(std::string_view text, bool add_space, std::vector<std::int32_t>& ids) const;

 private:
  static constexpr std::int32_t kNoSymbol = -1;
  struct Run;

  std::int32_t find_character(char32_t character) const;
  Status encode_segment(Run& run, std::vector<std::int32_t>& ids) const;

  std::int32_t tokens_;  ///< their number; greater ids are symbols without a token
  std::int32_t next_symbol_;
  std::array<std::int32_t, 128> ascii_{};
  std::unordered_map<char32_t, std::int32_t> characters_;
  PairTable merges_;
  Neighbours neighbours_;
  ByteTokens byte_tokens_;
};

}  // namespace shunt::text
