// Which vocabulary the metadata of a GGUF file define, and the errors for metadata that define
// none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "shunt/vocabulary.h"

namespace shunt::engine_vocabulary_from_gguf_test {
namespace {

gguf::Array strings(std::vector<std::string> values) {
  gguf::Array array;
  array.type = gguf::ValueType::kString;
  array.strings = std::move(values);
  return array;
}
gguf::Array floats(std::vector<double> values) {
  gguf::Array array;
  array.type = gguf::ValueType::kF32;
  array.floats = std::move(values);
  return array;
}
gguf::Array integers(std::vector<std::int64_t> values) {
  gguf::Array array;
  array.type = gguf::ValueType::kI32;
  array.integers = std::move(values);
  return array;
}

gguf::Array bytes(std::vector<std::int64_t> values, gguf::ValueType type = gguf::ValueType::kU8) {
  gguf::Array array = integers(std::move(values));
  array.type = type;
  return array;
}

/// The vocabulary of a file with the metadata that `fill` writes.
Result<text::Vocabulary> read(const std::function<void(gguf::Writer&)>& fill) {
  gguf::Writer writer;
  fill(writer);
  const std::string path =
      ::testing::TempDir() + "vocabulary_" + std::to_string(::getpid()) + ".gguf";
  SHUNT_TRY(writer.write(path, [](std::size_t) { return std::span<const std::byte>(); }));
  const auto file = gguf::File::open(path);
  std::remove(path.c_str());
  if (!file) return Error(file.error());
  return vocabulary_from_gguf(*file);
}

void fill_tokens(gguf::Writer& writer) {
  writer.add_string("tokenizer.ggml.model", "llama");
  writer.add_array("tokenizer.ggml.tokens", strings({"<unk>", "a", "b"}));
}

TEST(VocabularyFromGguf, ReadsEveryKey) {
  const auto vocabulary = read([](gguf::Writer& writer) {
    fill_tokens(writer);
    writer.add_string("tokenizer.ggml.pre", "qwen2");
    writer.add_array("tokenizer.ggml.scores", floats({0, -1, -2.5}));
    writer.add_array("tokenizer.ggml.token_type", integers({2, 1, 3}));
    writer.add_array("tokenizer.ggml.merges", strings({"a b"}));
    writer.add_u32("tokenizer.ggml.bos_token_id", 1);
    writer.add_u32("tokenizer.ggml.eos_token_id", 2);
    writer.add_u32("tokenizer.ggml.unknown_token_id", 0);
    writer.add_u32("tokenizer.ggml.padding_token_id", 4294967295u);
    writer.add_u32("tokenizer.ggml.seperator_token_id", 1);
    writer.add_u32("tokenizer.ggml.eot_token_id", 2);
    writer.add_u32("tokenizer.ggml.eom_token_id", 1);
    writer.add_bool("tokenizer.ggml.add_bos_token", false);
    writer.add_bool("tokenizer.ggml.add_eos_token", true);
    writer.add_bool("tokenizer.ggml.add_space_prefix", false);
    writer.add_u32("tokenizer.ggml.cls_token_id", 0);
    writer.add_u32("tokenizer.ggml.mask_token_id", 2);
    writer.add_bool("tokenizer.ggml.add_sep_token", true);
    writer.add_bool("tokenizer.shunt.two_separators", true);
    writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", false);
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", true);
    writer.add_bool("tokenizer.ggml.normalizer.strip_accents", false);
    writer.add_array("tokenizer.ggml.precompiled_charsmap", bytes({0, 128, 255}));
    writer.add_array("tokenizer.shunt.added_token_rules", bytes({0, 5, 2}));
  });
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->model, "llama");
  EXPECT_EQ(vocabulary->pre, "qwen2");
  ASSERT_EQ(vocabulary->tokens.size(), 3u);
  EXPECT_EQ(vocabulary->tokens[2].text, "b");
  EXPECT_EQ(vocabulary->tokens[2].score, -2.5f);
  EXPECT_EQ(vocabulary->tokens[2].type, text::TokenType::kControl);
  EXPECT_EQ(vocabulary->merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_EQ(vocabulary->eos, 2);
  EXPECT_EQ(vocabulary->unk, 0);
  EXPECT_EQ(vocabulary->pad, std::nullopt);
  EXPECT_EQ(vocabulary->sep, 1);
  EXPECT_EQ(vocabulary->eot, 2);
  EXPECT_EQ(vocabulary->eom, 1);
  EXPECT_EQ(vocabulary->add_bos, false);
  EXPECT_EQ(vocabulary->add_eos, true);
  EXPECT_EQ(vocabulary->add_space_prefix, false);
  EXPECT_EQ(vocabulary->cls, 0);
  EXPECT_EQ(vocabulary->mask, 2);
  EXPECT_EQ(vocabulary->add_sep, true);
  EXPECT_EQ(vocabulary->two_separators, true);
  EXPECT_EQ(vocabulary->remove_extra_whitespaces, false);
  EXPECT_EQ(vocabulary->lower_case, true);
  EXPECT_EQ(vocabulary->strip_accents, false);
  EXPECT_EQ(vocabulary->charsmap, std::string("\0\x80\xFF", 3));
  EXPECT_TRUE(vocabulary->tokens[1].rules.strip_left && vocabulary->tokens[1].rules.single_word);
  EXPECT_FALSE(vocabulary->tokens[1].rules.strip_right);
  EXPECT_TRUE(vocabulary->tokens[2].rules.strip_right);
}

TEST(VocabularyFromGguf, ReadsCharsmapsOfSignedBytes) {
  const auto vocabulary = read([](gguf::Writer& writer) {
    fill_tokens(writer);
    writer.add_array("tokenizer.ggml.precompiled_charsmap",
                     bytes({0, -128, -1}, gguf::ValueType::kI8));
  });
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->charsmap, std::string("\0\x80\xFF", 3));
}

TEST(VocabularyFromGguf, ReadsWhatWasAdded) {
  const auto written = read([](gguf::Writer& writer) {
    text::Vocabulary vocabulary;
    vocabulary.model = "t5";
    vocabulary.tokens = {{"<unk>", 0, text::TokenType::kUnknown},
                         {"a", -1.5f},
                         {"[M]", 0, text::TokenType::kControl, {.strip_left = true}}};
    vocabulary.charsmap = "\x01\xFE";
    vocabulary.mask = 2;
    vocabulary.remove_extra_whitespaces = false;
    add_vocabulary(writer, vocabulary);
  });
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(written->model, "t5");
  EXPECT_EQ(written->tokens[1].score, -1.5f);
  EXPECT_TRUE(written->tokens[2].rules.strip_left);
  EXPECT_FALSE(written->tokens[2].rules.strip_right);
  EXPECT_EQ(written->charsmap, "\x01\xFE");
  EXPECT_EQ(written->mask, 2);
  EXPECT_EQ(written->remove_extra_whitespaces, false);
}

TEST(VocabularyFromGguf, MissingKeysLeaveTheDefaults) {
  const auto vocabulary = read(fill_tokens);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->pre, "");
  EXPECT_EQ(vocabulary->tokens[1].type, text::TokenType::kNormal);
  EXPECT_EQ(vocabulary->bos, std::nullopt);
  EXPECT_EQ(vocabulary->add_bos, std::nullopt);
}

TEST(VocabularyFromGguf, APaddingIdBehindTheTokensIsNone) {
  const auto vocabulary = read([](gguf::Writer& writer) {
    fill_tokens(writer);
    writer.add_u32("tokenizer.ggml.padding_token_id", 3);
  });
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->pad, std::nullopt);
}

TEST(VocabularyFromGguf, ErrorNamesFileAndKey) {
  struct Case {
    const char* message;
    ErrorCode code;
    std::function<void(gguf::Writer&)> fill;
  };
  constexpr auto kBadFile = ErrorCode::kBadFile;
  const auto with = [](std::function<void(gguf::Writer&)> more) {
    return [more](gguf::Writer& writer) {
      fill_tokens(writer);
      more(writer);
    };
  };
  const Case cases[] = {
      {"tokenizer.ggml.model", ErrorCode::kNotFound, [](gguf::Writer&) {}},
      {"tokenizer.ggml.tokens", kBadFile,
       [](gguf::Writer& w) { w.add_string("tokenizer.ggml.model", "llama"); }},
      {"tokenizer.ggml.tokens", kBadFile,
       [](gguf::Writer& w) {
         w.add_string("tokenizer.ggml.model", "llama");
         w.add_array("tokenizer.ggml.tokens", integers({1}));
       }},
      {"tokenizer.ggml.scores has 2 elements", kBadFile, with([](gguf::Writer& w) {
         w.add_array("tokenizer.ggml.scores", floats({1, 2}));
       })},
      {"elements of tokenizer.ggml.scores", kBadFile, with([](gguf::Writer& w) {
         w.add_array("tokenizer.ggml.scores", integers({1, 2, 3}));
       })},
      {"tokenizer.ggml.token_type is of type", kBadFile,
       with([](gguf::Writer& w) { w.add_u32("tokenizer.ggml.token_type", 1); })},
      {"tokenizer.ggml.token_type of token 1 is 7", kBadFile, with([](gguf::Writer& w) {
         w.add_array("tokenizer.ggml.token_type", integers({1, 7, 1}));
       })},
      {"tokenizer.shunt.added_token_rules of token 2 is 8", kBadFile, with([](gguf::Writer& w) {
         w.add_array("tokenizer.shunt.added_token_rules", bytes({0, 7, 8}));
       })},
      {"elements of tokenizer.ggml.precompiled_charsmap", kBadFile, with([](gguf::Writer& w) {
         w.add_array("tokenizer.ggml.precompiled_charsmap", integers({1, 2}));
       })},
      {"tokenizer.ggml.bos_token_id is 3", kBadFile,
       with([](gguf::Writer& w) { w.add_u32("tokenizer.ggml.bos_token_id", 3); })},
      {"tokenizer.ggml.eos_token_id", kBadFile,
       with([](gguf::Writer& w) { w.add_string("tokenizer.ggml.eos_token_id", "2"); })},
      {"tokenizer.ggml.add_bos_token", kBadFile,
       with([](gguf::Writer& w) { w.add_u32("tokenizer.ggml.add_bos_token", 1); })},
      {"tokenizer.ggml.merges is missing", kBadFile,
       [](gguf::Writer& w) {
         w.add_string("tokenizer.ggml.model", "gpt2");
         w.add_array("tokenizer.ggml.tokens", strings({"a"}));
       }},
  };
  for (const Case& c : cases) {
    const auto vocabulary = read(c.fill);
    ASSERT_FALSE(vocabulary) << c.message;
    EXPECT_EQ(vocabulary.error().code(), c.code) << c.message;
    for (const char* part : {c.message, "vocabulary_"}) {
      EXPECT_NE(vocabulary.error().message().find(part), std::string::npos)
          << vocabulary.error().message();
    }
  }
}

}  // namespace
}  // namespace shunt::engine_vocabulary_from_gguf_test
