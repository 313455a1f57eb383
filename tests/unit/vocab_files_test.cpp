// Tokenizers of published models against ids made by the models' own tokenizers: NAME.gguf.inp has
// texts, NAME.gguf.out their ids, without special tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "engine/vocabulary_from_gguf.h"

namespace shunt {
namespace {

constexpr const char* kFolder = SHUNT_TEST_SHARED "/data/vocab";

struct VocabularyFile {
  const char* name;
  const char*
      unsupported;  ///< a part of the reason why this build refuses it; null if it must work
};
constexpr VocabularyFile kFiles[] = {
    {"llama-spm", nullptr},
    {"gpt-2", nullptr},
    {"deepseek-coder", nullptr},
    {"bert-bge", "WordPiece"},
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

class VocabularyFiles : public ::testing::TestWithParam<VocabularyFile> {};

TEST_P(VocabularyFiles, GiveTheIdsOfTheModelsOwnTokenizer) {
  const std::string path = path_of(GetParam().name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto file = gguf::File::open(path, {.metadata_only = true});
  ASSERT_TRUE(file) << file.error().message();
  const auto vocabulary = vocabulary_from_gguf(*file);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  const auto tokenizer = text::Tokenizer::create(*vocabulary);
  if (GetParam().unsupported != nullptr) {
    ASSERT_FALSE(tokenizer);
    EXPECT_EQ(tokenizer.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(tokenizer.error().message().find(GetParam().unsupported), std::string::npos)
        << tokenizer.error().message();
    return;
  }
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();

  const auto texts = read_texts(path + ".inp");
  const auto expected = read_ids(path + ".out");
  ASSERT_FALSE(texts.empty());
  ASSERT_EQ(texts.size(), expected.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->encode(texts[i], {.add_special = false, .parse_special = false});
    ASSERT_TRUE(ids) << ids.error().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": " << texts[i];
    EXPECT_EQ(tokenizer->decode(expected[i]).value(), texts[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Unit, VocabularyFiles, ::testing::ValuesIn(kFiles), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

// A file that nobody put into the table would never be tested.
TEST(VocabularyFolder, HasNoFileThatTheTableLacks) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not here";
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".gguf") continue;
    const bool known = std::ranges::any_of(
        kFiles, [&](const VocabularyFile& file) { return entry.path().stem() == file.name; });
    EXPECT_TRUE(known) << entry.path();
  }
}

}  // namespace
}  // namespace shunt
