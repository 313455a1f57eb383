// The window of Phi 3, which the first files of two published models lack. The expected numbers are
// those of config.json in microsoft/Phi-3-mini-4k-instruct, Phi-3-medium-4k-instruct,
// Phi-3-mini-128k-instruct and phi-4.
#include <gtest/gtest.h>

#include <optional>

#include "model/architectures/list.h"
#include "shunt/gguf.h"
#include "support/must.h"

namespace shunt::test::model_phi3_window_test {
namespace {

struct Phi3File {
  std::uint32_t layers = 32;
  std::uint32_t width = 3072;
  std::uint32_t heads = 32;
  std::uint32_t kv_heads = 32;
  std::uint32_t context = 4096;
  std::optional<std::uint32_t> window = {};
};

/// The window of all layers; 0: none.
std::int64_t window_of(const Phi3File& phi) {
  gguf::Writer writer;
  writer.add_u32("phi3.vocab_size", 32064);
  writer.add_u32("phi3.block_count", phi.layers);
  writer.add_u32("phi3.context_length", phi.context);
  writer.add_u32("phi3.embedding_length", phi.width);
  writer.add_u32("phi3.feed_forward_length", 8192);
  writer.add_u32("phi3.attention.head_count", phi.heads);
  writer.add_u32("phi3.attention.head_count_kv", phi.kv_heads);
  writer.add_f32("phi3.attention.layer_norm_rms_epsilon", 1e-5F);
  if (phi.window) writer.add_u32("phi3.attention.sliding_window", *phi.window);
  const auto bytes = must(writer.header());
  ArchitectureKeys keys(must(gguf::File::parse(bytes, "phi3", {.metadata_only = true})), "phi3");
  keys.describe_new_model();
  const Description model = must(describe_file(keys, find_description("phi3")));
  const Attention& first = *model.layers.at(0).attention;
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(layer.attention->span, first.span);
    EXPECT_EQ(layer.attention->window, first.window);
  }
  EXPECT_EQ(first.span == AttentionSpan::kSlidingWindow, first.window > 0);
  return first.window;
}

TEST(Phi3Window, IsThatOfThePublishedModelWhereItsFileLacksIt) {
  EXPECT_EQ(window_of({}), 2047);
  EXPECT_EQ(window_of({.layers = 40, .width = 5120, .heads = 40, .kv_heads = 10}), 2047);
}

TEST(Phi3Window, IsMissingFromFilesOfOtherModels) {
  EXPECT_EQ(window_of({.layers = 31}), 0);
  EXPECT_EQ(window_of({.width = 2560}), 0);
  EXPECT_EQ(window_of({.heads = 24, .kv_heads = 24}), 0);
  EXPECT_EQ(window_of({.kv_heads = 8}), 0);
  EXPECT_EQ(window_of({.context = 131072}), 0);
  EXPECT_EQ(window_of({.layers = 40, .width = 5120, .heads = 40, .kv_heads = 10, .context = 16384}),
            0);
  EXPECT_EQ(window_of({.layers = 40}), 0);
}

TEST(Phi3Window, OfTheFileDecides) {
  EXPECT_EQ(window_of({.window = 0}), 0);
  EXPECT_EQ(window_of({.window = 1000}), 1000);
  EXPECT_EQ(window_of({.layers = 31, .window = 2047}), 2047);
}

}  // namespace
}  // namespace shunt::test::model_phi3_window_test
