// Files that can't be run: exit code 1, and a message that names the file and its error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/models.h"
#include "support/privileges.h"
#include "support/run_command.h"
#include "test_paths.h"

namespace shunt::test::bad_files_test {
namespace {

using testing::HasSubstr;

/// Runs it and expects a refusal with all these parts.
void expect_refused(const std::string& path, const std::vector<std::string>& parts) {
  const RunResult result = run_command({"run", "--model", path, "-n", "0", "--prompt", "x"});
  EXPECT_EQ(result.exit_code, 1) << path;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::StartsWith("shunt: "));
  EXPECT_THAT(result.err, HasSubstr(path));
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part)) << path;
}

std::string write_text(const TempFolder& folder, const char* name, const std::string& text) {
  return folder.write(name, std::as_bytes(std::span(text)));
}

TEST(BadFile, MissingFileIsAnError) {
  expect_refused("/nonexistent/model.gguf", {"No such file"});
}

TEST(BadFile, EmptyFileIsAnError) {
  const TempFolder folder;
  expect_refused(write_text(folder, "empty.gguf", ""), {"GGUF"});
}

TEST(BadFile, DirectoryIsAnError) {
  const TempFolder folder;
  expect_refused(folder.path(), {"directory"});
}

TEST(BadFile, WrongMagicIsAnError) {
  const TempFolder folder;
  expect_refused(write_text(folder, "prose.gguf", std::string(4096, 'x')), {"GGUF"});
}

TEST(BadFile, TruncatedFileIsAnError) {
  const SynthModel model;
  const std::string path = model.folder().file("truncated.gguf");
  std::filesystem::copy_file(model.path(), path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_refused(path, {});
}

TEST(BadFile, SymlinkLoopIsAnError) {
  const TempFolder folder;
  const std::string path = folder.file("loop.gguf");
  std::filesystem::create_symlink(path, path);
  expect_refused(path, {"symbolic links"});
}

TEST(BadFile, FileWithoutReadPermissionIsAnError) {
  const TempFolder folder;
  const std::string path = write_text(folder, "secret.gguf", "GGUF");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const WithoutPrivileges nobody(std::filesystem::path(path).parent_path());
  if (::euidaccess(SHUNT_TEST_COMMAND, X_OK) != 0)
    GTEST_SKIP() << "others may not run " SHUNT_TEST_COMMAND;
  expect_refused(path, {"Permission denied"});
}

/// A model with one thing wrong.
struct WrongModel {
  const char* name;
  void (*spoil)(EditedFile& file);
  std::vector<std::string> message;
};

void PrintTo(const WrongModel& model, std::ostream* out) {
  *out << model.name;
}

gguf::Value number(std::uint64_t value) {
  return {gguf::ValueType::kU32, value};
}
gguf::Value text(const char* value) {
  return {gguf::ValueType::kString, std::string(value)};
}

const WrongModel kWrongModels[] = {
    {"UnknownArchitecture",
     [](EditedFile& f) { f.set("general.architecture", text("perceptron")); },
     {"perceptron", "llama"}},
    {"NoArchitecture",
     [](EditedFile& f) { f.remove_key("general.architecture"); },
     {"general.architecture"}},
    {"ArchitectureIsANumber",
     [](EditedFile& f) { f.set("general.architecture", number(7)); },
     {"general.architecture", "string"}},
    {"NoWidth",
     [](EditedFile& f) { f.remove_key("llama.embedding_length"); },
     {"llama.embedding_length"}},
    {"NoLayers", [](EditedFile& f) { f.remove_key("llama.block_count"); }, {"llama.block_count"}},
    {"NoEpsilon",
     [](EditedFile& f) { f.remove_key("llama.attention.layer_norm_rms_epsilon"); },
     {"llama.attention.layer_norm_rms_epsilon"}},
    {"NoHeads",
     [](EditedFile& f) { f.set("llama.attention.head_count", number(0)); },
     {"llama.attention.head_count", "0"}},
    {"HeadsThatDoNotShare",
     [](EditedFile& f) { f.set("llama.attention.head_count_kv", number(3)); },
     {"4", "3"}},
    {"WidthOfAnotherModel",
     [](EditedFile& f) { f.set("llama.embedding_length", number(128)); },
     {"token_embd.weight", "[64, 512]", "128"}},
    {"MoreLayersThanTensors",
     [](EditedFile& f) { f.set("llama.block_count", number(3)); },
     {"blk.2."}},
    {"AbsurdlyManyLayers",
     [](EditedFile& f) { f.set("llama.block_count", number(4294967295)); },
     {"llama.block_count", "4294967295"}},
    {"MissingTensor",
     [](EditedFile& f) { f.remove_tensor("blk.1.ffn_down.weight"); },
     {"blk.1.ffn_down.weight"}},
    {"TensorOfAnotherShape",
     [](EditedFile& f) {
       f.reshape("blk.0.attn_k.weight", {64, 48});
     },
     {"blk.0.attn_k.weight", "[64, 48]", "[64, 32]"}},
    {"NoTokenizer",
     [](EditedFile& f) { f.remove_key("tokenizer.ggml.model"); },
     {"tokenizer.ggml.model"}},
    {"UnknownTokenizer",
     [](EditedFile& f) { f.set("tokenizer.ggml.model", text("runes")); },
     {"runes", "llama"}},
    {"NoTokens",
     [](EditedFile& f) { f.remove_key("tokenizer.ggml.tokens"); },
     {"tokenizer.ggml.tokens"}},
    {"BeginningOutsideTheVocabulary",
     [](EditedFile& f) { f.set("tokenizer.ggml.bos_token_id", number(512)); },
     {"bos_token_id", "512"}},
};

class BadModel : public testing::TestWithParam<WrongModel> {};

TEST_P(BadModel, IsRejectedWithAMessage) {
  const SynthModel model;
  const std::string path = model.folder().file("wrong.gguf");
  write_edited(model.path(), path, GetParam().spoil);
  expect_refused(path, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(, BadModel, testing::ValuesIn(kWrongModels),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BadFile, UneditedCopyOfTheModelRuns) {
  const SynthModel model;
  const std::string path = model.folder().file("copy.gguf");
  write_edited(model.path(), path, [](EditedFile&) {});
  EXPECT_EQ(run_command({"run", "--model", path, "-n", "1", "--prompt", "x"}).exit_code, 0);
}

TEST(BadFile, ExplainNeedsNoTokenizer) {
  const SynthModel model;
  const std::string path = model.folder().file("no_tokenizer.gguf");
  write_edited(model.path(), path, [](EditedFile& f) { f.remove_key("tokenizer.ggml.model"); });
  const RunResult result =
      run_command({"explain", "--model", path, "--devices", "cpu0", "--set", "cpu.calibrate=off"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cpu0"));
}

}  // namespace
}  // namespace shunt::test::bad_files_test
