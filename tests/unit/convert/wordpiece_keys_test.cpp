// Tokenizers of encoders: WordPiece in its two files, and the tokens that are added to a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "convert/tokenizer_keys.h"
#include "engine/embed/text_pair.h"
#include "gguf/without_data.h"
#include "shunt/vocabulary.h"
#include "support/models.h"
#include "support/must.h"

namespace shunt::test::convert_wordpiece_keys_test {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

constexpr const char* kVocabulary =
    "[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##want\n##ed\n##\n#\ne\n,\n";

/// The same vocabulary in the newer form.
constexpr const char* kTokenizerJson = R"({
    "added_tokens":[{"id":0,"content":"[PAD]","special":true},{"id":2,"content":"[UNK]","special":true},
                    {"id":3,"content":"[CLS]","special":true},{"id":4,"content":"[SEP]","special":true},
                    {"id":5,"content":"[MASK]","special":true,"lstrip":true}],
    "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
                  "strip_accents":null,"lowercase":true},
    "pre_tokenizer":{"type":"BertPreTokenizer"},
    "post_processor":{"type":"TemplateProcessing",
                      "single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},
                                {"Sequence":{"id":"A","type_id":0}},
                                {"SpecialToken":{"id":"[SEP]","type_id":0}}],
                      "special_tokens":{"[CLS]":{"ids":[3]},"[SEP]":{"ids":[4]}}},
    "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
             "max_input_chars_per_word":100,
             "vocab":{"[PAD]":0,"[unused0]":1,"[UNK]":2,"[CLS]":3,"[SEP]":4,"[MASK]":5,"un":6,
                      "##want":7,"##ed":8,"##":9,"#":10,"e":11,",":12}}})";

class WordPieceKeys : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(path_);
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

  Result<std::vector<gguf::KeyValue>> keys() {
    const Config config = must(Config::parse("{}", path_ + "/config.json"));
    return tokenizer_keys(path_, config, "bert", 13, notes_);
  }

  std::string message() {
    const auto made = keys();
    if (made) return "made";
    std::string text = made.error().message();
    for (std::size_t at = 0; (at = text.find(path_)) != std::string::npos;)
      text.replace(at, path_.size(), "DIR");
    return text;
  }

  text::Tokenizer tokenizer() {
    const gguf::File file = must(gguf::without_data("file", must(keys()), {}));
    return must(text::Tokenizer::create(must(vocabulary_from_gguf(file))));
  }

  TempFolder temporary_;
  std::string path_ = temporary_.file("folder");
  std::vector<std::string> notes_;
};

/// "unwanted" is the example of BERT's own test.
TEST_F(WordPieceKeys, BothFilesGiveTheTokensOfBert) {
  for (const bool json : {true, false}) {
    SCOPED_TRACE(json);
    fs::remove_all(path_);
    if (json) write("tokenizer.json", kTokenizerJson);
    if (!json) write("vocab.txt", kVocabulary);
    const text::Tokenizer made = tokenizer();
    EXPECT_EQ(must(made.encode("UNwant\u00E9d, e x #[unused0]")),
              (Ids{3, 6, 7, 8, 12, 11, 2, 10, 2, 2, 2, 4}));
    EXPECT_EQ(made.vocabulary().pad, 0);
    EXPECT_EQ(made.vocabulary().mask, 5);
    EXPECT_EQ(made.token_type(5), text::TokenType::kControl);
    EXPECT_TRUE(made.adds_bos());
    EXPECT_TRUE(made.adds_eos());
  }
}

TEST_F(WordPieceKeys, LettersStayAsTheSettingsSay) {
  write("vocab.txt", kVocabulary);
  write("tokenizer_config.json", R"({"do_lower_case":false})");
  EXPECT_EQ(must(tokenizer().encode("UN un")), (Ids{3, 2, 6, 4}));
  write("tokenizer_config.json", R"({"do_lower_case":true,"strip_accents":false})");
  EXPECT_EQ(must(tokenizer().encode("UN \u00E9")), (Ids{3, 6, 2, 4}));
}

TEST_F(WordPieceKeys, RulesOfAddedTokensAreKept) {
  write("tokenizer.json", kTokenizerJson);
  text::EncodeOptions options;
  options.parse_special = true;
  options.add_special = false;
  const text::Tokenizer made = tokenizer();
  EXPECT_EQ(must(made.encode("un [MASK],", options)), (Ids{6, 5, 12}));
  EXPECT_TRUE(made.vocabulary().tokens[5].rules.strip_left);
  EXPECT_FALSE(made.vocabulary().tokens[5].rules.strip_right);
  EXPECT_FALSE(made.vocabulary().tokens[4].rules.strip_left);
}

TEST_F(WordPieceKeys, WithoutAPostProcessorNothingIsAdded) {
  std::string json = kTokenizerJson;
  json.replace(json.find("post_processor"), 14, "x");
  write("tokenizer.json", json);
  EXPECT_EQ(must(tokenizer().encode("un")), (Ids{6}));
}

TEST_F(WordPieceKeys, SettingsCountMoreThanAPostProcessor) {
  write("tokenizer.json", kTokenizerJson);
  write("tokenizer_config.json", R"({"add_bos_token":false})");
  EXPECT_EQ(must(tokenizer().encode("un")), (Ids{6, 4}));
}

TEST_F(WordPieceKeys, OtherStepsThanThoseOfBertAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"\"clean_text\":true", "\"clean_text\":false"},
      {"\"handle_chinese_chars\":true", "\"handle_chinese_chars\":false"},
      {"\"lowercase\":true", "\"lowercase\":1"},
  };
  const std::string messages[] = {
      "DIR/tokenizer.json: normalizer.clean_text is false; Shunt has true only",
      "DIR/tokenizer.json: normalizer.handle_chinese_chars is false; Shunt has true only",
      "DIR/tokenizer.json: normalizer.lowercase is 1; expected true, false or null",
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    std::string json = kTokenizerJson;
    json.replace(json.find(cases[i].first), cases[i].first.size(), cases[i].second);
    write("tokenizer.json", json);
    EXPECT_EQ(message(), messages[i]);
  }
}

TEST_F(WordPieceKeys, BadListsAreRefused) {
  write("vocab.txt", "[UNK]\n[CLS]\nun\n");
  EXPECT_EQ(message(),
            "DIR/vocab.txt: one of the unknown, CLS and SEP tokens is missing, such as [UNK]");
  write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nun\nun\n");
  EXPECT_EQ(message(),
            "DIR/vocab.txt: tokens 3 and 4 are both '\u2581un'; a text is expected once");
  write("vocab.txt", std::string(kVocabulary) + "two\nmore\n");
  EXPECT_EQ(message(),
            "DIR/vocab.txt: line 14 has a token; 13 are expected, by the rows of the embedding");
}

std::string roberta_json(const std::string& post_processor) {
  return R"({
      "added_tokens":[{"id":0,"content":"<s>","special":true},{"id":1,"content":"</s>","special":true},
                      {"id":2,"content":"<unk>","special":true}],
      "post_processor":)" +
         post_processor + R"(,
      "model":{"type":"Unigram","unk_id":2,
               "vocab":[["<s>",0],["</s>",0],["<unk>",0],["\u2581a",-1],["a",-2]]},
      "pre_tokenizer":{"type":"Metaspace","prepend_scheme":"always"}})";
}

/// The form for two texts has these tokens between them.
std::string template_json(const std::string& between) {
  return R"({"type":"TemplateProcessing",
             "single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"</s>"}}],
             "pair":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}},)" +
         between + R"({"Sequence":{"id":"B"}},{"SpecialToken":{"id":"</s>"}}],
             "special_tokens":{"<s>":{"ids":[0]},"</s>":{"ids":[1]}}})";
}

constexpr const char* kRobertaProcessing =
    R"({"type":"RobertaProcessing","sep":["</s>",1],"cls":["<s>",0]})";
constexpr const char* kEnd = R"({"SpecialToken":{"id":"</s>"}},)";

TEST_F(WordPieceKeys, TokensOfARobertaAreAdded) {
  for (const std::string& processor :
       {std::string(kRobertaProcessing), template_json(std::string(kEnd) + kEnd)}) {
    SCOPED_TRACE(processor);
    write("tokenizer.json", roberta_json(processor));
    const text::Tokenizer made = tokenizer();
    EXPECT_EQ(must(made.encode("a a")), (Ids{0, 3, 3, 1}));
    const EmbedTokens pair = must(tokens_of_pair(made, "a", "a"));
    EXPECT_EQ(pair.tokens, (Ids{0, 3, 1, 1, 3, 1}));
    EXPECT_EQ(pair.second_text, -1);
    EXPECT_TRUE(notes_.empty());
  }
}

/// kTokenizerJson with another post-processor.
std::string bert_json(const std::string& post_processor) {
  nlohmann::json json = nlohmann::json::parse(kTokenizerJson);
  json["post_processor"] = nlohmann::json::parse(post_processor);
  return json.dump();
}

/// The ids and types are those of the package tokenizers 0.23.
TEST_F(WordPieceKeys, PairsOfWordPieceHaveTheSeparatorsOfThePostProcessor) {
  write("tokenizer.json",
        bert_json(R"({"type":"RobertaProcessing","sep":["[SEP]",4],"cls":["[CLS]",3]})"));
  EmbedTokens pair = must(tokens_of_pair(tokenizer(), "unwant", "un e"));
  EXPECT_EQ(pair.tokens, (Ids{3, 6, 7, 4, 4, 6, 11, 4}));
  EXPECT_EQ(pair.second_text, -1);
  write("tokenizer.json",
        bert_json(R"({"type":"BertProcessing","sep":["[SEP]",4],"cls":["[CLS]",3]})"));
  pair = must(tokens_of_pair(tokenizer(), "unwant", "un e"));
  EXPECT_EQ(pair.tokens, (Ids{3, 6, 7, 4, 6, 11, 4}));
  EXPECT_EQ(pair.second_text, 4);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(WordPieceKeys, ASecondSeparatorOfAnotherIdIsNoted) {
  write("tokenizer.json", bert_json(R"({"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"[CLS]"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"[SEP]"}}],
      "pair":[{"SpecialToken":{"id":"[CLS]"}},{"Sequence":{"id":"A"}},{"SpecialToken":{"id":"[SEP]"}},
              {"SpecialToken":{"id":"[MASK]"}},{"Sequence":{"id":"B"}},{"SpecialToken":{"id":"[SEP]"}}],
      "special_tokens":{"[CLS]":{"ids":[3]},"[SEP]":{"ids":[4]},"[MASK]":{"ids":[5]}}})"));
  EXPECT_EQ(must(tokens_of_pair(tokenizer(), "un", "e")).tokens, (Ids{3, 6, 4, 11, 4}));
  EXPECT_THAT(notes_.front(),
              ::testing::HasSubstr("post_processor puts tokens 4 and 5 between two texts"));
}

TEST_F(WordPieceKeys, OneTokenBetweenTextsStaysOne) {
  write("tokenizer.json", roberta_json(template_json(kEnd)));
  const text::Tokenizer made = tokenizer();
  EXPECT_EQ(must(tokens_of_pair(made, "a", "a")).tokens, (Ids{0, 3, 1, 3, 1}));
  EXPECT_FALSE(made.vocabulary().add_sep);
}

TEST_F(WordPieceKeys, SeveralAddedTokensAreNoted) {
  std::string json = kTokenizerJson;
  const std::string ids = R"("ids":[3])";
  json.replace(json.find(ids), ids.size(), R"("ids":[3,5])");
  write("tokenizer.json", json);
  EXPECT_EQ(must(tokenizer().encode("un")), (Ids{6}));
  EXPECT_THAT(notes_.front(),
              ::testing::EndsWith("tokenizer.json: post_processor adds 2 tokens in front of a text "
                                  "and 1 behind it; the file has none of these, as there may be "
                                  "one each"));
}

}  // namespace
}  // namespace shunt::test::convert_wordpiece_keys_test
