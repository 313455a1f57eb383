// How text is cut into words. Expected pieces are worked out from the published expressions by
// hand.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shunt::text::text_pretokenizer_test {
namespace {

using Pieces = std::vector<std::string_view>;

Pieces split(std::string_view name, std::string_view text) {
  const auto pretokenizer = Pretokenizer::create(name);
  EXPECT_TRUE(pretokenizer) << pretokenizer.error().message();
  const auto pieces = pretokenizer->split(text);
  EXPECT_TRUE(pieces) << pieces.error().message();
  return *pieces;
}

TEST(Pretokenizer, SplitsLikeGpt2) {
  EXPECT_EQ(split("gpt-2", "I've 12 cats!\n\n x"),
            (Pieces{"I", "'ve", " 12", " cats", "!", "\n\n", " x"}));
  EXPECT_EQ(split("gpt-2", "I'VE"), (Pieces{"I", "'", "VE"}));
  EXPECT_EQ(split("gpt-2", "a\tb   "), (Pieces{"a", "\t", "b", "   "}));
  EXPECT_EQ(split("gpt-2", ""), (Pieces{}));
}

TEST(Pretokenizer, SplitsLikeLlamaBpe) {
  EXPECT_EQ(split("llama-bpe", "I'VE 12345 cats!\n\n x"),
            (Pieces{"I", "'VE", " ", "123", "45", " cats", "!\n\n", " x"}));
  EXPECT_EQ(split("llama3", "(a) \n\nb"), (Pieces{"(a", ")", " \n\n", "b"}));
}

TEST(Pretokenizer, SplitsLikeQwen2) {
  EXPECT_EQ(split("qwen2", "x 123"), (Pieces{"x", " ", "1", "2", "3"}));
}

TEST(Pretokenizer, DeepseekCoderAppliesItsExpressionsInSequence) {
  EXPECT_EQ(split("deepseek-coder", "a, b 12\n\nc"),
            (Pieces{"a", ",", " b", " ", "1", "2", "\n", "\n", "c"}));
  // " \u4E2D\u6587" is a word of letters first; then the expression for Han takes it apart.
  EXPECT_EQ(split("deepseek-coder", " \u4E2D\u6587 x"), (Pieces{" ", "\u4E2D\u6587", " x"}));
}

TEST(Pretokenizer, GroupsOfThreeDigitsAreCountedFromTheEndOfTheNumber) {
  EXPECT_EQ(split("tiny_aya", "12 1234 123456"),
            (Pieces{"12", " ", "1", "234", " ", "123", "456"}));
  EXPECT_EQ(split("tiny_aya", "1234ab"), (Pieces{"123", "4", "ab"}));  // no word ends behind it
  EXPECT_EQ(split("afmoe", "a1234ab"), (Pieces{"a", "1", "234", "ab"}));
  EXPECT_EQ(split("superbpe", "of 12345 in"), (Pieces{"of ", "12", "345", " in"}));
  EXPECT_EQ(split("llama-bpe", "1234"), (Pieces{"123", "4"}));
}

TEST(Pretokenizer, CutsRunsOfSpacesIntoPowersOfTwo) {
  EXPECT_EQ(split("jais-2", "a" + std::string(8, ' ') + "b"),
            (Pieces{"a", "    ", "  ", " ", " b"}));
  EXPECT_EQ(split("jais-2", "a" + std::string(6, ' ')), (Pieces{"a", "    ", "  "}));
  EXPECT_EQ(split("jais-2", "a  \n  b"), (Pieces{"a", "  \n", " ", " b"}));
}

TEST(Pretokenizer, SeparatesHanFromOtherLetters) {
  EXPECT_EQ(split("kimi-k2", "ab\u4E2D\u6587cd"), (Pieces{"ab", "\u4E2D\u6587", "cd"}));
  EXPECT_EQ(split("gpt-4o", "ab\u4E2D\u6587cd"), (Pieces{"ab\u4E2D\u6587cd"}));
}

TEST(Pretokenizer, CutsBeforeCapitals) {
  for (const char* name : {"gpt-4o", "tekken", "kimi-k2"}) {
    EXPECT_EQ(split(name, " helloWorld"), (Pieces{" hello", "World"})) << name;
  }
  EXPECT_EQ(split("gpt-4o", "they're"), (Pieces{"they're"}));
  EXPECT_EQ(split("tekken", "they're"), (Pieces{"they", "'re"}));
}

TEST(Pretokenizer, MarksBelongToWordsInQwen35) {
  EXPECT_EQ(split("qwen35", "e\u0301a"), (Pieces{"e\u0301a"}));
  EXPECT_EQ(split("qwen2", "e\u0301a"), (Pieces{"e", "\u0301a"}));
}

TEST(Pretokenizer, EveryNameIsThereOnce) {
  std::vector<std::string_view> names;
  for (const PretokenizerRule& rule : pretokenizer_rules()) {
    names.insert(names.end(), rule.names.begin(), rule.names.end());
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Pretokenizer, SplitsLikeDefault) {
  EXPECT_EQ(split("default", "a+b 3333 foo..bar"),
            (Pieces{"a", "+", "b", " ", "333", "3", " foo", "..", "bar"}));
  EXPECT_EQ(split("", "a+b"), split("default", "a+b"));
}

TEST(Pretokenizer, WhiteSpaceFollowsUnicode) {
  // No-break and ideographic space are White_Space; U+180E is not, though PCRE2's \s has it.
  EXPECT_EQ(split("gpt-2", "a\u00A0\u3000"), (Pieces{"a", "\u00A0\u3000"}));
  EXPECT_EQ(split("gpt-2", "a \u180E"), (Pieces{"a", " \u180E"}));
}

TEST(Pretokenizer, UnknownNameIsAnErrorThatListsTheKnownOnes) {
  const auto pretokenizer = Pretokenizer::create("no-such-thing");
  ASSERT_FALSE(pretokenizer);
  EXPECT_EQ(pretokenizer.error().code(), ErrorCode::kUnsupported);
  for (const char* part :
       {"\"no-such-thing\"", "gpt-2", "llama-bpe", "qwen2", "deepseek-coder", "default"}) {
    EXPECT_NE(pretokenizer.error().message().find(part), std::string::npos)
        << pretokenizer.error().message();
  }
}

TEST(Pretokenizer, CatastrophicBacktrackingIsAnErrorAndDoesNotHang) {
  constexpr std::string_view kPatterns[] = {R"((?:a+)+b)"};
  const auto pretokenizer = Pretokenizer::compile({.names = {}, .patterns = kPatterns});
  ASSERT_TRUE(pretokenizer);
  const std::string text = std::string(64, 'a') + "cb";
  const auto pieces = pretokenizer->split(text);
  ASSERT_FALSE(pieces);
  EXPECT_EQ(pieces.error().code(), ErrorCode::kUnsupported);
}

TEST(Pretokenizer, DeepRecursionDoesNotCrash) {
  constexpr std::string_view kPatterns[] = {R"((?:a|b\p{L})*c)"};
  const auto pretokenizer = Pretokenizer::compile({.names = {}, .patterns = kPatterns});
  ASSERT_TRUE(pretokenizer);
  const std::string text = std::string(1'000'000, 'a') + "c";
  const auto pieces = pretokenizer->split(text);  // a piece or an error, both are fine
  if (pieces) {
    EXPECT_EQ(*pieces, (Pieces{text}));
  }
}

TEST(Pretokenizer, InvalidExpressionIsAnError) {
  constexpr std::string_view kPatterns[] = {"(a"};
  const auto pretokenizer = Pretokenizer::compile({.names = {}, .patterns = kPatterns});
  ASSERT_FALSE(pretokenizer);
  EXPECT_EQ(pretokenizer.error().code(), ErrorCode::kInternal);
}

TEST(Pretokenizer, SplitsLongText) {
  const std::string texts[] = {std::string(1 << 20, 'a'),       std::string(1 << 20, ' '),
                               std::string(1 << 20, ' ') + "a", std::string(1 << 20, '\n'),
                               std::string(1 << 20, '7'),       std::string(1 << 20, '!')};
  for (const PretokenizerRule& rule : pretokenizer_rules()) {
    const auto pretokenizer = Pretokenizer::compile(rule);
    ASSERT_TRUE(pretokenizer);
    for (const std::string& text : texts) {
      const auto pieces = pretokenizer->split(text);
      ASSERT_TRUE(pieces) << rule.names[0] << ": " << pieces.error().message();
      std::size_t bytes = 0;
      for (const std::string_view piece : *pieces) bytes += piece.size();
      EXPECT_EQ(bytes, text.size());
    }
  }
}

}  // namespace
}  // namespace shunt::text::text_pretokenizer_test
