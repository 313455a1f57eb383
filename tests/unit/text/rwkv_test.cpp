// The "rwkv" kind: the longest token at each place; texts of tokens are literals.
#include <gtest/gtest.h>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_rwkv_test {
namespace {

using testing::Ids;

Vocabulary rwkv_vocabulary() {
  Vocabulary v;
  v.model = "rwkv";
  v.tokens = {
      {"<s>", 0, TokenType::kControl},  // 0
      {"\\x00"},                        // 1
      {"a"},                            // 2
      {"ab"},                           // 3
      {"abcd"},                         // 4
      {"\\n"},                          // 5
      {"\\n\\n"},                       // 6
      {"\\xc3"},                        // 7
      {"\\xa9"},                        // 8
      {"\\'b"},                         // 9
      {"\\\\"},                         // 10
      {"c"},                            // 11
  };
  return v;
}

TEST(TextRwkv, TakesTheLongestTokenAtEachPlace) {
  const auto tokenizer = Tokenizer::create(rwkv_vocabulary());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  EXPECT_EQ(tokenizer->encode("abca").value(), (Ids{3, 11, 2}));
  EXPECT_EQ(tokenizer->encode("abcdab").value(), (Ids{4, 3}));
  EXPECT_EQ(tokenizer->encode("\n\n\n\u00E9'b\\").value(), (Ids{6, 5, 7, 8, 9, 10}));
  EXPECT_EQ(tokenizer->encode(std::string_view("\0", 1)).value(), (Ids{1}));
  EXPECT_EQ(tokenizer->decode(Ids{6, 7, 8, 9}).value(), "\n\n\u00E9'b");
}

TEST(TextRwkv, ATextWithoutTokensIsAnError) {
  const auto tokenizer = Tokenizer::create(rwkv_vocabulary());
  ASSERT_TRUE(tokenizer);
  const auto ids = tokenizer->encode("az");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message().find("0x7A"), std::string::npos) << ids.error().message();
}

TEST(TextRwkv, ABadLiteralIsAnError) {
  for (const char* text : {"\\x-1", "\\x0", "\\", "a\\xzz"}) {
    Vocabulary vocabulary = rwkv_vocabulary();
    vocabulary.tokens[2].text = text;
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_FALSE(tokenizer) << text;
    EXPECT_NE(tokenizer.error().message().find("token 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace shunt::text::text_rwkv_test
