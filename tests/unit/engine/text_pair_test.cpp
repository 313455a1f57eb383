// The tokens of a query and a document together.
#include "engine/embed/text_pair.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/must.h"

namespace shunt::test::engine_text_pair_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using text::TokenType;

text::Tokenizer bert(std::optional<bool> two_separators = {}) {
  text::Vocabulary vocabulary;
  vocabulary.model = "bert";
  vocabulary.tokens = {
      {"[UNK]", 0, TokenType::kUnknown},      // 0
      {"[CLS]", 0, TokenType::kControl},      // 1
      {"[SEP]", 0, TokenType::kControl},      // 2
      {"\u2581what", 0, TokenType::kNormal},  // 3
      {"\u2581cat", 0, TokenType::kNormal},   // 4
      {"s", 0, TokenType::kNormal},           // 5
  };
  vocabulary.unk = 0;
  vocabulary.cls = 1;
  vocabulary.sep = 2;
  vocabulary.two_separators = two_separators;
  return must(text::Tokenizer::create(vocabulary));
}

/// Bytes as tokens, and two control tokens: 256 "<s>", 257 "</s>".
text::Tokenizer bytes(bool adds_eos, std::optional<std::int32_t> sep = {}) {
  text::Vocabulary vocabulary;
  vocabulary.model = "llama";
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.tokens.push_back({fmt::format("<0x{:02X}>", byte), 0, TokenType::kByte});
  vocabulary.tokens.push_back({"<s>", 0, TokenType::kControl});
  vocabulary.tokens.push_back({"</s>", 0, TokenType::kControl});
  vocabulary.tokens.push_back({"<unk>", 0, TokenType::kUnknown});
  vocabulary.bos = 256;
  vocabulary.eos = 257;
  vocabulary.unk = 258;
  vocabulary.add_bos = true;
  vocabulary.add_eos = adds_eos;
  vocabulary.add_space_prefix = false;
  vocabulary.sep = sep;
  if (sep) vocabulary.add_sep = true;
  return must(text::Tokenizer::create(vocabulary));
}

TEST(EngineTextPair, OfBertHasASecondTextAfterTheFirstSeparator) {
  const EmbedTokens pair = must(tokens_of_pair(bert(), "what", "cats"));
  EXPECT_THAT(pair.tokens, ElementsAre(1, 3, 2, 4, 5, 2));
  EXPECT_EQ(pair.second_text, 3);
}

TEST(EngineTextPair, ControlTokensOfTextsAreText) {
  const EmbedTokens pair = must(tokens_of_pair(bytes(true), "a</s>", "b"));
  EXPECT_THAT(pair.tokens, ElementsAre(256, 'a', '<', '/', 's', '>', 257, 'b', 257));
}

/// RoBERTa: "<s> query </s></s> document </s>".
TEST(EngineTextPair, OfRobertaHasTwoSeparators) {
  const EmbedTokens pair = must(tokens_of_pair(bytes(true, 257), "a", "b"));
  EXPECT_THAT(pair.tokens, ElementsAre(256, 'a', 257, 257, 'b', 257));
  EXPECT_EQ(pair.second_text, -1);
}

/// The same with WordPiece: "[CLS] query [SEP][SEP] document [SEP]", all tokens of one type.
TEST(EngineTextPair, OfWordPieceMayHaveTwoSeparators) {
  const EmbedTokens pair = must(tokens_of_pair(bert(true), "what", "cats"));
  EXPECT_THAT(pair.tokens, ElementsAre(1, 3, 2, 2, 4, 5, 2));
  EXPECT_EQ(pair.second_text, -1);
  EXPECT_EQ(must(tokens_of_pair(bert(false), "what", "cats")).second_text, 3);
}

TEST(EngineTextPair, NeedsATokenThatClosesTexts) {
  const auto pair = tokens_of_pair(bytes(false), "a", "b");
  ASSERT_FALSE(pair);
  EXPECT_THAT(pair.error().message(), HasSubstr("can't be told apart"));
}

TEST(EnginePairPrompt, ReadsControlTokensInItsOwnTextOnly) {
  const PairPrompt prompt =
      must(PairPrompt::create(bytes(false), "<s>{query}:{document}</s>{query}"));
  EXPECT_THAT(must(prompt.tokens("q", "<s>")).tokens,
              ElementsAre(256, 'q', ':', '<', 's', '>', 257, 'q'));
  // A place in a text is text.
  EXPECT_THAT(must(prompt.tokens("q", "{query}")).tokens,
              ElementsAre(256, 'q', ':', '{', 'q', 'u', 'e', 'r', 'y', '}', 257, 'q'));
  EXPECT_EQ(must(prompt.tokens("q", "d")).second_text, -1);
}

TEST(EnginePairPrompt, NeedsPlacesForBothTexts) {
  for (const char* text : {"", "{query}", "{document}", "{Query} {document}"}) {
    const auto prompt = PairPrompt::create(bytes(false), text);
    ASSERT_FALSE(prompt) << text;
    EXPECT_THAT(prompt.error().message(), HasSubstr("the prompt for reranking has no {"));
  }
}

}  // namespace
}  // namespace shunt::test::engine_text_pair_test
