// The "gpt2" kind of tokenizer: words, bytes, merging by rank.
#include <gtest/gtest.h>

#include "shunt/text.h"
#include "text/byte_alphabet.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_bpe_test {
namespace {

using testing::Ids;

Tokenizer make(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  return *tokenizer;
}
Tokenizer make(std::string pre = "gpt-2") {
  return make(testing::bpe_vocabulary(std::move(pre)));
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  const auto ids = tokenizer.encode(text, {.parse_special = parse_special});
  EXPECT_TRUE(ids) << ids.error().message();
  return ids ? *ids : Ids{-1};
}

TEST(TextBpe, MergesTheLowestRankFirst) {
  const Tokenizer tokenizer = make();
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{0, 5}));  // b c, and then a bc is no merge
  EXPECT_EQ(encode(tokenizer, "ab"), (Ids{4}));
  EXPECT_EQ(encode(tokenizer, "aab"), (Ids{0, 4}));
  EXPECT_EQ(encode(tokenizer, "abab"), (Ids{4, 4}));
  EXPECT_EQ(encode(tokenizer, " a"), (Ids{6}));
  EXPECT_EQ(encode(tokenizer, " ab"), (Ids{3, 4}));  // a b before ~ a
}

TEST(TextBpe, MergesWithinWordsOnly) {
  // Words "a" and " bc"; ~ b comes after b c.
  EXPECT_EQ(encode(make(), "a bc"), (Ids{0, 3, 5}));
}

TEST(TextBpe, WorksOnBytes) {
  EXPECT_EQ(encode(make(), "\u00E9"), (Ids{11}));
  EXPECT_EQ(make().decode(Ids{9, 10, 11}).value(), "\u00E9\u00E9");
}

TEST(TextBpe, SplitsAMergeWithoutAToken) {
  EXPECT_EQ(encode(make(), " b"), (Ids{3, 1}));  // ~b merges, but there is no such token
}

TEST(TextBpe, PrefersWholeWordsIfThePretokenizerDoes) {
  EXPECT_EQ(encode(make("llama-bpe"), "abc"), (Ids{7}));
  EXPECT_EQ(encode(make("qwen2"), "abc"), (Ids{0, 5}));
}

TEST(TextBpe, AddsBosByTheDefaultOfThePretokenizer) {
  Vocabulary vocabulary = testing::bpe_vocabulary("gpt-2");
  vocabulary.bos = 8;
  EXPECT_FALSE(make(vocabulary).adds_bos());
  vocabulary.pre = "llama-bpe";
  EXPECT_TRUE(make(vocabulary).adds_bos());
  EXPECT_EQ(make(vocabulary).encode("ab").value(), (Ids{8, 4}));
  vocabulary.add_bos = false;
  EXPECT_FALSE(make(vocabulary).adds_bos());
}

TEST(TextBpe, ReadsSpecialTokens) {
  Vocabulary vocabulary = testing::bpe_vocabulary("gpt-2");
  EXPECT_EQ(encode(make(vocabulary), "a<|end|>b", true), (Ids{0, 8, 1}));
  EXPECT_EQ(encode(make(vocabulary), "a[Y]b"), (Ids{0, 12, 1}));
  // As text, it has characters that this vocabulary lacks.
  const auto text = make(vocabulary).encode("<|end|>");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(text.error().message().find("0x3C"), std::string::npos) << text.error().message();
  vocabulary.unk = 2;
  EXPECT_EQ(encode(make(vocabulary), "a<"), (Ids{0, 2}));
}

TEST(TextBpe, PrefersTheLeftmostThenLongestSpecialToken) {
  Vocabulary vocabulary = testing::bpe_vocabulary("gpt-2");
  vocabulary.tokens.push_back({"[Y][Y]", 0, TokenType::kUserDefined});    // 13
  vocabulary.tokens.push_back({"[Y][Y]!", 0, TokenType::kControl});       // 14
  vocabulary.tokens.push_back({"Y][Y][Y]", 0, TokenType::kUserDefined});  // 15
  const Tokenizer tokenizer = make(vocabulary);
  EXPECT_EQ(encode(tokenizer, "[Y][Y][Y]"), (Ids{13, 12}));
  EXPECT_EQ(encode(tokenizer, "[Y][Y]!", true), (Ids{14}));
}

TEST(TextBpe, MapsBytesToTheGpt2Alphabet) {
  // From the table in GPT-2's encoder.json: the first, a space, a newline, DEL, soft hyphen, the
  // last.
  const std::pair<const char*, unsigned char> letters[] = {
      {"\u0100", 0x00}, {"\u0120", ' '},  {"\u010A", '\n'}, {"!", '!'},
      {"~", '~'},       {"\u0121", 0x7F}, {"\u0122", 0x80}, {"\u0142", 0xA0},
      {"\u00A1", 0xA1}, {"\u0143", 0xAD}, {"\u00AE", 0xAE}, {"\u00FF", 0xFF}};
  for (const auto& [letter, byte] : letters) {
    EXPECT_EQ(bytes_from_alphabet(letter), std::string(1, static_cast<char>(byte))) << letter;
  }
  for (const char* stranger : {"\u0144", " ", "\n", "\u00AD", "\u2581", "\xFF"}) {
    EXPECT_EQ(bytes_from_alphabet(stranger), std::nullopt);
    EXPECT_EQ(bytes_from_alphabet_leniently(stranger), stranger);
  }
}

}  // namespace
}  // namespace shunt::text::text_bpe_test
