// Numbers of published models that their first files lack. The expected numbers are those of
// config.json in deepseek-ai/DeepSeek-V2 and DeepSeek-V3, google/gemma-2-27b and gemma-3-27b-it,
// bigcode/starcoder2-3b and meta-llama/Llama-4-Scout-17B-16E.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "model/architectures/list.h"
#include "shunt/gguf.h"
#include "support/must.h"

namespace shunt::test::model_published_defaults_test {
namespace {

using Counts = std::map<std::string, std::uint32_t>;

/// The description of a file with these keys, and an epsilon of norms.
Description describe(const std::string& architecture, const Counts& counts) {
  gguf::Writer writer;
  writer.add_u32(architecture + ".vocab_size", 32000);
  for (const auto& [key, count] : counts) writer.add_u32(architecture + "." + key, count);
  for (const char* epsilon : {"layer_norm_rms_epsilon", "layer_norm_epsilon"})
    writer.add_f32(architecture + ".attention." + epsilon, 1e-6F);
  const auto bytes = must(writer.header());
  ArchitectureKeys keys(must(gguf::File::parse(bytes, architecture, {.metadata_only = true})),
                        architecture);
  keys.describe_new_model();
  return must(describe_file(keys, find_description(architecture)));
}

/// DeepSeek V2 and V3 have other numbers of experts.
Experts deepseek_experts(std::uint32_t count, std::uint32_t used, const Counts& more = {}) {
  Counts counts = {{"block_count", 2},
                   {"context_length", 4096},
                   {"embedding_length", 5120},
                   {"feed_forward_length", 12288},
                   {"attention.head_count", 128},
                   {"attention.q_lora_rank", 1536},
                   {"attention.kv_lora_rank", 512},
                   {"attention.key_length_mla", 192},
                   {"attention.value_length_mla", 128},
                   {"rope.dimension_count", 64},
                   {"expert_count", count},
                   {"expert_used_count", used},
                   {"expert_feed_forward_length", 1536},
                   {"expert_shared_count", 2},
                   {"leading_dense_block_count", 1}};
  counts.insert(more.begin(), more.end());
  return describe("deepseek2", counts).layers.at(1).experts.value();
}

TEST(PublishedDefaults, GroupsOfExpertsOfDeepSeek) {
  const Experts v2 = deepseek_experts(160, 6);
  EXPECT_EQ(v2.groups, 8);
  EXPECT_EQ(v2.groups_used, 3);
  const Experts v3 = deepseek_experts(256, 8);
  EXPECT_EQ(v3.groups, 8);
  EXPECT_EQ(v3.groups_used, 4);
}

TEST(PublishedDefaults, OtherDeepSeekModelsHaveOneGroup) {
  for (const std::uint32_t count : {64U, 128U, 384U}) {
    const Experts experts = deepseek_experts(count, 6);
    EXPECT_EQ(experts.groups, 1) << count;
    EXPECT_EQ(experts.groups_used, 1) << count;
  }
}

TEST(PublishedDefaults, GroupsOfTheFileDecide) {
  const Experts none = deepseek_experts(256, 8, {{"expert_group_count", 1}});
  EXPECT_EQ(none.groups, 1);
  EXPECT_EQ(none.groups_used, 1);
  const Experts all = deepseek_experts(256, 8, {{"expert_group_count", 16}});
  EXPECT_EQ(all.groups, 16);
  EXPECT_EQ(all.groups_used, 16);
  const Experts two = deepseek_experts(256, 8, {{"expert_group_used_count", 2}});
  EXPECT_EQ(two.groups, 8);
  EXPECT_EQ(two.groups_used, 2);
}

/// Scores of a layer are divided by the root of this.
double score_divisor(const Description& model, std::size_t layer) {
  const double scale = model.layers.at(layer).attention->scale;
  return 1 / (scale * scale);
}

Counts gemma(std::uint32_t layers, std::uint32_t width) {
  return {{"block_count", layers},           {"context_length", 8192},
          {"embedding_length", width},       {"feed_forward_length", 36864},
          {"attention.head_count", 32},      {"attention.head_count_kv", 16},
          {"attention.key_length", 128},     {"attention.value_length", 128},
          {"attention.sliding_window", 1024}};
}

TEST(PublishedDefaults, ScaleOfScoresOfTheGemma27Bs) {
  const Description gemma2 = describe("gemma2", gemma(46, 4608));
  const Description gemma3 = describe("gemma3", gemma(62, 5376));
  for (const std::size_t layer : {0U, 45U}) {
    EXPECT_NEAR(score_divisor(gemma2, layer), 144, 1e-3);
    EXPECT_NEAR(score_divisor(gemma3, layer), 168, 1e-3);
  }
  // 0: the head size.
  EXPECT_EQ(describe("gemma2", gemma(42, 3584)).layers[0].attention->scale, 0);
  EXPECT_EQ(describe("gemma3", gemma(48, 3840)).layers[0].attention->scale, 0);
}

TEST(PublishedDefaults, WindowOfGemma2) {
  Counts counts = gemma(46, 4608);
  counts.erase("attention.sliding_window");
  const Description model = describe("gemma2", counts);
  EXPECT_EQ(model.layers[0].attention->span, AttentionSpan::kSlidingWindow);
  EXPECT_EQ(model.layers[0].attention->window, 4096);
  EXPECT_EQ(model.layers[1].attention->window, 0);
}

TEST(PublishedDefaults, WindowOfStarCoder2) {
  const Description model = describe("starcoder2", {{"block_count", 2},
                                                    {"context_length", 16384},
                                                    {"embedding_length", 3072},
                                                    {"feed_forward_length", 12288},
                                                    {"attention.head_count", 24},
                                                    {"attention.head_count_kv", 2}});
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(layer.attention->span, AttentionSpan::kSlidingWindow);
    EXPECT_EQ(layer.attention->window, 4096);
  }
}

TEST(PublishedDefaults, ChunksAndTemperatureOfLlama4) {
  const Description model = describe("llama4", {{"block_count", 4},
                                                {"context_length", 262144},
                                                {"embedding_length", 5120},
                                                {"feed_forward_length", 16384},
                                                {"attention.head_count", 40},
                                                {"attention.head_count_kv", 8},
                                                {"expert_count", 16},
                                                {"expert_used_count", 1},
                                                {"expert_feed_forward_length", 8192},
                                                {"interleave_moe_layer_step", 1}});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.layers[i].attention->span, AttentionSpan::kChunked) << i;
    EXPECT_EQ(model.layers[i].attention->window, 8192) << i;
  }
  EXPECT_FLOAT_EQ(model.layers[3].attention->temperature.scale, 0.1F);
  EXPECT_EQ(model.layers[3].attention->temperature.length, 8192);
}

}  // namespace
}  // namespace shunt::test::model_published_defaults_test
