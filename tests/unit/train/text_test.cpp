// Texts as documents of tokens, with a vocabulary of bytes: each token can be worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/train.h"

namespace shunt::test::train_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int32_t kBos = 1;
constexpr std::int32_t kEos = 2;
/// The token of a character.
constexpr std::int32_t byte(char c) {
  return 3 + static_cast<unsigned char>(c);
}

text::Tokenizer bytes(bool has_ends = true) {
  text::Vocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {{"<unk>", 0, text::TokenType::kUnknown},
                       {"<s>", 0, text::TokenType::kControl},
                       {"</s>", 0, text::TokenType::kControl}};
  for (int i = 0; i < 256; ++i) {
    vocabulary.tokens.push_back({fmt::format("<0x{:02X}>", i), 0, text::TokenType::kByte});
  }
  vocabulary.bos = kBos;
  vocabulary.eos = kEos;
  if (!has_ends) {
    // The usual texts would be taken for these tokens.
    vocabulary.bos.reset();
    vocabulary.eos.reset();
    vocabulary.tokens[kBos].text = "<begin>";
    vocabulary.tokens[kEos].text = "<end>";
  }
  vocabulary.add_space_prefix = false;
  return *text::Tokenizer::create(std::move(vocabulary));
}

TEST(TrainingText, IsSplitAtTheTextOfTheEosToken) {
  const auto text = read_training_text(bytes(), "ab\n</s>\nc\r\n</s>\r\n\nd");
  ASSERT_TRUE(text) << text.error().message();
  ASSERT_EQ(text->documents(), 3U);
  EXPECT_THAT(text->document(0), ElementsAre(kBos, byte('a'), byte('b'), kEos));
  EXPECT_THAT(text->document(1), ElementsAre(kBos, byte('c'), kEos));
  EXPECT_THAT(text->document(2), ElementsAre(kBos, byte('\n'), byte('d'), kEos));
  EXPECT_EQ(text->text_bytes(), 2U + 1 + 2);
}

TEST(TrainingText, WithoutEosTextIsOneDocument) {
  const auto text = read_training_text(bytes(), "one");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->documents(), 1U);
}

TEST(TrainingText, SkipsEmptyDocuments) {
  const auto text = read_training_text(bytes(), "</s></s>\na</s>\n");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->documents(), 1U);
  for (const char* empty : {"", "</s>", "</s>\n</s>\n"}) {
    const auto none = read_training_text(bytes(), empty);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message(), HasSubstr("no text"));
  }
}

TEST(TrainingText, NeedsAnEosToken) {
  const auto text = read_training_text(bytes(false), "a");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kUnsupported);
}

TEST(TrainingText, NeedsAnEosTokenWithText) {
  text::Vocabulary vocabulary = bytes().vocabulary();
  vocabulary.tokens[kEos].text = "";
  const auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const auto text = read_training_text(*tokenizer, "ab");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code(), ErrorCode::kUnsupported);
}

TEST(TrainingText, AddsBosAsTheVocabularySays) {
  text::Vocabulary vocabulary = bytes().vocabulary();
  vocabulary.add_bos = false;
  const auto text = read_training_text(*text::Tokenizer::create(std::move(vocabulary)), "abc");
  ASSERT_TRUE(text);
  EXPECT_THAT(text->document(0), ElementsAre(byte('a'), byte('b'), byte('c'), kEos));
  EXPECT_EQ(text->text_bytes(), 2U) << "nothing predicts the first one";
}

TEST(TrainingText, SplitsOffAShareAtTheEnd) {
  auto text = read_training_text(bytes(), "aaaa</s>bbbb</s>cc</s>dd");
  ASSERT_TRUE(text);
  // 20 tokens: those of the last two documents are 8.
  const auto tail = split_off(*text, 0.3);
  ASSERT_TRUE(tail);
  ASSERT_EQ(tail->documents(), 2U);
  EXPECT_THAT(tail->document(1), ElementsAre(kBos, byte('d'), byte('d'), kEos));
  EXPECT_EQ(tail->text_bytes(), 4U);
  ASSERT_EQ(text->documents(), 2U);
  EXPECT_EQ(text->tokens.size(), 12U);
  EXPECT_EQ(text->text_bytes(), 8U);
}

TEST(TrainingText, CannotBeSplitIfOneSideIsEmpty) {
  auto text = read_training_text(bytes(), "only one");
  ASSERT_TRUE(text);
  EXPECT_FALSE(split_off(*text, 0.5));
  for (const double share : {0.0, 1.0, -1.0}) {
    auto two = read_training_text(bytes(), "a</s>b");
    EXPECT_FALSE(split_off(*two, share)) << share;
  }
}

TEST(LearningRate, GrowsThenFallsAlongACosine) {
  const TrainOptions options{.steps = 110, .warmup = 10, .rate = 1, .final_rate = 0.1};
  EXPECT_NEAR(learning_rate(options, 1), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(options, 5), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(options, 10), 1, 1e-12);
  // A quarter of the way, half of it, all of it.
  EXPECT_NEAR(learning_rate(options, 60), 0.55, 1e-12);
  EXPECT_NEAR(learning_rate(options, 35), 0.1 + 0.9 * (1 + 0.7071067811865476) / 2, 1e-12);
  EXPECT_NEAR(learning_rate(options, 110), 0.1, 1e-12);
}

TEST(LearningRate, NeedsNoWarmup) {
  const TrainOptions options{.steps = 1, .warmup = 0, .rate = 1, .final_rate = 0.5};
  EXPECT_EQ(learning_rate(options, 1), 0.5);
}

TEST(TrainOptions, InvalidValuesAreNamed) {
  struct Wrong {
    const char* name;
    void (*change)(TrainOptions&);
  };
  constexpr Wrong kWrong[] = {
      {"context", [](TrainOptions& o) { o.context = 1; }},
      {"context", [](TrainOptions& o) { o.context = 65'537; }},
      {"rows", [](TrainOptions& o) { o.rows = 0; }},
      {"accumulate", [](TrainOptions& o) { o.accumulate = 0; }},
      {"steps", [](TrainOptions& o) { o.steps = 0; }},
      {"warmup", [](TrainOptions& o) { o.warmup = -1; }},
      {"rate", [](TrainOptions& o) { o.rate = -1; }},
      {"rate", [](TrainOptions& o) { o.rate = std::numeric_limits<double>::quiet_NaN(); }},
      {"final_rate", [](TrainOptions& o) { o.final_rate = 1e40; }},
      {"beta1", [](TrainOptions& o) { o.beta1 = 1; }},
      {"beta2", [](TrainOptions& o) { o.beta2 = -0.1; }},
      {"eps", [](TrainOptions& o) { o.eps = 0; }},
      {"weight_decay", [](TrainOptions& o) { o.weight_decay = -1; }},
      {"clip", [](TrainOptions& o) { o.clip = -1; }},
  };
  EXPECT_TRUE(check_train_options({}));
  for (const Wrong& wrong : kWrong) {
    TrainOptions options;
    wrong.change(options);
    const Status checked = check_train_options(options);
    ASSERT_FALSE(checked) << wrong.name;
    EXPECT_THAT(checked.error().message(), HasSubstr(wrong.name));
  }
}

}  // namespace
}  // namespace shunt::test::train_text_test
