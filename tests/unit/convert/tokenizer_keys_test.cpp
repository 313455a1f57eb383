#include "convert/tokenizer_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "convert/sentencepiece_model.h"
#include "support/models.h"
#include "support/must.h"

namespace shunt::test::convert_tokenizer_keys_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class TokenizerKeys : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }

  Result<std::vector<gguf::KeyValue>> keys(std::int64_t size, const std::string& config = "{}") {
    const Config read = must(Config::parse(config, path_ + "/config.json"));
    return tokenizer_keys(path_, read, "llama", size, notes_);
  }

  std::string message(std::int64_t size) {
    const auto made = keys(size);
    if (made) return "made";
    std::string text = made.error().message();
    for (std::size_t at = 0; (at = text.find(path_)) != std::string::npos;)
      text.replace(at, path_.size(), "DIR");
    return text;
  }

  TempFolder temporary_;
  std::string path_ = [this] {
    std::string path = temporary_.file("folder");
    fs::create_directories(path);
    return path;
  }();
  std::vector<std::string> notes_;
};

const gguf::Value* find(const std::vector<gguf::KeyValue>& keys, std::string_view key) {
  const auto found = std::ranges::find(keys, "tokenizer." + std::string(key), &gguf::KeyValue::key);
  return found == keys.end() ? nullptr : &found->value;
}

std::string text(const std::vector<gguf::KeyValue>& keys, std::string_view key) {
  const gguf::Value* const found = find(keys, key);
  return found == nullptr ? "-" : std::get<std::string>(found->data);
}

std::int64_t id(const std::vector<gguf::KeyValue>& keys, std::string_view key) {
  const gguf::Value* const found = find(keys, key);
  return found == nullptr ? -1 : static_cast<std::int64_t>(std::get<std::uint64_t>(found->data));
}

const gguf::Array& array(const std::vector<gguf::KeyValue>& keys, std::string_view key) {
  return *std::get<std::shared_ptr<const gguf::Array>>(find(keys, key)->data);
}

constexpr const char* kQwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Json byte_level(const std::string& expression) {
  return {{"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}},
              {{"type", "ByteLevel"}, {"use_regex", false}}}}}},
          {"added_tokens",
           {{{"id", 3}, {"content", "<|im_end|>"}, {"special", true}},
            {{"id", 4}, {"content", "<think>"}, {"special", false}}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}},
            {"merges", Json::array({Json::array({"a", "b"})})}}}};
}

TEST_F(TokenizerKeys, ByteLevelBpeHasTheNameOfItsExpression) {
  write("tokenizer.json", byte_level(kQwen).dump());
  write("tokenizer_config.json",
        R"({"eos_token":{"content":"<|im_end|>"},"add_bos_token":false,"chat_template":"{{x}}"})");
  const auto made = keys(6, R"({"bos_token_id":1})");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(text(*made, "ggml.model"), "gpt2");
  EXPECT_EQ(text(*made, "ggml.pre"), "qwen2");
  EXPECT_EQ(array(*made, "ggml.tokens").strings,
            (std::vector<std::string>{"a", "b", "ab", "<|im_end|>", "<think>", "[PAD5]"}));
  EXPECT_EQ(array(*made, "ggml.token_type").integers,
            (std::vector<std::int64_t>{1, 1, 1, 3, 4, 5}));
  EXPECT_EQ(array(*made, "ggml.merges").strings, (std::vector<std::string>{"a b"}));
  EXPECT_EQ(id(*made, "ggml.bos_token_id"), 1);
  EXPECT_EQ(id(*made, "ggml.eos_token_id"), 3);
  EXPECT_EQ(text(*made, "chat_template"), "{{x}}");
}

TEST_F(TokenizerKeys, AnUnknownExpressionIsQuoted) {
  write("tokenizer.json", byte_level("[a-z]+").dump());
  EXPECT_EQ(message(6),
            "DIR/tokenizer.json: pre_tokenizer: Shunt does not know a model that cuts text by "
            "'[a-z]+'");
}

TEST_F(TokenizerKeys, ATemplateOfItsOwnCountsMore) {
  write("tokenizer.json", byte_level(kQwen).dump());
  write("tokenizer_config.json",
        R"({"chat_template":[{"name":"default","template":"a"},{"name":"rag","template":"b"}]})");
  write("chat_template.jinja", "c");
  const auto made = keys(6);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(text(*made, "chat_template"), "c");
  EXPECT_EQ(text(*made, "chat_template.rag"), "b");
  EXPECT_EQ(array(*made, "chat_templates").strings, (std::vector<std::string>{"rag"}));
}

TEST_F(TokenizerKeys, ATurnEndsWithTheIdsOfGenerationConfig) {
  write("tokenizer.json", byte_level(kQwen).dump());
  write("generation_config.json", R"({"eos_token_id":[0,3]})");
  const auto made = keys(6);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(id(*made, "ggml.eos_token_id"), 0);
  EXPECT_EQ(id(*made, "ggml.eot_token_id"), 3);
}

TEST_F(TokenizerKeys, AFolderWithoutATokenizerIsNoted) {
  const auto made = keys(6);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(made->empty());
  EXPECT_EQ(notes_.size(), 1U);
}

struct BadTokenizer {
  std::string name;
  std::string json;
  std::string message;
};

class BadTokenizers : public TokenizerKeys, public ::testing::WithParamInterface<BadTokenizer> {};

TEST_P(BadTokenizers, AreRefusedWithTheirPlace) {
  write("tokenizer.json", GetParam().json);
  EXPECT_EQ(message(4), "DIR/" + GetParam().message);
}

const BadTokenizer kBadTokenizers[] = {
    {"NoModel", "{}", "tokenizer.json: model.type is null; known are BPE, Unigram and WordPiece"},
    {"Kind", R"({"model":{"type":"WordLevel"}})",
     "tokenizer.json: model.type is 'WordLevel'; known are BPE, Unigram and WordPiece"},
    {"TwoMembers", R"({"model":{"type":"WordPiece","vocab":{"a":0,"b":1,"a":2}}})",
     "tokenizer.json: 'model'.'vocab'.'a' is there twice; a member of an object is expected once"},
    {"TwoTokens", R"({"model":{"type":"Unigram","vocab":[["a",0],["b",0],["a",0]]}})",
     "tokenizer.json: tokens 0 and 2 are both 'a'; a text is expected once"},
    {"EmptyToken", R"({"model":{"type":"Unigram","vocab":[["a",0],["",0]]}})",
     "tokenizer.json: token 1 is empty; a text is expected"},
    {"CyclicMerge",
     R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["","a"]]},"decoder":{"type":"ByteLevel"},
         "pre_tokenizer":{"type":"ByteLevel"}})",
     "tokenizer.json: merge 0 is \" a\" and not two parts with a space between"},
    {"ByteToken",
     R"({"model":{"type":"BPE","byte_fallback":true,"unk_token":"a","vocab":{"a":0,"<0x-1>":1},
         "merges":[]}})",
     "tokenizer.json: token 1 is a byte, but its text is \"<0x-1>\" and not like \"<0x0A>\""},
    {"PostProcessor",
     R"({"model":{"type":"Unigram","vocab":[["a",0]]},"post_processor":{"type":"Spiral"}})",
     "tokenizer.json: post_processor.type is 'Spiral'; known are ByteLevel, TemplateProcessing, "
     "BertProcessing, RobertaProcessing and a Sequence of these"},
    {"PostProcessorId",
     R"({"model":{"type":"Unigram","vocab":[["a",0]]},
         "post_processor":{"type":"RobertaProcessing","cls":["a",0],"sep":["b",1]}})",
     "tokenizer.json: post_processor adds token 1; an id below 1 is expected"},
    {"NoBertSteps", R"({"model":{"type":"WordPiece","vocab":{"a":0}}})",
     "tokenizer.json: WordPiece without the steps BertNormalizer in normalizer and "
     "BertPreTokenizer in pre_tokenizer"},
    {"LongWords",
     R"({"model":{"type":"WordPiece","vocab":{"a":0},"max_input_chars_per_word":200}})",
     "tokenizer.json: model.max_input_chars_per_word is 200; Shunt has 100 only"},
    {"SameId", R"({"model":{"type":"WordPiece","vocab":{"a":0,"b":0}}})",
     "tokenizer.json: tokens 'a' and 'b' have the same id 0"},
    {"NegativeId", R"({"model":{"type":"WordPiece","vocab":{"a":-1}}})",
     "tokenizer.json: model.vocab: token 'a' has id -1"},
    {"HugeId", R"({"model":{"type":"WordPiece","vocab":{"a":99999999999}}})",
     "tokenizer.json: token 'a' has id 99999999999; ids are below 4, by the rows of the embedding"},
    {"AddedId",
     R"({"model":{"type":"Unigram","vocab":[["a",0]]},
         "added_tokens":[{"id":18446744073709551615,"content":"b"}]})",
     "tokenizer.json: token 'b' has id -1; ids are below 4, by the rows of the embedding"},
    {"MoreThanRows",
     R"({"model":{"type":"Unigram","vocab":[["a",0],["b",0],["c",0],["d",0],["e",0]]}})",
     "tokenizer.json: token 'e' has id 4; ids are below 4, by the rows of the embedding"},
    {"Score", R"({"model":{"type":"Unigram","vocab":[["a","b"]]}})",
     "tokenizer.json: model.vocab has an array; a text and a finite score are expected"},
    {"Charsmap",
     R"({"model":{"type":"Unigram","vocab":[["a",0]]},"normalizer":{"precompiled_charsmap":"!"}})",
     "tokenizer.json: normalizer.precompiled_charsmap is no base64"},
    {"Merge", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}})",
     "tokenizer.json: model.merges has an array; two texts are expected"},
    {"NoBytes", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]}})",
     "tokenizer.json: a BPE without bytes: neither a step ByteLevel nor byte_fallback"},
};

INSTANTIATE_TEST_SUITE_P(Files, BadTokenizers, ::testing::ValuesIn(kBadTokenizers),
                         [](const auto& each) { return each.param.name; });

TEST_F(TokenizerKeys, TekkenRanksBecomeMerges) {
  write(
      "tekken.json",
      R"({"config":{"pattern":"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
            "default_vocab_size":8,"default_num_special_tokens":3},
            "vocab":[{"token_bytes":"YQ=="},{"token_bytes":"Yg=="},{"token_bytes":"IA=="},
                     {"token_bytes":"YWI="},{"token_bytes":"IGFi"}]})");
  const auto made = keys(8);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(text(*made, "ggml.pre"), "tekken");
  EXPECT_EQ(array(*made, "ggml.tokens").strings,
            (std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "b", "\xC4\xA0", "ab",
                                      "\xC4\xA0"
                                      "ab"}));
  EXPECT_EQ(array(*made, "ggml.merges").strings, (std::vector<std::string>{"a b", "\xC4\xA0 ab"}));
  EXPECT_EQ(id(*made, "ggml.bos_token_id"), 1);
  EXPECT_EQ(message(7), "DIR/config.json: vocab_size is 7, but the tokenizer has 8 tokens");
}

// Fields of protocol buffers: a tag of number and kind, then the content.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string number_field(std::uint64_t number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
std::string bytes_field(std::uint64_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}
std::string piece(const std::string& text, std::uint64_t type) {
  // A score of -1.5 as F32.
  return bytes_field(1, bytes_field(1, text) + varint(2 << 3 | 5) +
                            std::string("\x00\x00\xC0\xBF", 4) + number_field(3, type));
}

Result<FolderVocabulary> parse(const std::string& bytes) {
  return parse_sentencepiece(std::as_bytes(std::span(bytes)), "FILE");
}

TEST(SentencePieceModel, PiecesAreTokens) {
  const std::string model = piece("<unk>", 2) + piece("<s>", 3) + piece("a", 1) +
                            bytes_field(2, number_field(3, 2) + number_field(41, 1) +
                                               number_field(43, 0xFFFFFFFFFFFFFFFF)) +
                            bytes_field(3, number_field(3, 0));
  const auto vocabulary = parse(model);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->kind, "llama");
  ASSERT_EQ(vocabulary->tokens.size(), 3U);
  EXPECT_EQ(vocabulary->tokens[1].type, text::TokenType::kControl);
  EXPECT_EQ(vocabulary->tokens[2].score, -1.5F);
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_FALSE(vocabulary->pad);
  EXPECT_EQ(vocabulary->add_space_prefix, false);
}

TEST(SentencePieceModel, BrokenBytesAreRefusedWithTheirPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "FILE: byte 0: no pieces; no vocabulary of SentencePiece"},
      {"\x80", "FILE: byte 1: the end within a number; no vocabulary of SentencePiece"},
      {std::string(11, '\xFF'),
       "FILE: byte 10: a number of more than 64 bits; no vocabulary of SentencePiece"},
      {"\x0A\xFF\x7F",
       "FILE: byte 3: 16383 bytes of a field, but 0 are left; no vocabulary of SentencePiece"},
      {"\x0B", "FILE: byte 1: a field of kind 3; no vocabulary of SentencePiece"},
      {piece("a", 7), "FILE: byte 12: a piece of type 7; no vocabulary of SentencePiece"},
      {piece("a", 1) + bytes_field(2, number_field(41, 1) + number_field(3, 2)),
       "FILE: trainer_spec has the id 1; there are 1 pieces"},
      {piece("a", 1) + bytes_field(2, number_field(3, 3)),
       "FILE: trainer_spec.model_type is 3; known are 1 (unigram) and 2 (bpe)"},
  };
  for (const auto& [bytes, message] : cases) {
    const auto vocabulary = parse(bytes);
    ASSERT_FALSE(vocabulary) << message;
    EXPECT_EQ(vocabulary.error().message(), message);
  }
}

}  // namespace
}  // namespace shunt::test::convert_tokenizer_keys_test
