// Vocabularies that no converter would write: an error, or a tokenizer that works and is as fast as
// others. "Duplicate, empty and cyclic entries".
#include <gtest/gtest.h>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_bad_vocabularies_test {
namespace {

using testing::bpe_vocabulary;
using testing::Ids;
using testing::spm_vocabulary;

constexpr const char* kModels[] = {"llama", "gpt2", "bert", "t5", "gemma4", "rwkv"};

/// A vocabulary that every kind accepts.
Vocabulary plain(const char* model) {
  Vocabulary vocabulary = spm_vocabulary();
  vocabulary.model = model;
  return vocabulary;
}

TEST(TextBadVocabularies, OfDuplicateTokensTheFirstCounts) {
  for (const char* model : {"llama", "t5", "rwkv"}) {
    Vocabulary vocabulary = plain(model);
    vocabulary.add_space_prefix = false;
    vocabulary.tokens.push_back({"c", 5});
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ(tokenizer->encode("c", {.add_special = false}).value(), (Ids{6})) << model;
  }
}

// A token that is a part of a character must not cut one in two: U+2581 and U+2593 begin with
// E2 96.
TEST(TextBadVocabularies, EmptyAndInvalidTextsMatchNothing) {
  for (const char* model : kModels) {
    Vocabulary vocabulary = plain(model);
    vocabulary.pre = "qwen2";
    const std::size_t valid = vocabulary.tokens.size();
    for (const TokenType type : {TokenType::kControl, TokenType::kUserDefined, TokenType::kNormal,
                                 TokenType::kUnknown, TokenType::kUnused}) {
      vocabulary.tokens.push_back({"", 1, type});
      vocabulary.tokens.push_back({"\xFF", 1, type});
      vocabulary.tokens.push_back({"\xE2\x96", 1, type});
      vocabulary.tokens.push_back({"\x93", 1, type});
    }
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_TRUE(tokenizer) << model << ": " << tokenizer.error().message();
    const bool bytewise = std::string_view(model) == "rwkv";
    const auto ids =
        tokenizer->encode("a\u2593\u0301\u2593", {.add_special = false, .parse_special = true});
    ASSERT_TRUE(ids) << model << ": " << ids.error().message();
    for (const std::int32_t id : *ids) {
      EXPECT_TRUE(bytewise || id < static_cast<std::int32_t>(valid)) << model;
    }
    for (std::int32_t id = 0; id < tokenizer->size(); ++id) {
      EXPECT_TRUE(tokenizer->decode(Ids{id})) << model;
    }
  }
}

TEST(TextBadVocabularies, LongTokensAreErrors) {
  for (const char* model : kModels) {
    Vocabulary vocabulary = plain(model);
    vocabulary.tokens.push_back({std::string(4097, 'a')});
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_FALSE(tokenizer) << model;
    EXPECT_NE(tokenizer.error().message().find("token 21 has 4097 bytes"), std::string::npos);
  }
}

// Each merge makes what the other needs; a token is its own part.
TEST(TextBadVocabularies, CyclicMergesEnd) {
  Vocabulary vocabulary = bpe_vocabulary("gpt-2");
  vocabulary.merges = {"a b", "ab a", "b a", "aba b", "a a", "a a", "aa aa"};
  const auto tokenizer = Tokenizer::create(vocabulary);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const std::string text(10'000, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).value()).value(), text);
}

TEST(TextBadVocabularies, ACharsmapThatIsNoneIsAnError) {
  Vocabulary vocabulary = plain("t5");
  vocabulary.charsmap = "not a trie";
  const auto tokenizer = Tokenizer::create(vocabulary);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message().find("charsmap"), std::string::npos);
}

TEST(TextBadVocabularies, WordPieceNeedsAnUnknownToken) {
  Vocabulary vocabulary = plain("bert");
  vocabulary.tokens[0].type = TokenType::kNormal;
  const auto tokenizer = Tokenizer::create(vocabulary);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message().find("unknown token"), std::string::npos);
}

TEST(TextBadVocabularies, LongTextsOfTheLongestTokensAreEncoded) {
  for (const char* model : kModels) {
    Vocabulary vocabulary = plain(model);
    vocabulary.tokens.push_back({std::string(4000, 'a') + "b"});
    vocabulary.tokens.push_back({std::string(4000, 'a') + "c", 0, TokenType::kUserDefined});
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_TRUE(tokenizer) << model << ": " << tokenizer.error().message();
    EXPECT_TRUE(tokenizer->encode(std::string(20'000, 'a'))) << model;
  }
}

}  // namespace
}  // namespace shunt::text::text_bad_vocabularies_test
