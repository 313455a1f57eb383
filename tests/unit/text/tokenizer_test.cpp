// Properties of every kind of tokenizer: checks, special ids, long texts, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "shunt/text.h"
#include "unit/text/vocabularies.h"

namespace shunt::text::text_tokenizer_test {
namespace {

using testing::bpe_vocabulary;
using testing::Ids;
using testing::spm_vocabulary;

TEST(Tokenizer, RejectsAnInvalidVocabulary) {
  struct Case {
    const char* message;  ///< a part of it
    ErrorCode code;
    std::function<void(Vocabulary&)> spoil;
  };
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  const Case cases[] = {
      {"\"plamo2\" (PLaMo-2)", kUnsupported, [](Vocabulary& v) { v.model = "plamo2"; }},
      {"\"llama\" (SentencePiece), \"gpt2\"", kUnsupported,
       [](Vocabulary& v) { v.model = "replit"; }},
      {"\"martian\", a kind", kUnsupported, [](Vocabulary& v) { v.model = "martian"; }},
      {"no tokens", kInvalid, [](Vocabulary& v) { v.tokens.clear(); }},
      {"BOS token's id is 21", kInvalid, [](Vocabulary& v) { v.bos = 21; }},
      {"EOM token's id is -1", kInvalid, [](Vocabulary& v) { v.eom = -1; }},
      {"token 4 has score nan", kInvalid,
       [](Vocabulary& v) { v.tokens[4].score = std::numeric_limits<float>::quiet_NaN(); }},
      {"token 5 has type 9", kInvalid, [](Vocabulary& v) { v.tokens[5].type = TokenType{9}; }},
      {"token 12 is a byte, but its text is \"<0xC>\"", kInvalid,
       [](Vocabulary& v) { v.tokens[12].text = "<0xC>"; }},
      {"\"<0x+1>\"", kInvalid, [](Vocabulary& v) { v.tokens[12].text = "<0x+1>"; }},
      {"BOS token is to be added", kInvalid,
       [](Vocabulary& v) {
         v.add_bos = true;
         v.bos.reset();
         v.tokens[1].text = "<other>";
       }},
      {"EOS token is to be added", kInvalid,
       [](Vocabulary& v) {
         v.add_eos = true;
         v.eos.reset();
         v.tokens[2].text = "<other>";
       }},
      {"\"klingon\"", kUnsupported, [](Vocabulary& v) { v = bpe_vocabulary("klingon"); }},
      {"merge 1 is \"ab\"", kInvalid,
       [](Vocabulary& v) {
         v = bpe_vocabulary("gpt-2");
         v.merges[1] = "ab";
       }},
      {"merge 0 is \" a\"", kInvalid,
       [](Vocabulary& v) {
         v = bpe_vocabulary("gpt-2");
         v.merges[0] = " a";
       }},
      {"merge 0 is \"a b c\"", kInvalid,
       [](Vocabulary& v) {
         v = bpe_vocabulary("gpt-2");
         v.merges[0] = "a b c";
       }},
  };
  for (const Case& c : cases) {
    Vocabulary vocabulary = spm_vocabulary();
    c.spoil(vocabulary);
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_FALSE(tokenizer) << c.message;
    EXPECT_EQ(tokenizer.error().code(), c.code) << c.message;
    EXPECT_NE(tokenizer.error().message().find(c.message), std::string::npos)
        << tokenizer.error().message();
  }
}

TEST(Tokenizer, ListsItsTokens) {
  const auto tokenizer = Tokenizer::create(spm_vocabulary());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->size(), 21);
  EXPECT_EQ(tokenizer->token_text(10), "abc");
  EXPECT_EQ(tokenizer->token_type(10), TokenType::kNormal);
  EXPECT_EQ(to_string(tokenizer->token_type(14)), "user-defined");
  EXPECT_EQ(tokenizer->vocabulary().unk, 0);  // by its type
  EXPECT_TRUE(tokenizer->contains(20));
  for (const std::int32_t id : {-1, 21, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_FALSE(tokenizer->contains(id));
    EXPECT_EQ(tokenizer->token_text(id), "");
    EXPECT_EQ(tokenizer->token_type(id), TokenType::kUnused);
  }
}

Ids ends_of(const Vocabulary& vocabulary) {
  const auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  const auto ends = tokenizer->ends_of_generation();
  for (std::int32_t id = -1; id <= tokenizer->size(); ++id) {
    EXPECT_EQ(tokenizer->is_end_of_generation(id), std::ranges::count(ends, id) == 1) << id;
  }
  return {ends.begin(), ends.end()};
}

TEST(Tokenizer, EndsGenerationByTheIdsOfTheFile) {
  Vocabulary vocabulary = spm_vocabulary();
  vocabulary.tokens[2].type = TokenType::kNormal;  // "</s>"
  vocabulary.eos = 6;
  vocabulary.eot = 5;
  vocabulary.eom = 5;
  EXPECT_EQ(ends_of(vocabulary), (Ids{5, 6}));
}

TEST(Tokenizer, EndsGenerationByControlTokensThatAreKnownTo) {
  Vocabulary vocabulary = bpe_vocabulary("gpt-2");
  const auto control = [](const char* text) { return Token{text, 0, TokenType::kControl}; };
  vocabulary.eos.reset();
  vocabulary.tokens[0] = control("<|im_start|>");
  vocabulary.tokens[1] = control("<|im_end|>");
  vocabulary.tokens[2] = {"<|eot_id|>", 0, TokenType::kNormal};
  vocabulary.tokens[3] = control("<|user|>");
  vocabulary.tokens[8] = control("<|end|>");
  EXPECT_EQ(ends_of(vocabulary), (Ids{1, 8}));
  vocabulary.tokens[4] = control("<|observation|>");  // GLM: a person's turn ends the model's
  EXPECT_EQ(ends_of(vocabulary), (Ids{1, 3, 4, 8}));
  vocabulary.tokens[5] = control("<|return|>");  // gpt-oss: <|end|> ends a message only
  EXPECT_EQ(ends_of(vocabulary), (Ids{1, 3, 4, 5}));
}

TEST(Tokenizer, EndsGenerationByUserDefinedTokensThatAreNoTags) {
  Vocabulary vocabulary = bpe_vocabulary("gpt-2");
  const auto shown = [](const char* text) { return Token{text, 0, TokenType::kUserDefined}; };
  vocabulary.eos.reset();
  vocabulary.tokens[0] = shown("<|tool_response>");  // of files of Gemma 4
  vocabulary.tokens[1] = {"<turn|>", 0, TokenType::kControl};
  vocabulary.tokens[2] = shown("</s>");  // a tag of HTML in vocabularies of Gemma
  vocabulary.tokens[3] = shown("<|end|>");
  vocabulary.tokens[4] = {"<|im_end|>", 0, TokenType::kNormal};
  EXPECT_EQ(ends_of(vocabulary), (Ids{0, 1, 3}));
}

TEST(Tokenizer, LongTextsAreEncodedAndDecoded) {
  Vocabulary bpe = bpe_vocabulary("llama-bpe");
  bpe.unk = 2;
  for (const Vocabulary& vocabulary : {spm_vocabulary(), bpe}) {
    const auto tokenizer = Tokenizer::create(vocabulary);
    ASSERT_TRUE(tokenizer);
    std::string abc;
    while (abc.size() < 1'000'000) abc += "abc";
    std::string specials;
    while (specials.size() < 1'000'000) specials += "<|en";
    for (const std::string& text : {std::string(1'000'000, 'a'), std::string(1'000'000, ' '), abc,
                                    specials, std::string(1'000'000, '\xFF')}) {
      const auto ids = tokenizer->encode(text, {.add_special = true, .parse_special = true});
      ASSERT_TRUE(ids) << ids.error().message();
      ASSERT_TRUE(tokenizer->decode(*ids));
    }
    const std::string text(1'000'000, 'a');
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text).value()).value(), text);
  }
}

TEST(Tokenizer, MayBeUsedFromManyThreads) {
  const auto tokenizer = Tokenizer::create(bpe_vocabulary("deepseek-coder"));
  ASSERT_TRUE(tokenizer);
  const Ids expected = tokenizer->encode("a ab abc\u00E9").value();
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) result = tokenizer->encode("a ab abc\u00E9").value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace shunt::text::text_tokenizer_test
