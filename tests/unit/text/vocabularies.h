// Small vocabularies, made by hand so that a reader can work out the ids.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shunt/text.h"

namespace shunt::text::testing {

using Ids = std::vector<std::int32_t>;

/// Ids are in the comments behind the tokens. `_` in a comment is U+2581.
inline Vocabulary spm_vocabulary() {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {
      {"<unk>", 0, TokenType::kUnknown},    // 0
      {"<s>", 0, TokenType::kControl},      // 1
      {"</s>", 0, TokenType::kControl},     // 2
      {"\u2581", -20},                      // 3  _
      {"a", -21},                           // 4
      {"b", -22},                           // 5
      {"c", -23},                           // 6
      {"ab", -1},                           // 7
      {"bc", -2},                           // 8
      {"\u2581a", -3},                      // 9  _a
      {"abc", -0.5f},                       // 10
      {"aa", -4},                           // 11
      {"<0xC3>", 0, TokenType::kByte},      // 12
      {"<0xa9>", 0, TokenType::kByte},      // 13
      {"[X]", 0, TokenType::kUserDefined},  // 14
      {"<pad>", 0, TokenType::kUnused},     // 15
      {"<", -24},                           // 16
      {"s", -25},                           // 17
      {">", -26},                           // 18
      {"<s", -5},                           // 19
      {"\u2581\u2581", -6},                 // 20 __
  };
  v.bos = 1;
  v.eos = 2;
  return v;
}

/// `~` in a comment is a space in the byte alphabet, U+0120.
inline Vocabulary bpe_vocabulary(std::string pre) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = std::move(pre);
  v.tokens = {
      {"a"},                                // 0
      {"b"},                                // 1
      {"c"},                                // 2
      {"\u0120"},                           // 3  ~
      {"ab"},                               // 4
      {"bc"},                               // 5
      {"\u0120a"},                          // 6  ~a
      {"abc"},                              // 7
      {"<|end|>", 0, TokenType::kControl},  // 8
      {"\u00C3"},                           // 9  byte C3
      {"\u00A9"},                           // 10 byte A9
      {"\u00C3\u00A9"},                     // 11 U+00E9
      {"[Y]", 0, TokenType::kUserDefined},  // 12
  };
  v.merges = {"b c", "a b", "\u0120 a", "ab c", "\u00C3 \u00A9", "\u0120 b"};
  v.eos = 8;
  return v;
}

}  // namespace shunt::text::testing
