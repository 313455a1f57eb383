// Folders of several models whose config.json is wrong, or of older and other forms.
#include <gtest/gtest.h>

#include "unit/convert/conversion_folder.h"

namespace shunt::test::convert_other_folders_test {
namespace {

struct OtherConfig {
  std::string name;
  std::string model;
  nlohmann::json changes;
  std::string message;
};

class BadConfigOf : public FolderConversionTest,
                    public ::testing::WithParamInterface<OtherConfig> {};

TEST_P(BadConfigOf, AModelIsRefusedWithItsPlace) {
  PublishedFolder folder = read_published(GetParam().model);
  folder.config.merge_patch(GetParam().changes);
  EXPECT_EQ(message(folder), "DIR/config.json: " + GetParam().message);
}

const OtherConfig kOtherConfigs[] = {
    {"OddRope",
     "llama-untied",
     {{"head_dim", 15}},
     "head_dim is 15; expected an even part of the 15 elements of a head"},
    {"OddHeads",
     "qwen3-tied",
     {{"head_dim", 15}},
     "qwen3.rope.dimension_count is 15; it must be even"},
    {"WindowOfZero",
     "gemma3",
     {{"sliding_window", 0}},
     "gemma3.attention.sliding_window is missing or 0, but some layers have a window"},
    {"WindowOfZeroOfAnEncoder",
     "modern-bert",
     {{"local_attention", 0}},
     "layer_types: layer 1 is 'sliding_attention'; a file of architecture modern-bert has another "
     "kind there"},
    {"NegativeWindow",
     "gemma-embedding",
     {{"sliding_window", -8}},
     "sliding_window is -8; expected a whole number from 0 to 1073741824"},
    {"LargeProduct",
     "mamba2-untied",
     {{"num_heads", 1 << 30}, {"head_dim", 1 << 30}},
     "mamba2.ssm.inner_size is 1152921504606846976; it must be from 1 to 1073741824"},
    {"NoFactors",
     "phi3-longrope-long",
     {{"rope_parameters", {{"short_factor", nullptr}}}},
     "rope_parameters.full_attention.short_factor or rope_parameters.short_factor or "
     "rope_scaling.short_factor is missing"},
    {"FewFactors",
     "phi3-longrope-long",
     {{"rope_parameters", {{"long_factor", {1, 2}}}}},
     "rope_parameters.long_factor is an array; expected an array of 6 finite numbers"},
    {"FactorOfZero",
     "phi3-longrope-long",
     {{"rope_parameters", {{"long_factor", {1, 2, 3, 0, 5, 6}}}}},
     "rope_parameters.long_factor is an array; expected numbers above 0"},
    {"FactorsOfAnotherModel",
     "qwen3-tied",
     {{"rope_parameters",
       {{"rope_type", "llama3"},
        {"factor", 8},
        {"low_freq_factor", 1},
        {"high_freq_factor", 4},
        {"original_max_position_embeddings", 64}}}},
     "scaling of rope needs rope_freqs.weight, which a file of architecture qwen3 can't have"},
    {"LargeNumber",
     "qwen3-tied",
     {{"rms_norm_eps", 1e300}},
     "rms_norm_eps is 1e+300; expected a number that 32 bits can hold"},
    {"Bidirectional",
     "qwen3-tied",
     {{"is_causal", false}},
     "is_causal is false; expected true; qwen3 models have nothing else in Shunt"},
    {"Quantized",
     "qwen3-tied",
     {{"quantization_config", {{"quant_method", "awq"}}}},
     "quantization_config.quant_method is 'awq'; expected \"fp8\" or \"fbgemm_fp8\" or \"mxfp4\" "
     "or \"compressed-tensors\"; qwen3 models have nothing else in Shunt"},
    {"Decoder",
     "bert",
     {{"is_decoder", true}},
     "is_decoder is true; expected false; bert models have nothing else in Shunt"},
    {"Activation",
     "bert",
     {{"hidden_act", "relu"}},
     "hidden_act is 'relu'; expected \"gelu\"; bert models have nothing else in Shunt"},
    {"Positions",
     "bert",
     {{"max_position_embeddings", 63}},
     "tensor 'embeddings.position_embeddings.weight' is F32 [64, 32]; by config.json, "
     "position_embd.weight of [32, 63, 1, 1] is made of it"},
    {"PositionsOfRoberta",
     "bert-positions",
     {{"max_position_embeddings", 2}},
     "max_position_embeddings is 2; expected a whole number of at least 3"},
    {"Padding",
     "bert-positions",
     {{"pad_token_id", 0}},
     "pad_token_id is 0; expected 1; bert models have nothing else in Shunt"},
    {"TokenTypes",
     "bert",
     {{"type_vocab_size", 3}},
     "tensor 'embeddings.token_type_embeddings.weight' is F32 [2, 32]; by config.json, "
     "token_types.weight of [32, 3, 1, 1] is made of it"},
    {"WideLayers",
     "gemma4-mqa",
     {{"intermediate_size", 1 << 30}},
     "intermediate_size is 1073741824; expected at most 536870912"},
    {"Scale",
     "gemma3",
     {{"query_pre_attn_scalar", 0}},
     "query_pre_attn_scalar is 0; expected a number above 0"},
};

INSTANTIATE_TEST_SUITE_P(Models, BadConfigOf, ::testing::ValuesIn(kOtherConfigs),
                         [](const auto& each) { return each.param.name; });

TEST_F(FolderConversionTest, TheScaleOfScoresIsKept) {
  PublishedFolder folder = read_published("gemma3");
  folder.config["query_pre_attn_scalar"] = 64;
  write_published(folder, path_);
  const auto conversion = must(FolderConversion::open(path_));
  EXPECT_EQ(must(conversion.file().get_number("gemma3.attention.scale")), 0.125);
}

TEST_F(FolderConversionTest, OlderNamesOfAnEncoderAreRead) {
  PublishedFolder folder = read_published("bert");
  const auto expected = converted(folder, "");
  for (PublishedValues& each : folder.tensors) {
    for (const auto& [name, old] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                    std::pair{"LayerNorm.bias", "LayerNorm.beta"}}) {
      if (const std::size_t at = each.name.find(name); at != std::string::npos)
        each.name = each.name.substr(0, at) + old;
    }
    each.name = "bert." + each.name;
  }
  folder.tensors.push_back({"bert.embeddings.position_ids", {1}, {0.0F}});
  folder.tensors.push_back({"bert.pooler.dense.bias", {1}, {0.0F}});
  folder.tensors.push_back({"cls.predictions.bias", {1}, {0.0F}});
  EXPECT_EQ(converted(folder, ""), expected);
  EXPECT_EQ(must(FolderConversion::open(path_)).notes().size(), 3U);
  folder.tensors.push_back({"classifier.weight", {1}, {0.0F}});
  EXPECT_EQ(message(folder),
            "DIR/model.safetensors: tensor 'classifier.weight' is F32 [1]; rows of 32 elements are "
            "expected");
}

TEST_F(FolderConversionTest, OtherHeadsThanThoseOfTextsAreRefused) {
  PublishedFolder folder = read_published("bert-rerank");
  folder.config["architectures"] = {"BertForTokenClassification"};
  EXPECT_EQ(message(folder),
            "DIR/config.json: architectures is 'BertForTokenClassification'; Shunt has heads of "
            "ForSequenceClassification only");
  folder.config["architectures"] = {"BertForSequenceClassification"};
  EXPECT_EQ(message(folder), "opened");
  folder = read_published("modern-bert-rerank");
  folder.config["classifier_pooling"] = "mean";
  EXPECT_EQ(message(folder),
            "DIR/config.json: classifier_pooling is 'mean'; expected \"cls\", beside a classifier");
}

TEST_F(FolderConversionTest, NamesOfScoresAreKept) {
  PublishedFolder folder = read_published("qwen3-rerank");
  folder.config["id2label"] = {{"0", "yes"}, {"1", "no"}};
  write_published(folder, path_);
  const auto conversion = must(FolderConversion::open(path_));
  const auto labels =
      must(conversion.file().get_array("qwen3.classifier.output_labels", gguf::ValueType::kString));
  EXPECT_EQ(labels->strings, (std::vector<std::string>{"yes", "no"}));
}

/// The settings of the first published Nomic models.
TEST_F(FolderConversionTest, OlderSettingsOfAnEncoderAreRead) {
  PublishedFolder folder = read_published("nomic-bert");
  const auto expected = converted(folder, "");
  folder.config = {{"model_type", "nomic_bert"},
                   {"activation_function", "swiglu"},
                   {"n_embd", 32},
                   {"n_head", 2},
                   {"n_inner", 64},
                   {"n_layer", 2},
                   {"n_positions", 8192},
                   {"max_trained_positions", 64},
                   {"layer_norm_epsilon", 0.00390625},
                   {"rotary_emb_base", 1000},
                   {"rotary_emb_fraction", 1.0},
                   {"rotary_emb_interleaved", false},
                   {"rotary_scaling_factor", nullptr},
                   {"qkv_proj_bias", false},
                   {"type_vocab_size", 2},
                   {"vocab_size", 48}};
  EXPECT_EQ(converted(folder, ""), expected);
}

}  // namespace
}  // namespace shunt::test::convert_other_folders_test
