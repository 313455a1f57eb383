// What is wrong with a folder is said with its file and place; types and elements become others.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/to_size.h"
#include "shunt/convert.h"
#include "shunt/gguf_parts.h"
#include "shunt/message.h"
#include "unit/convert/conversion_folder.h"

namespace shunt::test::convert_folder_conversion_test {
namespace {

namespace fs = std::filesystem;

PublishedValues& tensor(PublishedFolder& folder, const std::string& name) {
  for (PublishedValues& each : folder.tensors) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("no tensor " + name);
}

constexpr const char* kUp = "model.layers.1.mlp.up_proj.weight";

TEST_F(FolderConversionTest, AMissingTensorIsNamed) {
  PublishedFolder folder = read_published("llama-untied");
  std::erase_if(folder.tensors, [](const auto& each) { return each.name == kUp; });
  EXPECT_EQ(message(folder), "DIR/config.json: tensor layers.1.mlp.up_proj.weight is missing");
}

TEST_F(FolderConversionTest, AMissingExpertIsNamed) {
  PublishedFolder folder = read_published("llama-experts");
  std::erase_if(folder.tensors, [](const auto& each) {
    return each.name == "model.layers.1.block_sparse_moe.experts.4.w2.weight";
  });
  EXPECT_EQ(message(folder),
            "DIR/config.json: tensor layers.1.block_sparse_moe.experts.4.w2.weight is missing, one "
            "of 6 experts");
}

TEST_F(FolderConversionTest, AnUnusedTensorIsNamedAndCanBeIgnored) {
  PublishedFolder folder = read_published("llama-untied");
  folder.tensors.push_back({"model.layers.0.self_attn.q_norm.weight", {1}, {1.0F}});
  EXPECT_EQ(message(folder),
            "DIR/model.safetensors: Shunt does not use tensor "
            "'model.layers.0.self_attn.q_norm.weight', F32 [1], in a model of type llama; "
            "--ignore model.layers.0.self_attn.q_norm.weight leaves the first one aside");
  EXPECT_EQ(message(folder, {.ignored = {"model.layers.0.self_attn.q_norm.weight"}}), "opened");
  EXPECT_EQ(message(folder, {.ignored = {"model.norm.weight"}}),
            "\"model.norm.weight\" can't be ignored: it is no tensor that Shunt does not use");
}

TEST_F(FolderConversionTest, PartsThatAreNotComputedAreLeftAside) {
  PublishedFolder folder = read_published("llama-untied");
  folder.tensors.push_back({"model.visual.blocks.0.weight", {1}, {1.0F}});
  folder.tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}, {1.0F}});
  write_published(folder, path_);
  const auto conversion = FolderConversion::open(path_);
  ASSERT_TRUE(conversion) << conversion.error().message();
  ASSERT_EQ(conversion->notes().size(), 2U);
  EXPECT_EQ(conversion->notes()[1],
            "left aside: the part for images: 1 tensor, such as 'model.visual.blocks.0.weight'");
}

TEST_F(FolderConversionTest, ATensorOfAnotherShapeIsNamed) {
  PublishedFolder folder = read_published("llama-untied");
  tensor(folder, kUp).shape = {64, 96};
  EXPECT_EQ(message(folder),
            "DIR/config.json: tensor 'model.layers.1.mlp.up_proj.weight' is F32 [64, 96]; by "
            "config.json, blk.1.ffn_up.weight of [64, 96, 1, 1] is made of it");
}

struct ConfigCase {
  std::string name;
  std::string member;
  nlohmann::json value;
  std::string message;
};

class BadConfig : public FolderConversionTest, public ::testing::WithParamInterface<ConfigCase> {};

TEST_P(BadConfig, IsRefusedWithItsMember) {
  PublishedFolder folder = read_published("llama-experts");
  folder.config[nlohmann::json::json_pointer(GetParam().member)] = GetParam().value;
  EXPECT_EQ(message(folder), "DIR/config.json: " + GetParam().message);
}

const ConfigCase kConfigCases[] = {
    {"NoLayers", "/num_hidden_layers", nullptr, "num_hidden_layers is missing"},
    {"NegativeLayers", "/num_hidden_layers", -1,
     "num_hidden_layers is -1; expected a whole number from 0 to 1073741824"},
    {"ManyLayers", "/num_hidden_layers", 1 << 20, "1048576 layers, but the folder has 53 tensors"},
    {"LayersAsText", "/num_hidden_layers", "two",
     "num_hidden_layers is 'two'; expected a whole number from 0 to 1073741824"},
    {"Activation", "/hidden_act", "relu",
     "hidden_act is 'relu'; expected \"silu\" or \"swish\"; llama models have nothing else in "
     "Shunt"},
    {"OddRope", "/head_dim", 15,
     "head_dim is 15; expected an even part of the 15 elements of a head"},
    {"RopeType", "/rope_parameters/rope_type", "spiral",
     "scaling of rope 'spiral'; known are default, mrope, linear, yarn, llama3, longrope, su, "
     "dynamic, proportional"},
    {"RopeBase", "/rope_parameters/rope_theta", 0,
     "rope_parameters.rope_theta is 0; expected a number above 0"},
    {"MoreExpertsUsed", "/num_experts_per_tok", 7,
     "llama.expert_used_count is 7; it must be from 1 to 6"},
    {"FewerExperts", "/num_local_experts", 5,
     "tensor 'model.layers.0.block_sparse_moe.gate.weight' is F32 [6, 64]; by config.json, "
     "blk.0.ffn_gate_inp.weight of [64, 5, 1, 1] is made of it"},
    {"LargeSizes", "/intermediate_size", 1 << 30,
     "tensor 'model.layers.0.block_sparse_moe.experts.0.w1.weight' is F32 [96, 64]; by "
     "config.json, blk.0.ffn_gate_exps.weight of [64, 1073741824, 6, 1] is made of it"},
    {"Type", "/model_type", 3, "model_type is 3; expected a text"},
};

INSTANTIATE_TEST_SUITE_P(Members, BadConfig, ::testing::ValuesIn(kConfigCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(FolderConversionTest, LayerTypesOfAnotherLengthAreRefused) {
  PublishedFolder folder = read_published("olmo2-window");
  folder.config["layer_types"] = {"full_attention"};
  EXPECT_EQ(message(folder),
            "DIR/config.json: layer_types is an array; expected an array of 4 texts, one for each "
            "layer");
}

TEST_F(FolderConversionTest, LayerTypesOfOtherKindsAreRefused) {
  PublishedFolder folder = read_published("qwen3-tied");
  folder.config["layer_types"][1] = "sliding_attention";
  EXPECT_EQ(message(folder),
            "DIR/config.json: layer_types: layer 1 is 'sliding_attention'; a file of architecture "
            "qwen3 has another kind there");
  folder.config["layer_types"][1] = "spiral_attention";
  EXPECT_EQ(message(folder),
            "DIR/config.json: layer_types: layer 1 is 'spiral_attention', which Shunt does not "
            "know");
}

TEST_F(FolderConversionTest, OtherLayersWithWindowsGetAKey) {
  PublishedFolder folder = read_published("gemma3");
  folder.config["layer_types"][2] = "full_attention";
  write_published(folder, path_);
  const auto conversion = FolderConversion::open(path_);
  ASSERT_TRUE(conversion) << conversion.error().message();
  const auto pattern = conversion->file().get_array("gemma3.attention.sliding_window_pattern",
                                                    gguf::ValueType::kBool);
  ASSERT_TRUE(pattern) << pattern.error().message();
  EXPECT_EQ((*pattern)->integers, (std::vector<std::int64_t>{1, 1, 0, 1, 1, 0}));
}

TEST_F(FolderConversionTest, OtherLayersWithoutPositionsAreRefused) {
  PublishedFolder folder = read_published("smollm3-tied");
  folder.config["no_rope_layers"] = {1, 0, 1, 0};
  EXPECT_EQ(message(folder),
            "DIR/config.json: no_rope_layers: layer 1 has 0; models of this architecture have 1 "
            "there");
}

TEST_F(FolderConversionTest, DeepJsonIsRefused) {
  write_published(read_published("llama-untied"), path_);
  write("config.json", std::string(10'000, '['));
  const auto conversion = FolderConversion::open(path_);
  ASSERT_FALSE(conversion);
  EXPECT_EQ(conversion.error().message(),
            path_ + "/config.json: byte 64: JSON is nested deeper than 64 levels");
}

TEST_F(FolderConversionTest, AMissingFolderIsNamed) {
  for (const char* path : {"missing", "missing/", "/none/missing"}) {
    const auto conversion = FolderConversion::open(path);
    ASSERT_FALSE(conversion);
    EXPECT_EQ(conversion.error().code(), ErrorCode::kNotFound);
    EXPECT_EQ(conversion.error().message(), std::string("there is no folder or file ") + path);
  }
}

TEST_F(FolderConversionTest, AnUnknownModelIsNamed) {
  PublishedFolder folder = read_published("llama-untied");
  folder.config["model_type"] = "parrot";
  EXPECT_TRUE(message(folder).starts_with(
      "DIR/config.json: model_type 'parrot' can't be converted; known are llama, mistral, "))
      << message(folder);
}

TEST_F(FolderConversionTest, WithATypeTheBytesAreThoseOfTwoSteps) {
  for (const char* const name : {"llama-untied", "qwen3next-untied", "gpt-oss"}) {
    for (const bool bf16 : {false, true}) {
      SCOPED_TRACE(name);
      PublishedFolder folder = read_published(name);
      folder.bf16 = bf16;
      const auto at_once = converted(folder, "Q4_K_M");
      (void)converted_folder("");
      const gguf::File file = must(gguf::File::open(out_));
      QuantizeOptions options;
      options.type = "Q4_K_M";
      const std::string second = temporary_.file("second.gguf");
      must(write_quantized(second, file, must(plan_quantization(file, options)), options));
      EXPECT_EQ(at_once, read(second));
    }
  }
}

/// Columns of which some matter much more than others.
ImportanceMatrix importance_of(const gguf::File& file) {
  ImportanceMatrix importance;
  importance.chunk_count = 1;
  for (const gguf::TensorInfo& info : file.tensors()) {
    if (info.tensor.size(1) == 1) continue;
    ColumnSums& sums = importance.tensors[info.name];
    sums.columns = info.tensor.size(0);
    const std::int64_t matrices = info.tensor.size(2);
    sums.counts.assign(static_cast<std::size_t>(matrices), 10);
    for (std::int64_t i = 0; i < sums.columns * matrices; ++i)
      sums.squares.push_back(i % 7 == 0 ? 1000 : 1);
  }
  return importance;
}

TEST_F(FolderConversionTest, WithAnImportanceMatrixTheBytesAreThoseOfTwoSteps) {
  for (const char* const name : {"llama-experts", "qwen3-tied", "bert"}) {
    SCOPED_TRACE(name);
    const auto unweighted = converted(read_published(name), "IQ4_NL");
    (void)converted_folder("");
    const gguf::File file = must(gguf::File::open(out_));
    const ImportanceMatrix importance = importance_of(file);
    QuantizeOptions options;
    options.type = "IQ4_NL";
    options.importance = &importance;
    options.importance_file = "importance.gguf";
    const std::string first = temporary_.file("first.gguf");
    const auto conversion = must(FolderConversion::open(path_));
    must(conversion.write(first, must(conversion.plan(options)), options));
    const std::string second = temporary_.file("second.gguf");
    must(write_quantized(second, file, must(plan_quantization(file, options)), options));
    EXPECT_EQ(read(first), read(second));
    EXPECT_NE(read(first), unweighted);
  }
}

TEST_F(FolderConversionTest, PartsAreThoseOfTheWholeFile) {
  const auto whole = converted(read_published("llama-experts"), "");
  const auto conversion = must(FolderConversion::open(path_));
  QuantizeOptions options;
  options.parts = gguf::PartLimits{.tensors = 5};
  const auto result = must(conversion.write(out_, must(conversion.plan({})), options));
  ASSERT_GT(result.files.size(), 1U);
  EXPECT_EQ(result.files[0],
            temporary_.file(fmt::format("out-00001-of-{:05}.gguf", result.files.size())));
  const std::string merged = temporary_.file("merged.gguf");
  must(gguf::write_merged(merged, must(gguf::File::open(result.files[0]))));
  EXPECT_EQ(read(merged), whole);
}

TEST_F(FolderConversionTest, TheFolderIsNotOverwritten) {
  write_published(read_published("llama-untied"), path_);
  fs::create_directories(path_ + "/1_Pooling");
  write("1_Pooling/config.json", "{}");
  const auto conversion = must(FolderConversion::open(path_));
  for (const char* const name :
       {"/model.safetensors", "/config.json", "/tokenizer.json", "/1_Pooling/config.json"}) {
    const std::string input = path_ + name;
    ASSERT_TRUE(fs::exists(input)) << input;
    const auto written = conversion.write(input, must(conversion.plan({})), {});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message(), input + " is a file that is read");
  }
}

TEST_F(FolderConversionTest, AFileOfAnEarlierConversionIsReplaced) {
  write_published(read_published("llama-untied"), path_);
  write("old.gguf", "");
  const auto conversion = must(FolderConversion::open(path_));
  const auto written = conversion.write(path_ + "/old.gguf", must(conversion.plan({})), {});
  EXPECT_TRUE(written) << written.error().message();
}

TEST_F(FolderConversionTest, APipeIsNotRead) {
  const std::string pipe = temporary_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(FolderConversion::open(pipe));
}

/// A safetensors file of tensors with any bytes.
struct RawTensor {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

std::string safetensors_of_raw(const std::vector<RawTensor>& tensors) {
  nlohmann::json header;
  std::string data;
  for (const RawTensor& raw : tensors) {
    const std::size_t start = data.size();
    data += raw.bytes;
    header[raw.name] = {
        {"dtype", raw.type}, {"shape", raw.shape}, {"data_offsets", {start, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

std::string f32_bytes(std::vector<float> numbers) {
  convert_byte_order(DType::kF32, std::endian::little, std::as_writable_bytes(std::span(numbers)));
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

std::vector<float> decoded(const gguf::File& file, const gguf::TensorInfo& info) {
  std::vector<std::byte> bytes(file.data(info).begin(), file.data(info).end());
  convert_byte_order(info.tensor.dtype, info.order, bytes);
  std::vector<float> numbers(static_cast<std::size_t>(element_count(info.tensor.shape)));
  trait(info.tensor.dtype)
      .decode(bytes.data(), numbers.data(), static_cast<std::int64_t>(numbers.size()));
  return numbers;
}

/// 1.0, -1.5, 2^-9 and 448 in turn.
std::string e4m3_bytes(std::size_t count) {
  const std::string numbers("\x38\xBC\x01\x7E", 4);
  std::string bytes;
  for (std::size_t i = 0; i < count; i += numbers.size()) bytes += numbers;
  return bytes;
}

constexpr std::size_t kUpRows = 96;
constexpr std::size_t kUpColumns = 64;

/// The folder of a model, some of whose tensors are other ones.
class RawFolder : public FolderConversionTest {
 protected:
  RawFolder() { folder_.config["quantization_config"] = {{"weight_block_size", {32, 64}}}; }

  /// Writes the folder with `others` in place of tensors of their names.
  void write_with(const std::vector<RawTensor>& others) {
    write_published(folder_, path_);
    std::vector<RawTensor> tensors = others;
    for (const PublishedValues& each : folder_.tensors) {
      if (std::ranges::count(others, each.name, &RawTensor::name) == 0)
        tensors.push_back({each.name, "F32", each.shape, f32_bytes(each.values)});
    }
    write("model.safetensors", safetensors_of_raw(tensors));
  }

  std::string message_with(const std::vector<RawTensor>& others) {
    write_with(others);
    const auto conversion = FolderConversion::open(path_);
    if (conversion) return "opened";
    std::string text = conversion.error().message();
    if (text.starts_with(path_)) text.replace(0, path_.size(), "DIR");
    return text;
  }

  PublishedFolder folder_ = read_published("llama-untied");
};

const RawTensor kSmallUp = {kUp, "F8_E4M3", {96, 64}, e4m3_bytes(kUpRows* kUpColumns)};

/// A number that BF16 keeps exact in products with those of e4m3_bytes().
float scale_number(std::size_t index) {
  return std::ldexp(1.0F, static_cast<int>(index % 5));
}

RawTensor scales_of(const std::string& name, std::vector<std::int64_t> shape) {
  std::vector<float> numbers(1);
  for (const std::int64_t size : shape) numbers.resize(numbers.size() * to_size(size));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = scale_number(i);
  return {name + "_scale_inv", "F32", std::move(shape), f32_bytes(numbers)};
}

TEST_F(RawFolder, EightBitFloatsAreMultipliedByTheirScales) {
  struct Case {
    std::vector<std::int64_t> shape;
    std::vector<int> block;
    std::size_t rows;  ///< of a scale
    std::size_t columns;
  };
  // As many blocks as rows are no rows.
  const Case cases[] = {{{3, 1}, {32, 64}, 32, 64}, {{12, 8}, {8, 8}, 8, 8},
                        {{96, 1}, {8, 8}, 1, 64},   {{96}, {8, 8}, 1, 64},
                        {{1}, {8, 8}, 96, 64},      {{}, {8, 8}, 96, 64}};
  const float numbers[] = {1, -1.5F, std::ldexp(1.0F, -9), 448};
  for (const Case& each : cases) {
    SCOPED_TRACE(::testing::PrintToString(each.shape));
    folder_.config["quantization_config"] = {{"weight_block_size", each.block}};
    write_with({kSmallUp, scales_of(kUp, each.shape)});
    (void)converted_folder("");
    const gguf::File file = must(gguf::File::open(out_));
    const gguf::TensorInfo* const info = file.find_tensor("blk.1.ffn_up.weight");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->tensor.dtype, DType::kBF16);
    const auto made = decoded(file, *info);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::size_t row = i / kUpColumns / each.rows;
      const std::size_t column = i % kUpColumns / each.columns;
      const float scale = scale_number(row * (kUpColumns / each.columns) + column);
      ASSERT_EQ(made[i], numbers[i % 4] * scale) << i;
    }
  }
}

TEST_F(RawFolder, ScalesOfOtherShapesAreRefused) {
  const std::string name = "'" + std::string(kUp) + "'";
  EXPECT_EQ(message_with({kSmallUp, scales_of(kUp, {1, 96})}),
            "DIR/config.json: tensor " + name + " is F8_E4M3 [96, 64]; its scales '" + kUp +
                "_scale_inv' are F32 [1, 96]; expected one, one a row, or one for 32 by 64 rows "
                "and columns");
  EXPECT_EQ(message_with({kSmallUp}),
            "DIR/config.json: tensor " + name +
                " is F8_E4M3 [96, 64]; by quantization_config, scales are expected beside it, in " +
                kUp + "_scale_inv or " + kUp + "_scale");
  folder_.config.erase("quantization_config");
  EXPECT_EQ(message_with({kSmallUp}), "opened");
  EXPECT_EQ(message_with({scales_of(kUp, {3, 1})}),
            "DIR/config.json: tensor " + name + " is F32 [96, 64]; scales such as '" + kUp +
                "_scale_inv' are expected beside 8-bit floats only");
}

TEST_F(RawFolder, ScalesOfExpertsAreAlike) {
  folder_ = read_published("llama-experts");
  folder_.config["quantization_config"] = {{"weight_block_size", {32, 64}}};
  const auto expert = [](int number) {
    return fmt::format("model.layers.1.block_sparse_moe.experts.{}.w1.weight", number);
  };
  std::vector<RawTensor> tensors;
  for (int i = 0; i < 6; ++i) {
    tensors.push_back({expert(i), "F8_E4M3", {96, 64}, e4m3_bytes(kUpRows * kUpColumns)});
    if (i != 4) tensors.push_back(scales_of(expert(i), {3, 1}));
  }
  const std::string start = "DIR/config.json: tensor '" + expert(4) + "' is F8_E4M3 [96, 64]; ";
  EXPECT_EQ(message_with(tensors), start + "it has no scales, unlike other matrices of its stack");
  tensors.push_back(scales_of(expert(4), {96, 1}));
  EXPECT_EQ(message_with(tensors), start + "its scales '" + expert(4) +
                                       "_scale_inv' are F32 [96, 1], but those of '" + expert(0) +
                                       "' are F32 [3, 1]");
  tensors.back() = scales_of(expert(4), {3, 1});
  EXPECT_EQ(message_with(tensors), "opened");
}

TEST_F(FolderConversionTest, FourBitFloatsStayAsTheyAre) {
  PublishedFolder folder = read_published("gpt-oss");
  write_published(folder, path_);
  std::vector<RawTensor> tensors;
  const std::string gate_up = "model.layers.0.mlp.experts.gate_up_proj";
  for (const PublishedValues& each : folder.tensors) {
    if (each.name != gate_up)
      tensors.push_back({each.name, "F32", each.shape, f32_bytes(each.values)});
  }
  constexpr int kExperts = 6;
  constexpr int kRows = 192;
  constexpr int kBlocks = 2;  // of 64 columns
  std::string numbers;
  std::string scales;
  const auto number = [](int row, int column) { return (row * 7 + column * 3) % 16; };
  for (int row = 0; row < kExperts * kRows; ++row) {
    for (int column = 0; column < kBlocks * 32; column += 2)
      numbers.push_back(static_cast<char>(number(row, column) | (number(row, column + 1) << 4)));
    for (int block = 0; block < kBlocks; ++block)
      scales.push_back(static_cast<char>(120 + (row + block) % 10));
  }
  tensors.push_back({gate_up + "_blocks", "U8", {kExperts, kRows, kBlocks, 16}, numbers});
  tensors.push_back({gate_up + "_scales", "U8", {kExperts, kRows, kBlocks}, scales});
  write("model.safetensors", safetensors_of_raw(tensors));
  (void)converted_folder("");
  const gguf::File file = must(gguf::File::open(out_));
  // The numbers of E2M1 (OCP Microscaling Formats 1.0).
  const float e2m1[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  for (const bool gate : {true, false}) {
    const auto* const info =
        file.find_tensor(gate ? "blk.0.ffn_gate_exps.weight" : "blk.0.ffn_up_exps.weight");
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->tensor.dtype, DType::kMXFP4);
    const auto made = decoded(file, *info);
    for (int row = 0; row < kExperts * kRows / 2; ++row) {
      for (int column = 0; column < 64; ++column) {
        const int from = 2 * row + (gate ? 0 : 1);
        const float scale = std::ldexp(1.0F, (from + column / 32) % 10 - 7);
        ASSERT_EQ(made[static_cast<std::size_t>(row * 64 + column)],
                  e2m1[number(from, column)] * scale)
            << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace shunt::test::convert_folder_conversion_test
