// The "llama" kind of tokenizer: merging by score, spaces, bytes, special tokens.
#include <gtest/gtest.h>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_spm_test {
namespace {

using testing::Ids;

Tokenizer make(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  return *tokenizer;
}
Tokenizer make() {
  return make(testing::spm_vocabulary());
}
Tokenizer make_without_prefix() {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.add_space_prefix = false;
  return make(std::move(vocabulary));
}

Ids encode(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
  EXPECT_TRUE(ids) << ids.error().message();
  return ids ? *ids : Ids{-1};
}

TEST(TextSpm, MergesTheHighestScoreFirst) {
  const Tokenizer tokenizer = make_without_prefix();
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{10}));  // ab before bc, then abc
  EXPECT_EQ(encode(tokenizer, "bc"), (Ids{8}));
  EXPECT_EQ(encode(tokenizer, "bab"), (Ids{5, 7}));
  EXPECT_EQ(encode(tokenizer, "aabc"), (Ids{4, 10}));  // ab (-1) before aa (-4)
}

TEST(TextSpm, MergesTheLeftmostOfEquals) {
  const Tokenizer tokenizer = make_without_prefix();
  EXPECT_EQ(encode(tokenizer, "aaa"), (Ids{11, 4}));
  EXPECT_EQ(encode(tokenizer, "aaaaa"), (Ids{11, 11, 4}));
}

TEST(TextSpm, PutsASpaceInFront) {
  const Tokenizer tokenizer = make();
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{3, 10}));
  EXPECT_EQ(encode(tokenizer, "a"), (Ids{9}));
  EXPECT_EQ(encode(tokenizer, " a"), (Ids{3, 9}));  // _a (-3) before __ (-6)
  EXPECT_EQ(encode(tokenizer, " "), (Ids{20}));
  EXPECT_EQ(encode(tokenizer, ""), (Ids{}));
}

TEST(TextSpm, AddsBosAndEosAsTheVocabularySays) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  EXPECT_EQ(make(vocabulary).encode("a").value(), (Ids{1, 9}));
  EXPECT_TRUE(make(vocabulary).adds_bos());
  EXPECT_FALSE(make(vocabulary).adds_eos());
  vocabulary.add_bos = false;
  vocabulary.add_eos = true;
  EXPECT_EQ(make(vocabulary).encode("a").value(), (Ids{9, 2}));
  vocabulary.add_bos.reset();
  vocabulary.bos.reset();
  vocabulary.tokens[1].text = "<other>";
  EXPECT_FALSE(make(vocabulary).adds_bos());
}

TEST(TextSpm, TakesTheUsualBosAndEosWhereAFileNamesNone) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.bos.reset();
  vocabulary.eos.reset();
  vocabulary.add_eos = true;
  EXPECT_EQ(make(vocabulary).encode("a").value(), (Ids{1, 9, 2}));
  vocabulary.bos = 14;
  vocabulary.eos = 15;
  EXPECT_EQ(make(vocabulary).encode("a").value(), (Ids{14, 9, 15}));
}

TEST(TextSpm, WritesACharacterWithoutATokenAsItsBytes) {
  EXPECT_EQ(encode(make(), "\u00E9"), (Ids{3, 12, 13}));  // C3 A9
}

TEST(TextSpm, WritesARunWithoutBytesAsOneUnknownToken) {
  EXPECT_EQ(encode(make(), "\u2603"), (Ids{3, 0}));
  EXPECT_EQ(encode(make(),
                   "\u2603\u2603\u2603"
                   "b\u2603"),
            (Ids{3, 0, 5, 0}));
  EXPECT_EQ(encode(make(), "\u2603\u00E9\u2603"), (Ids{3, 0, 12, 13, 0}));
}

TEST(TextSpm, WithoutAnUnknownTokenNamesTheMissingCharacter) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.tokens[0].type = TokenType::kControl;
  const auto ids = make(vocabulary).encode("\u2603");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(ids.error().message().find("U+2603"), std::string::npos) << ids.error().message();
}

TEST(TextSpm, ReadsInvalidUtf8AsReplacementCharacters) {
  EXPECT_EQ(encode(make(), "b\xFF"), encode(make(), "b\uFFFD"));
}

TEST(TextSpm, ReadsControlTokensOnlyWhenAsked) {
  const Tokenizer tokenizer = make();
  EXPECT_EQ(encode(tokenizer, "</s>a", true), (Ids{2, 9}));
  EXPECT_EQ(encode(tokenizer, "a<s>", true), (Ids{9, 1}));
  // As text: _ <s >. That <s and > together spell a control token does not make them one.
  EXPECT_EQ(encode(tokenizer, "<s>"), (Ids{3, 19, 18}));
}

TEST(TextSpm, AlwaysReadsUserDefinedTokens) {
  const Tokenizer tokenizer = make();
  EXPECT_EQ(encode(tokenizer, "a[X]b"), (Ids{9, 14, 3, 5}));  // a space behind special tokens too
  EXPECT_EQ(encode(tokenizer, "[X][X]"), (Ids{14, 14}));
}

TEST(TextSpm, RoundTripsText) {
  const Tokenizer tokenizer = make();
  for (const std::string text : {"", "abc", " a", "  a b ", "\u00E9", "[X]", "ab [X]", "<s>"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text).value()).value(), text);
  }
}

TEST(TextSpm, ReturnsThePieceOfEachToken) {
  const Tokenizer tokenizer = make();
  EXPECT_EQ(tokenizer.piece(9).value(), " a");
  EXPECT_EQ(tokenizer.piece(12).value(), "\xC3");
  EXPECT_EQ(tokenizer.piece(14).value(), "[X]");
  for (const std::int32_t id : {0, 1, 15}) {
    EXPECT_EQ(tokenizer.piece(id).value(), "");
    EXPECT_EQ(tokenizer.piece(id, true).value(), tokenizer.token_text(id));
  }
  EXPECT_EQ(tokenizer.piece(21).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(tokenizer.piece(-1).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace shunt::text::text_spm_test
