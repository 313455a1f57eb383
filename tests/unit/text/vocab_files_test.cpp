// Tokenizers of published models against ids made by the models' own tokenizers: NAME.gguf.inp has
// texts, NAME.gguf.out their ids, without special tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "shunt/vocabulary.h"
#include "test_paths.h"

namespace shunt::text_vocab_files_test {
namespace {

constexpr const char* kFolder = SHUNT_TEST_SHARED "/data/vocab";

struct VocabularyFile {
  const char* name;
  bool restores_text;  ///< decoding gives every text back as it was
};
constexpr VocabularyFile kFiles[] = {
    {"llama-spm", true},
    {"gpt-2", true},
    {"deepseek-coder", true},
    {"bert-bge", false},
};

std::string path_of(std::string_view name) {
  return std::string(kFolder) + "/" + std::string(name) + ".gguf";
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> read_texts(const std::string& path) {
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string content = read_file(path);
  std::vector<std::string> texts;
  std::size_t done = 0;
  for (std::size_t end; (end = content.find(kSeparator, done)) != std::string::npos;) {
    texts.push_back(content.substr(done, end - done));
    done = end + kSeparator.size();
  }
  EXPECT_EQ(done, content.size()) << path << " does not end with a separator";
  return texts;
}

std::vector<std::vector<std::int32_t>> read_ids(const std::string& path) {
  std::istringstream content(read_file(path));
  std::vector<std::vector<std::int32_t>> lines;
  for (std::string line; std::getline(content, line);) {
    std::istringstream numbers(line);
    lines.emplace_back(std::istream_iterator<std::int32_t>(numbers),
                       std::istream_iterator<std::int32_t>());
  }
  return lines;
}

class VocabularyFiles : public ::testing::TestWithParam<VocabularyFile> {
 protected:
  std::string path() const { return path_of(GetParam().name); }
  Result<text::Tokenizer> open() const {
    SHUNT_ASSIGN(const auto file, gguf::File::open(path(), {.metadata_only = true}));
    SHUNT_ASSIGN(auto vocabulary, vocabulary_from_gguf(file));
    return text::Tokenizer::create(std::move(vocabulary));
  }
};

TEST_P(VocabularyFiles, MatchTheIdsOfTheModelsOwnTokenizer) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not here";
  const auto tokenizer = open();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const auto texts = read_texts(path() + ".inp");
  const auto expected = read_ids(path() + ".out");
  ASSERT_FALSE(texts.empty());
  ASSERT_EQ(texts.size(), expected.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->encode(texts[i], {.add_special = false, .parse_special = false});
    ASSERT_TRUE(ids) << ids.error().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": " << texts[i];
    if (GetParam().restores_text) {
      EXPECT_EQ(tokenizer->decode(expected[i]).value(), texts[i]);
    }
  }
}

// Noise of single bytes, parts of characters and strings that tokenizers treat differently.
TEST_P(VocabularyFiles, RoundTripRandomBytes) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not here";
  const auto tokenizer = open();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  const std::string_view parts[] = {" ",
                                    "  ",
                                    "\n",
                                    "\r\n",
                                    "\t",
                                    "a",
                                    "The",
                                    "'ve",
                                    "123",
                                    "\u00E9",
                                    "\u4E2D",
                                    "\xF0\x9F\xA6",
                                    "\x99",
                                    "\xFF",
                                    "<s>",
                                    "\u00A0",
                                    "\u0301",
                                    "...",
                                    std::string_view("\0", 1)};
  std::minstd_rand random(1);
  for (int round = 0; round < 500; ++round) {
    std::string noise;
    for (auto length = random() % 40; length > 0; --length) {
      noise += parts[random() % std::size(parts)];
    }
    const auto ids = tokenizer->encode(noise);
    ASSERT_TRUE(ids) << ids.error().message();
    const std::string text = tokenizer->decode(*ids).value();
    if (GetParam().restores_text) {
      EXPECT_EQ(text, text::sanitize_utf8(noise).text);
    }
  }
}

TEST_P(VocabularyFiles, TokenizeLongTexts) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not here";
  const auto tokenizer = open();
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  for (const char c : {'a', ' ', '\n', '=', '7'}) {
    const std::string text(1'000'000, c);
    const auto ids = tokenizer->encode(text);
    ASSERT_TRUE(ids) << ids.error().message();
    if (GetParam().restores_text) {
      EXPECT_EQ(tokenizer->decode(*ids).value(), text);
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<VocabularyFile>& test) {
  std::string name = test.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Unit, VocabularyFiles, ::testing::ValuesIn(kFiles), name_of);

// A file that is missing from the table would never be tested.
TEST(VocabularyFolder, EveryFileIsInTheTable) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not here";
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".gguf") continue;
    const bool known = std::ranges::any_of(
        kFiles, [&](const VocabularyFile& file) { return entry.path().stem() == file.name; });
    EXPECT_TRUE(known) << entry.path();
  }
}

}  // namespace
}  // namespace shunt::text_vocab_files_test
