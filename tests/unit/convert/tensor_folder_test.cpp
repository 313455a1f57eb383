#include "convert/tensor_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/models.h"
#include "support/published_model.h"

namespace shunt::test::convert_tensor_folder_test {
namespace {

namespace fs = std::filesystem;

TEST(PlainName, IsWithoutModulesAroundTheLayers) {
  EXPECT_EQ(plain_name("model.layers.0.mlp.up_proj.weight"), "layers.0.mlp.up_proj.weight");
  EXPECT_EQ(plain_name("model.language_model.layers.3.x"), "layers.3.x");
  EXPECT_EQ(plain_name("language_model.model.embed_tokens.weight"), "embed_tokens.weight");
  EXPECT_EQ(plain_name("language_model.lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(plain_name("bert.encoder.layer.1.output.dense.bias"), "layers.1.output.dense.bias");
  EXPECT_EQ(plain_name("model.visual.blocks.0.x"), "visual.blocks.0.x");
}

class TensorFolderTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(fs::path(path_) / name, std::ios::binary) << text;
  }
  void write_part(const std::string& name, const std::vector<std::string>& tensors) {
    std::vector<PublishedValues> values;
    for (const std::string& tensor : tensors) values.push_back({tensor, {1}, {1.0F}});
    write(name, safetensors_of(values, false));
  }
  std::string message() {
    const auto folder = TensorFolder::open(path_);
    if (folder) return "opened";
    std::string text = folder.error().message();
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
};

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

TEST_F(TensorFolderTest, PartsAreOneFolder) {
  write_part(kFirst, {"model.a"});
  write_part(kSecond, {"model.b"});
  write(kIndex, R"({"weight_map":{"model.a":"model-00001-of-00002.safetensors",
                                  "model.b":"model-00002-of-00002.safetensors"}})");
  const auto folder = TensorFolder::open(path_);
  ASSERT_TRUE(folder) << folder.error().message();
  EXPECT_EQ(folder->files().size(), 2U);
  ASSERT_NE(folder->find("b"), nullptr);
  EXPECT_EQ(folder->find("b")->tensor->name, "model.b");
  EXPECT_EQ(folder->find("c"), nullptr);
}

TEST_F(TensorFolderTest, AFolderWithoutTensorsIsNotFound) {
  EXPECT_EQ(message(), "DIR: neither model.safetensors nor model.safetensors.index.json is there");
}

TEST_F(TensorFolderTest, AMissingPartIsNotFound) {
  write_part(kFirst, {"a"});
  write(kIndex, R"({"weight_map":{"a":"model-00001-of-00002.safetensors",
                                  "b":"model-00002-of-00002.safetensors"}})");
  EXPECT_EQ(
      message(),
      "DIR/model.safetensors.index.json: cannot open DIR/model-00002-of-00002.safetensors: No "
      "such file or directory");
}

TEST_F(TensorFolderTest, ASuperfluousPartIsRefused) {
  write_part(kFirst, {"a"});
  write_part(kSecond, {"b"});
  write(kIndex, R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})");
  EXPECT_EQ(message(),
            "DIR/model-00002-of-00002.safetensors: the index of the folder does not name this "
            "part");
}

TEST_F(TensorFolderTest, ATensorThatTheIndexLacksIsRefused) {
  write_part(kFirst, {"a", "b"});
  write(kIndex, R"({"weight_map":{"a":"model-00001-of-00002.safetensors"}})");
  EXPECT_EQ(message(),
            "DIR/model-00001-of-00002.safetensors: tensor 'b' is in "
            "model-00001-of-00002.safetensors, but not by the index "
            "DIR/model.safetensors.index.json");
}

TEST_F(TensorFolderTest, ATensorOfTheIndexThatIsMissingIsRefused) {
  write_part(kFirst, {"a"});
  write(kIndex, R"({"weight_map":{"a":"model-00001-of-00002.safetensors",
                                  "b":"model-00001-of-00002.safetensors"}})");
  EXPECT_EQ(message(),
            "DIR/model.safetensors.index.json: tensor 'b' is missing in "
            "model-00001-of-00002.safetensors");
}

TEST_F(TensorFolderTest, AnIndexNamesFilesOfItsFolderOnly) {
  for (const char* const name :
       {"../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "x.bin", ""}) {
    SCOPED_TRACE(name);
    write(kIndex, std::string(R"({"weight_map":{"a":")") + name + "\"}}");
    EXPECT_EQ(message(), std::string("DIR/model.safetensors.index.json: tensor 'a' is in '") +
                             name +
                             "'; the name of a safetensors file in the same folder is expected");
  }
}

TEST_F(TensorFolderTest, AnIndexWithoutAMapIsRefused) {
  for (const char* const text : {"[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})"}) {
    SCOPED_TRACE(text);
    write(kIndex, text);
    EXPECT_EQ(message(),
              "DIR/model.safetensors.index.json: expected an object \"weight_map\" with files of "
              "tensors");
  }
}

TEST_F(TensorFolderTest, TwoTensorsOfOnePlainNameAreRefused) {
  write_part("model.safetensors", {"model.a", "a"});
  EXPECT_TRUE(message().find("is there again, as") != std::string::npos) << message();
}

}  // namespace
}  // namespace shunt::test::convert_tensor_folder_test
