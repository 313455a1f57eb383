// Conversations as tokens: which text may be a control token. The ids are worked out by hand.
#include "shunt/chat_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "unit/text/vocabularies.h"

namespace shunt::text::text_chat_encoder_test {
namespace {

using testing::Ids;

ChatPiece own(std::string text) {
  return {std::move(text), true};
}
ChatPiece said(std::string text) {
  return {std::move(text), false};
}

Ids encode(std::vector<ChatPiece> pieces, const std::function<void(Vocabulary&)>& change = {}) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  if (change) change(vocabulary);
  auto tokenizer = Tokenizer::create(vocabulary);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message();
  auto ids = ChatEncoder(*tokenizer).encode({std::move(pieces)});
  EXPECT_TRUE(ids) << ids.error().message();
  return ids ? *ids : Ids();
}

TEST(ChatEncoder, ReadsControlTokensOfTheTemplateOnly) {
  EXPECT_EQ(encode({own("<s>"), said("ab"), own("</s>")}), (Ids{1, 3, 7, 2}));
  EXPECT_EQ(encode({own("<s>"), said("<s>"), own("</s>")}), (Ids{1, 3, 19, 18, 2}));
  EXPECT_EQ(encode({own("<s>"), said("<s><s>")}), (Ids{1, 3, 19, 18, 19, 18}));
}

TEST(ChatEncoder, ATokenThatPeopleCompleteIsText) {
  EXPECT_EQ(encode({own("<s><"), said("s>")}), (Ids{1, 3, 19, 18}));
  EXPECT_EQ(encode({own("<s>"), said("<"), own("s>")}), (Ids{1, 3, 19, 18}));
  EXPECT_EQ(encode({own("<s>"), said("<s"), own(">")}), (Ids{1, 3, 19, 18}));
}

TEST(ChatEncoder, ATokenMayBeInSeveralPiecesOfTheTemplate) {
  EXPECT_EQ(encode({own("<s"), own(">"), said("ab")}), (Ids{1, 3, 7}));
  EXPECT_EQ(encode({own("<s"), said(""), own(">"), said("ab")}), (Ids{1, 3, 7}));
}

TEST(ChatEncoder, EndsOfPiecesDoNotDivideWords) {
  EXPECT_EQ(encode({own("<s>a"), said("b")}), (Ids{1, 3, 7}));
  EXPECT_EQ(encode({own("<s>"), said("a"), own("b</s>")}), (Ids{1, 3, 7, 2}));
}

TEST(ChatEncoder, BosComesFirstIfTheTemplateHasNone) {
  EXPECT_EQ(encode({said("ab")}), (Ids{1, 3, 7}));
  EXPECT_EQ(encode({said("<s>ab")}), (Ids{1, 3, 19, 18, 7}));
  EXPECT_EQ(encode({said("a"), own("<s>")}), (Ids{1, 9, 1}));
  EXPECT_EQ(encode({}), (Ids{1}));
  const auto without = [](Vocabulary& vocabulary) { vocabulary.add_bos = false; };
  EXPECT_EQ(encode({said("ab")}, without), (Ids{3, 7}));
}

/// apply_chat_template() of transformers encodes with add_special_tokens=False.
TEST(ChatEncoder, BosOfTheTemplateIsNotDoubled) {
  for (const bool adds : {false, true}) {
    SCOPED_TRACE(adds);
    const auto with = [&](Vocabulary& vocabulary) { vocabulary.add_bos = adds; };
    EXPECT_EQ(encode({own("<s>"), said("ab")}, with), (Ids{1, 3, 7}));
    EXPECT_EQ(encode({own("a<s>"), said("ab")}, with), (Ids{9, 1, 3, 7}));
    EXPECT_EQ(encode({own("a"), said(""), own("<s>"), said("ab")}, with), (Ids{9, 1, 3, 7}));
    EXPECT_EQ(encode({own("</s><s>"), said("ab")}, with), (Ids{2, 1, 3, 7}));
    EXPECT_EQ(encode({own("<s><s>"), said("ab")}, with), (Ids{1, 1, 3, 7}));
  }
}

TEST(ChatEncoder, NoEosIsAdded) {
  const auto with = [](Vocabulary& vocabulary) { vocabulary.add_eos = true; };
  EXPECT_EQ(encode({own("<s>"), said("ab")}, with), (Ids{1, 3, 7}));
}

TEST(ChatEncoder, UserDefinedTokensAreAlwaysRead) {
  EXPECT_EQ(encode({own("<s>[X]"), said("[X]")}), (Ids{1, 14, 14}));
}

TEST(ChatEncoder, MarksOfTurnsAreReadInTheTemplateOnly) {
  for (const char* mark : {"<|end|>", "<|end", "end|>"}) {
    SCOPED_TRACE(mark);
    const auto change = [&](Vocabulary& vocabulary) {
      vocabulary.tokens.push_back({mark, 0, TokenType::kUserDefined});
    };
    const std::int32_t id = 21;
    const Ids from_template = encode({own("<s>"), said("ab"), own(mark)}, change);
    EXPECT_EQ(from_template, (Ids{1, 3, 7, id}));
    const Ids from_people = encode({own("<s>"), said(std::string("ab") + mark)}, change);
    EXPECT_EQ(std::count(from_people.begin(), from_people.end(), id), 0);
  }
}

TEST(ChatEncoder, PeopleDoNotMakeAControlTokenDisappear) {
  for (const TokenType type : {TokenType::kControl, TokenType::kUserDefined}) {
    const auto change = [&](Vocabulary& vocabulary) {
      vocabulary.tokens.push_back({"</s>a", 0, type});
    };
    EXPECT_EQ(encode({own("<s></s>"), said("ab")}, change), encode({own("<s></s>"), said("ab")}));
    EXPECT_EQ(encode({own("<s></s>a")}, change), (Ids{1, 21}));
  }
}

TEST(ChatEncoder, AUserDefinedTokenOfPeopleDoesNotHideAControlToken) {
  const auto change = [](Vocabulary& vocabulary) {
    vocabulary.tokens.push_back({"b<", 0, TokenType::kUserDefined});
  };
  EXPECT_EQ(encode({own("<s>"), said("ab"), own("</s>")}, change), (Ids{1, 3, 7, 2}));
  EXPECT_EQ(encode({own("<s>"), said("ab<")}, change), (Ids{1, 9, 21}));
}

TEST(ChatEncoder, AControlTokenTakesWhiteSpaceOfPeople) {
  const auto with = [](AddedTokenRules rules) {
    return [rules](Vocabulary& vocabulary) { vocabulary.tokens[2].rules = rules; };
  };
  EXPECT_EQ(encode({own("<s></s>\n"), said("  ab")}, with({.strip_right = true})),
            (Ids{1, 2, 3, 7}));
  EXPECT_EQ(encode({own("<s>"), said("ab \n "), own("</s>")}, with({.strip_left = true})),
            (Ids{1, 3, 7, 2}));
  EXPECT_EQ(encode({own("<s></s>"), said("ab")}, with({.single_word = true})),
            encode({own("<s>"), said("</s>ab")}))
      << "a letter is next to it";
}

/// In quadratic time this takes minutes.
TEST(ChatEncoder, TakesLinearTimeForTextThatIsFullOfTokens) {
  std::string tokens;
  std::string spaces;
  for (int i = 0; i < 100'000; ++i) {
    tokens += "<s>";
    spaces += ' ';
  }
  EXPECT_EQ(encode({own("<s>"), said(tokens)}).size(), 2U + 200'000U);
  EXPECT_EQ(encode({own(tokens)}).size(), 100'000U);
  std::vector<ChatPiece> turns;
  for (int i = 0; i < 20'000; ++i) {
    turns.push_back(own("a"));
    turns.push_back(said(" <"));
  }
  EXPECT_GT(encode(std::move(turns)).size(), 40'000U);
  const auto strips = [](Vocabulary& vocabulary) {
    vocabulary.tokens[2].rules = {.strip_left = true, .strip_right = true};
  };
  EXPECT_EQ(encode({own("<s>"), said(spaces), own("</s>"), said(spaces), own("</s>")}, strips),
            (Ids{1, 2, 2}));
}

TEST(ChatEncoder, SpecialTokensHaveTheNamesOfTransformers) {
  Vocabulary vocabulary = testing::spm_vocabulary();
  vocabulary.unk = 0;
  vocabulary.pad = 15;
  ChatInputs inputs;
  inputs.tokens = {{"mask_token", "old"}};
  name_special_tokens(vocabulary, inputs);
  EXPECT_EQ(inputs.bos_token, "<s>");
  EXPECT_EQ(inputs.eos_token, "</s>");
  const std::vector<std::pair<std::string, std::string>> expected = {{"unk_token", "<unk>"},
                                                                     {"pad_token", "<pad>"}};
  EXPECT_EQ(inputs.tokens, expected);
  vocabulary.bos = std::nullopt;  // the usual one is taken
  name_special_tokens(vocabulary, inputs);
  EXPECT_EQ(inputs.bos_token, "<s>");
  vocabulary.tokens[1].text = "<begin>";
  vocabulary.eos = 1000;  // not checked yet
  name_special_tokens(vocabulary, inputs);
  EXPECT_EQ(inputs.bos_token, "");
  EXPECT_EQ(inputs.eos_token, "");
}

TEST(ChatEncoder, TextsOfSpecialTokensAreTheTemplates) {
  const auto chat = ChatTemplate::create("{{ bos_token }}{{ pad_token }}{{ mask_token }}");
  ASSERT_TRUE(chat);
  ChatInputs inputs;
  inputs.bos_token = "<s>";
  inputs.tokens = {{"pad_token", "<pad>"}};
  const auto rendered = chat->render(inputs);
  ASSERT_TRUE(rendered) << rendered.error().message();
  ASSERT_EQ(rendered->pieces.size(), 1U);
  EXPECT_EQ(rendered->pieces[0].text, "<s><pad>");
  EXPECT_TRUE(rendered->pieces[0].from_template);
}

}  // namespace
}  // namespace shunt::text::text_chat_encoder_test
