// Tokenizers of every kind against the packages tokenizers and sentencepiece, for a thousand random
// texts (tokenizer_results.py). What is kept is a checksum of the ids, or of the sizes of words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "shunt/vocabulary.h"
#include "support/shared.h"
#include "text/pretokenizer.h"

namespace shunt::oracle_tokenizers_test {
namespace {

const std::string kFolder = SHUNT_TEST_ORACLE "/../tokenizers/";
constexpr std::uint32_t kFnvOffset = 0x811C9DC5;

/// FNV-1a of a 32-bit number.
std::uint32_t add_to_checksum(std::uint32_t checksum, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) {
    checksum = (checksum ^ (number >> shift & 0xFF)) * 0x01000193;
  }
  return checksum;
}

const std::vector<std::string>& texts() {
  static const auto kTexts = nlohmann::json::parse(test::read_file(kFolder + "texts.json"))
                                 .get<std::vector<std::string>>();
  return kTexts;
}

std::vector<std::uint32_t> read_checksums(const std::string& name) {
  std::istringstream lines(test::read_file(kFolder + name));
  std::vector<std::uint32_t> checksums;
  for (std::string line; std::getline(lines, line);) {
    checksums.push_back(static_cast<std::uint32_t>(std::stoul(line, nullptr, 16)));
  }
  return checksums;
}

std::string name_of(const ::testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

void expect_ids_of_the_judge(const std::string& path, const std::string& name) {
  const auto file = gguf::File::open(path, {.metadata_only = true});
  ASSERT_TRUE(file) << file.error().message();
  auto vocabulary = vocabulary_from_gguf(*file);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  const auto tokenizer = text::Tokenizer::create(std::move(*vocabulary));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const std::vector<std::uint32_t> expected = read_checksums("ids/" + name);
  ASSERT_EQ(expected.size(), texts().size());
  ASSERT_GE(expected.size(), 1000u);
  for (std::size_t i = 0; i < texts().size(); ++i) {
    const auto ids = tokenizer->encode(texts()[i], {.add_special = false, .parse_special = false});
    ASSERT_TRUE(ids) << ids.error().message();
    std::uint32_t checksum = kFnvOffset;
    for (const std::int32_t id : *ids) {
      checksum = add_to_checksum(checksum, static_cast<std::uint32_t>(id));
    }
    EXPECT_EQ(checksum, expected[i]) << "text " << i << ": " << texts()[i];
  }
}

class MadeVocabularies : public ::testing::TestWithParam<const char*> {};

TEST_P(MadeVocabularies, GiveTheIdsOfTheJudge) {
  expect_ids_of_the_judge(kFolder + GetParam() + ".gguf", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Oracle, MadeVocabularies,
                         ::testing::Values("unigram", "unigram-bytes", "spm", "bert", "bert-cased",
                                           "gemma4", "bytes-qwen2"),
                         name_of);

class SharedVocabularies : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedVocabularies, GiveTheIdsOfTheJudge) {
  const std::string file = std::string("data/vocab/") + GetParam() + ".gguf";
  SHUNT_NEED_SHARED(file);
  expect_ids_of_the_judge(test::shared_path(file), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Oracle, SharedVocabularies,
                         ::testing::Values("gpt-2", "deepseek-coder", "llama-spm", "bert-bge"),
                         name_of);

class Pretokenizers : public ::testing::TestWithParam<const char*> {};

TEST_P(Pretokenizers, CutWordsLikeThePublishedExpressions) {
  constexpr std::size_t kTextsOfAChecksum = 50;
  const auto pretokenizer = text::Pretokenizer::create(GetParam());
  ASSERT_TRUE(pretokenizer) << pretokenizer.error().message();
  const std::vector<std::uint32_t> expected = read_checksums(std::string("words/") + GetParam());
  ASSERT_EQ(expected.size() * kTextsOfAChecksum, texts().size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::uint32_t checksum = kFnvOffset;
    for (std::size_t j = i * kTextsOfAChecksum; j < (i + 1) * kTextsOfAChecksum; ++j) {
      const auto words = pretokenizer->split(texts()[j]);
      ASSERT_TRUE(words) << words.error().message();
      for (const std::string_view word : *words) {
        checksum = add_to_checksum(checksum, static_cast<std::uint32_t>(word.size()));
      }
    }
    EXPECT_EQ(checksum, expected[i]) << "texts from " << i * kTextsOfAChecksum;
  }
}

INSTANTIATE_TEST_SUITE_P(Oracle, Pretokenizers,
                         ::testing::Values("gpt-2", "llama-bpe", "qwen2", "qwen35", "jais-2",
                                           "bailingmoe", "seed-coder", "deepseek-coder",
                                           "deepseek-v3", "falcon", "starcoder", "bloom", "tekken",
                                           "gpt-4o", "tiny_aya", "kimi-k2", "exaone-moe"),
                         name_of);

}  // namespace
}  // namespace shunt::oracle_tokenizers_test
