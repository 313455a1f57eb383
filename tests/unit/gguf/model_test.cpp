// A real file, written by others.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "shunt/gguf.h"
#include "test_paths.h"

namespace shunt::gguf::gguf_model_test {
namespace {

constexpr const char* kModel = SHUNT_TEST_SHARED "/data/models/stories260K.gguf";

TEST(GgufModel, ReadsStories260K) {
  if (!std::filesystem::exists(kModel)) GTEST_SKIP() << "NOT CHECKED: no " << kModel;
  const auto file = File::open(kModel);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->part_count(), 1u);
  EXPECT_EQ(file->metadata().size(), 19u);
  EXPECT_EQ(*file->get_string("general.architecture"), "llama");
  EXPECT_EQ(*file->get_integer("llama.block_count"), 5);
  const auto tokens = *file->get_array("tokenizer.ggml.tokens", ValueType::kString);
  ASSERT_EQ(tokens->size(), 512u);
  EXPECT_EQ(tokens->strings[1], "<s>");
  EXPECT_EQ((*file->get_array("tokenizer.ggml.scores", ValueType::kF32))->size(), 512u);

  ASSERT_EQ(file->tensors().size(), 48u);
  const TensorInfo* embedding = file->find_tensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(to_string(embedding->tensor), "F32 [64, 512]");
  EXPECT_EQ(embedding->offset, 0u);
  std::uint64_t bytes = 0;
  for (const TensorInfo& info : file->tensors()) {
    bytes += info.bytes;
    std::vector<std::byte> data(file->data(info).begin(), file->data(info).end());
    convert_byte_order(info.tensor.dtype, info.order, data);
    ASSERT_EQ(data.size(), info.bytes) << info.name;
    std::vector<float> values(static_cast<std::size_t>(element_count(info.tensor.shape)));
    trait(info.tensor.dtype).decode(data.data(), values.data(), element_count(info.tensor.shape));
    for (const float value : values) ASSERT_LT(std::fabs(value), 100.0f) << info.name;
  }
  EXPECT_LT(bytes, file->file_bytes());
}

}  // namespace
}  // namespace shunt::gguf::gguf_model_test
