// Tokens that are spelled out in text: the white space they take, and word boundaries. Expected
// values follow the documentation of AddedToken in the package tokenizers.
#include <gtest/gtest.h>

#include <algorithm>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_special_tokens_test {
namespace {

using testing::bpe_vocabulary;
using testing::Ids;

/// Of the token "[Y]" with these rules; its id is 12, and a space's is 3.
Ids encode(const AddedTokenRules& rules, std::string_view text) {
  Vocabulary vocabulary = bpe_vocabulary("gpt-2");
  vocabulary.tokens[12].rules = rules;
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  const auto ids = tokenizer->encode(text);
  EXPECT_TRUE(ids) << ids.error().message();
  return *ids;
}

TEST(TextSpecialTokens, WithoutRulesNothingIsTaken) {
  EXPECT_EQ(encode({}, "b [Y] b"), (Ids{1, 3, 12, 3, 1}));
  EXPECT_EQ(encode({}, "b[Y]b"), (Ids{1, 12, 1}));
}

TEST(TextSpecialTokens, WhiteSpaceIsTakenOnTheSideOfTheRule) {
  EXPECT_EQ(encode({.strip_left = true}, "b  [Y] b"), (Ids{1, 12, 3, 1}));
  EXPECT_EQ(encode({.strip_right = true}, "b [Y] \u00A0\u3000b"), (Ids{1, 3, 12, 1}));
  EXPECT_EQ(encode({.strip_left = true, .strip_right = true}, " [Y] [Y] "), (Ids{12, 12}));
}

TEST(TextSpecialTokens, ASingleWordStandsAlone) {
  EXPECT_EQ(encode({.single_word = true}, "[Y] b"), (Ids{12, 3, 1}));
  Vocabulary vocabulary = bpe_vocabulary("gpt-2");
  vocabulary.unk = 2;
  vocabulary.tokens[12].rules.single_word = true;
  const auto tokenizer = Tokenizer::create(vocabulary);
  ASSERT_TRUE(tokenizer);
  for (const char* text : {"b[Y]", "[Y]b", "\u00E9[Y]", "[Y]_"}) {
    const auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids);
    EXPECT_EQ(std::ranges::count(*ids, 12), 0) << text;
  }
}

TEST(TextSpecialTokens, OfSentencePieceHaveSpacesForTheSymbol) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.tokens[14].text = "b\u2581c";
  const auto tokenizer = Tokenizer::create(vocabulary);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("b c", {.add_special = false}).value(), (Ids{14}));
  EXPECT_EQ(tokenizer->decode(Ids{14}).value(), "b c");
}

/// With the vocabulary of vocabularies.h: 1 is "<s>", which text spells as 3, 19, 18.
TEST(TextSpecialTokens, ControlTokensAreReadInTrustedBytes) {
  const auto tokenizer = Tokenizer::create(testing::spm_vocabulary());
  ASSERT_TRUE(tokenizer);
  const auto trusting = [&](std::string_view trusted, std::string_view text) {
    const auto ids = tokenizer->encode(std::string(trusted) + std::string(text),
                                       {.add_special = false, .trusted_bytes = trusted.size()});
    EXPECT_TRUE(ids) << ids.error().message();
    return ids ? *ids : Ids();
  };
  EXPECT_EQ(trusting("<s>", "ab"), (Ids{1, 3, 7}));
  EXPECT_EQ(trusting("", "<s>"), (Ids{3, 19, 18}));
  EXPECT_EQ(trusting("<s>", "<s>"), (Ids{1, 3, 19, 18}));
  EXPECT_EQ(trusting("<s><", "s>"), (Ids{1, 3, 19, 18})) << "a text completes no control token";
  EXPECT_EQ(trusting("<s>a", "b"), (Ids{1, 3, 7})) << "the end of a prompt divides no word";
  EXPECT_EQ(trusting("<s>", "ab[X]"), (Ids{1, 3, 7, 14})) << "user-defined tokens are always read";
  // An ill-formed byte becomes three bytes, which move the end of the prompt.
  EXPECT_EQ(trusting("\xFF<s>", "<s>"), trusting("\uFFFD<s>", "<s>"));
  EXPECT_EQ(trusting("<s>", "\xFF<s>"), trusting("<s>", "\uFFFD<s>"));
  const auto beyond = tokenizer->encode("<s>", {.add_special = false, .trusted_bytes = 100});
  ASSERT_TRUE(beyond);
  EXPECT_EQ(*beyond, (Ids{1}));
}

}  // namespace
}  // namespace shunt::text::text_special_tokens_test
