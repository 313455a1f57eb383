#include "convert/sentence_modules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "model/common_numbers.h"
#include "shunt/message.h"
#include "support/models.h"

namespace shunt::test::convert_sentence_modules_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModules =
    R"([{"path":"","type":"sentence_transformers.models.Transformer"},
        {"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
        {"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])";

class SentenceModulesTest : public ::testing::Test {
 protected:
  SentenceModulesTest() {
    keys_.count("embedding_length", 8);
    keys_.count("context_length", 512);
  }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

  std::string message() {
    const auto add = [&]() -> Status {
      SHUNT_ASSIGN(const SentenceModules modules, SentenceModules::read(path_));
      return modules.add_keys(lower_case_, keys_);
    };
    const Status status = add();
    if (status) return "added";
    std::string text = status.error().message();
    for (std::size_t at = 0; (at = text.find(path_)) != std::string::npos;)
      text.replace(at, path_.size(), "DIR");
    return text;
  }

  std::string text_of(const std::string& key) {
    const auto found = std::ranges::find(keys_.entries(), key, &gguf::KeyValue::key);
    return found == keys_.entries().end() ? "-" : std::get<std::string>(found->value.data);
  }

  TempFolder temporary_;
  std::string path_ = [this] {
    std::string path = temporary_.file("folder");
    fs::create_directories(path);
    return path;
  }();
  FileKeys keys_{"bert"};
  bool lower_case_ = false;
};

TEST_F(SentenceModulesTest, AFolderWithoutAListHasNone) {
  EXPECT_EQ(message(), "added");
  EXPECT_EQ(keys_.entries().size(), 2U);
}

/// The numbers are GGUF's.
TEST_F(SentenceModulesTest, PoolingIsAKey) {
  write("modules.json", kModules);
  const std::pair<std::string, std::int64_t> cases[] = {
      {R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":false})", 1},
      {R"({"word_embedding_dimension":8,"pooling_mode_cls_token":true})", 2},
      {R"({"pooling_mode_lasttoken":true,"include_prompt":true})", 3},
      {R"({"embedding_dimension":8,"pooling_mode":"mean"})", 1},
      {R"({"pooling_mode":"cls"})", 2},
      {R"({"pooling_mode":"lasttoken"})", 3},
  };
  for (const auto& [config, number] : cases) {
    SCOPED_TRACE(config);
    write("1_Pooling/config.json", config);
    EXPECT_EQ(message(), "added");
    EXPECT_EQ(keys_.count_of("pooling_type"), number);
  }
  EXPECT_TRUE(keys_.notes.empty());
}

TEST_F(SentenceModulesTest, PoolingCountsMoreThanThatOfClassifiers) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  keys_.count("classifier.pooling_type", 2);
  EXPECT_EQ(message(), "added");
  EXPECT_EQ(keys_.count_of("classifier.pooling_type"), -1);
}

/// Those of modern-bert have a key of their own.
TEST_F(SentenceModulesTest, PoolingBesideAClassifierIsRefused) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  for (const char* const key : {"classifier.pooling_type", "pooling_type"}) {
    SCOPED_TRACE(key);
    keys_.count(key, kRankPooling);
    EXPECT_EQ(message(),
              "DIR/1_Pooling/config.json: pooling_mode is 'mean'; expected none, beside a "
              "classifier");
    keys_.remove(key);
  }
  EXPECT_EQ(message(), "added");
}

TEST_F(SentenceModulesTest, VectorsOfTextsNeedPooling) {
  for (const char* const type : {"Normalize", "Dense"}) {
    SCOPED_TRACE(type);
    write("modules.json",
          fmt::format(R"([{{"path":"","type":"Transformer"}},{{"path":"","type":"Dropout"}},
                          {{"path":"2","type":"{}"}}])",
                      type));
    EXPECT_EQ(message(),
              "DIR/modules.json: no module Pooling; it is expected where there is Dense or "
              "Normalize");
  }
}

TEST_F(SentenceModulesTest, BadPoolingIsRefused) {
  write("modules.json", kModules);
  const std::pair<std::string, std::string> cases[] = {
      {R"({"pooling_mode_max_tokens":true})",
       "DIR/1_Pooling/config.json: pooling_mode_max_tokens is true; expected one of "
       "pooling_mode_cls_token, pooling_mode_mean_tokens and pooling_mode_lasttoken"},
      {R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})",
       "DIR/1_Pooling/config.json: pooling_mode_mean_tokens is true; expected one of "
       "pooling_mode_cls_token, pooling_mode_mean_tokens and pooling_mode_lasttoken"},
      {R"({})",
       "DIR/1_Pooling/config.json: pooling_mode is missing; expected \"cls\", \"mean\" or "
       "\"lasttoken\""},
      {R"({"pooling_mode":"max"})",
       "DIR/1_Pooling/config.json: pooling_mode is 'max'; expected \"cls\", \"mean\" or "
       "\"lasttoken\""},
      {R"({"pooling_mode":"mean","word_embedding_dimension":9})",
       "DIR/1_Pooling/config.json: word_embedding_dimension is 9; expected 8, by the model"},
      {R"({"pooling_mode":"mean","include_prompt":false})",
       "DIR/1_Pooling/config.json: include_prompt is false; expected true: Shunt pools prompts, "
       "too"},
      {R"([])", "DIR/1_Pooling/config.json: an array; an object is expected"},
  };
  for (const auto& [config, expected] : cases) {
    write("1_Pooling/config.json", config);
    EXPECT_EQ(message(), expected);
  }
}

TEST_F(SentenceModulesTest, AnotherModuleIsNamed) {
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  write("modules.json",
        R"([{"path":"","type":"a.Transformer"},{"path":"1_Pooling","type":"Pooling"},
                            {"path":"2_LSTM","type":"sentence_transformers.models.LSTM"}])");
  EXPECT_EQ(message(),
            "DIR/modules.json: module 2 is 'LSTM' in '2_LSTM'; expected Transformer in the folder "
            "itself, Pooling, two Dense for gemma-embedding, then Normalize");
  write("modules.json", R"([{"path":"0_Transformer","type":"Transformer"}])");
  EXPECT_EQ(message(),
            "DIR/modules.json: module 0 is 'Transformer' in '0_Transformer'; expected Transformer "
            "in the folder itself, Pooling, two Dense for gemma-embedding, then Normalize");
}

TEST_F(SentenceModulesTest, BadListsAreRefused) {
  const std::string expected =
      "; an array of objects is expected, each with the texts \"type\" and \"path\", which leads "
      "to a folder in this one";
  const std::pair<std::string, std::string> cases[] = {
      {"{}", "an object"},
      {"[1]", "1"},
      {R"([{"path":""}])", "an object"},
      {R"([{"path":1,"type":"a"}])", "an object"},
      {R"([{"path":"../x","type":"Pooling"}])", "an object"},
      {R"([{"path":"a/../../x","type":"Pooling"}])", "an object"},
      {R"([{"path":"/etc","type":"Pooling"}])", "an object"},
  };
  for (const auto& [list, found] : cases) {
    SCOPED_TRACE(list);
    write("modules.json", list);
    EXPECT_EQ(message(), "DIR/modules.json: " + found + expected);
  }
}

TEST_F(SentenceModulesTest, OtherVectorsAreNoted) {
  write("modules.json", R"([{"path":"","type":"Transformer"},{"path":"p","type":"Pooling"}])");
  write("p/config.json", R"({"pooling_mode":"mean"})");
  write("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":false})");
  EXPECT_EQ(message(), "added");
  ASSERT_EQ(keys_.notes.size(), 2U);
  EXPECT_EQ(keys_.notes[0],
            path_ +
                "/modules.json: no module Normalize: shunt embed --no-normalize gives the "
                "vectors of this model");
  EXPECT_EQ(keys_.notes[1],
            path_ +
                "/sentence_bert_config.json: max_seq_length is 256: sentence-transformers cuts "
                "longer texts there, shunt embed does not");
}

TEST_F(SentenceModulesTest, SmallLettersNeedATokenizerThatMakesThem) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  write("sentence_bert_config.json", R"({"max_seq_length":512,"do_lower_case":true})");
  EXPECT_EQ(message(),
            "DIR/sentence_bert_config.json: do_lower_case is true; expected false, as the "
            "tokenizer keeps capital letters");
  lower_case_ = true;
  EXPECT_EQ(message(), "added");
}

TEST_F(SentenceModulesTest, PromptsAreKeys) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  write("config_sentence_transformers.json",
        R"({"prompts":{"query":"query: ","document":""},"default_prompt_name":"query"})");
  EXPECT_EQ(message(), "added");
  EXPECT_EQ(text_of("tokenizer.shunt.prompt.query"), "query: ");
  EXPECT_EQ(text_of("tokenizer.shunt.prompt.document"), "");
  EXPECT_EQ(text_of("tokenizer.shunt.default_prompt"), "query");
}

TEST_F(SentenceModulesTest, BadPromptsAreRefused) {
  write("modules.json", kModules);
  write("1_Pooling/config.json", R"({"pooling_mode":"mean"})");
  const std::pair<std::string, std::string> cases[] = {
      {R"({"prompts":[]})", "prompts is an array; expected an object of texts"},
      {R"({"prompts":{"query":1}})", "prompts is an object; expected an object of texts"},
      {R"({"prompts":{},"default_prompt_name":"query"})",
       "default_prompt_name is 'query'; expected the name of a prompt"},
      {R"({"default_prompt_name":"query"})",
       "default_prompt_name is 'query'; expected null, as there are no prompts"},
  };
  for (const auto& [config, expected] : cases) {
    write("config_sentence_transformers.json", config);
    EXPECT_EQ(message(), "DIR/config_sentence_transformers.json: " + expected);
  }
}

}  // namespace
}  // namespace shunt::test::convert_sentence_modules_test
