// LoRA adapters as PEFT saves them: their products are what conversion makes of a change of the
// model's own weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/to_size.h"
#include "shunt/convert.h"
#include "support/models.h"
#include "support/must.h"
#include "support/published_model.h"
#include "support/recorded_model.h"

namespace shunt::test::convert_adapter_conversion_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kRank = 3;

/// Small whole numbers, whose products are exact.
std::vector<float> whole_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    numbers.push_back(static_cast<float>(seed >> 24U) - 128.0F);
  }
  return numbers;
}

/// The product of a matrix of `rows` by `inner`, and one of `inner` by `columns`.
std::vector<float> product(const std::vector<float>& left, const std::vector<float>& right,
                           std::size_t rows, std::size_t inner, std::size_t columns) {
  std::vector<float> made(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < inner; ++i) {
      for (std::size_t column = 0; column < columns; ++column)
        made[row * columns + column] += left[row * inner + i] * right[i * columns + column];
    }
  }
  return made;
}

bool is_adapted(const PublishedValues& tensor) {
  const auto has = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
  return tensor.shape.size() == 2 && has("proj") && tensor.name.ends_with(".weight") &&
         !has(".experts.") && !has("kv_b_proj");
}

class AdapterConversion : public ::testing::TestWithParam<std::string> {
 protected:
  void write_adapter(const std::vector<PublishedValues>& tensors, const json& config) const {
    fs::create_directories(adapter_);
    std::ofstream(fs::path(adapter_) / "adapter_config.json") << config.dump();
    std::ofstream(fs::path(adapter_) / "adapter_model.safetensors", std::ios::binary)
        << safetensors_of(tensors, false);
  }

  gguf::File converted(const std::string& folder, const FolderOptions& options,
                       const std::string& name) const {
    const auto conversion = must(FolderConversion::open(folder, options));
    const std::string path = temporary_.file(name);
    must(conversion.write(path, must(conversion.plan({})), {}));
    return must(gguf::File::open(path));
  }

  std::string message(const std::string& base = "") const {
    FolderOptions options;
    options.base = base.empty() ? base_ : base;
    const auto conversion = FolderConversion::open(adapter_, options);
    if (conversion) return "opened";
    std::string text = conversion.error().message();
    for (std::size_t at = 0; (at = text.find(adapter_)) != std::string::npos;)
      text.replace(at, adapter_.size(), "DIR");
    for (std::size_t at = 0; (at = text.find(base_)) != std::string::npos;)
      text.replace(at, base_.size(), "BASE");
    return text;
  }

  TempFolder temporary_;
  std::string base_ = temporary_.file("model");
  std::string adapter_ = temporary_.file("small");
};

json usual_config() {
  return {{"peft_type", "LORA"}, {"r", kRank},        {"lora_alpha", 12},
          {"bias", "none"},      {"use_dora", false}, {"modules_to_save", nullptr}};
}

TEST_P(AdapterConversion, ProductsAreThoseOfTheModel) {
  PublishedFolder base = read_published(GetParam());
  std::vector<PublishedValues> adapter;
  std::uint32_t seed = 1;
  for (PublishedValues& tensor : base.tensors) {
    if (!is_adapted(tensor)) continue;
    const std::int64_t rows = tensor.shape[0];
    const std::int64_t columns = tensor.shape[1];
    const auto first = whole_numbers(kRank * columns, ++seed);
    const auto second = whole_numbers(rows * kRank, ++seed);
    tensor.values = product(second, first, to_size(rows), to_size(kRank), to_size(columns));
    const std::string name = "base_model.model." + tensor.name.substr(0, tensor.name.size() - 7);
    adapter.push_back({name + ".lora_A.weight", {kRank, columns}, first});
    adapter.push_back({name + ".lora_B.weight", {rows, kRank}, second});
  }
  ASSERT_FALSE(adapter.empty());
  write_published(base, base_);
  write_adapter(adapter, usual_config());
  const gguf::File model = converted(base_, {}, "model.gguf");
  FolderOptions options;
  options.base = base_;
  const gguf::File made = converted(adapter_, options, "adapter.gguf");
  EXPECT_EQ(must(made.get_string("general.type")), "adapter");
  EXPECT_EQ(must(made.get_string("general.architecture")),
            must(model.get_string("general.architecture")));
  EXPECT_EQ(must(made.get_string("adapter.type")), "lora");
  EXPECT_EQ(must(made.get_number("adapter.lora.alpha")), 12);
  EXPECT_GE(made.tensors().size(), adapter.size());
  for (const gguf::TensorInfo& info : made.tensors()) {
    if (!info.name.ends_with(".lora_a")) continue;
    SCOPED_TRACE(info.name);
    const std::string name = info.name.substr(0, info.name.size() - 7);
    const gguf::TensorInfo* const second = made.find_tensor(name + ".lora_b");
    const gguf::TensorInfo* const weight = model.find_tensor(name);
    ASSERT_NE(second, nullptr);
    ASSERT_NE(weight, nullptr);
    ASSERT_EQ(info.tensor.size(0), weight->tensor.size(0));
    ASSERT_EQ(info.tensor.size(1), kRank);
    ASSERT_EQ(second->tensor.size(0), kRank);
    ASSERT_EQ(second->tensor.size(1), weight->tensor.size(1));
    EXPECT_EQ(
        product(values_of(made, *second), values_of(made, info), to_size(weight->tensor.size(1)),
                to_size(kRank), to_size(weight->tensor.size(0))),
        values_of(model, *weight));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AdapterConversion,
                         ::testing::Values("llama-untied", "llama-tied-mqa", "qwen3-untied-mqa",
                                           "gemma3", "phi3-untied", "granitemoe-shared-tied-mqa",
                                           "qwen3next-untied", "qwen35-untied", "deepseek2-lite",
                                           "lfm2"),
                         recorded_name);

using BadAdapters = AdapterConversion;

TEST_F(BadAdapters, AreRefusedWithTheirPlace) {
  write_published(read_published("llama-tied-mqa"), base_);
  const std::string query = "base_model.model.model.layers.1.self_attn.q_proj";
  const auto numbers = [](std::int64_t rows, std::int64_t columns) {
    return std::pair(std::vector{rows, columns}, whole_numbers(rows * columns, 1));
  };
  const auto tensor = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    const auto [shape, values] = numbers(rows, columns);
    return PublishedValues{name, shape, values};
  };
  const PublishedValues first = tensor(query + ".lora_A.weight", 3, 64);
  const PublishedValues second = tensor(query + ".lora_B.weight", 64, 3);
  write_adapter({first, second}, usual_config());
  EXPECT_EQ(message(), "opened");
  const std::string file = "DIR/adapter_model.safetensors: ";
  const std::pair<std::vector<PublishedValues>, std::string> cases[] = {
      {{}, "no tensors"},
      {{first}, "tensor '" + query + ".lora_A.weight' has no lora_B beside it"},
      {{second},
       "Shunt does not use tensor '" + query +
           ".lora_B.weight', F32 [64, 3]; expected pairs of lora_A and lora_B"},
      {{first, second, tensor("base_model.model.lm_head.weight", 48, 64)},
       "Shunt does not use tensor 'base_model.model.lm_head.weight', F32 [48, 64]; expected pairs "
       "of lora_A and lora_B"},
      {{first, tensor(query + ".lora_B.weight", 60, 3)},
       "tensor '" + query + ".lora_B.weight' is F32 [60, 3]; [64, 3] is expected, by " +
           "BASE/config.json"},
      {{tensor(query + ".lora_A.weight", 4, 64), tensor(query + ".lora_B.weight", 64, 4)},
       "tensor '" + query +
           ".lora_A.weight' is F32 [4, 64]; by r in adapter_config.json, rank 3 is expected"},
      {{first, tensor(query + ".lora_B.weight", 64, 4)},
       "tensor '" + query + ".lora_B.weight' is F32 [64, 4]; [64, 3] is expected, by " +
           "BASE/config.json"},
      {{tensor("base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight", 3, 64),
        tensor("base_model.model.model.layers.7.self_attn.q_proj.lora_B.weight", 64, 3)},
       "tensor 'base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight': a model of llama "
       "has no weight of this name"},
      {{tensor("base_model.model.lm_head.lora_A.weight", 3, 64),
        tensor("base_model.model.lm_head.lora_B.weight", 48, 3)},
       "tensor 'base_model.model.lm_head.lora_A.weight' changes output.weight, which an adapter of "
       "Shunt can't"},
  };
  for (const auto& [tensors, expected] : cases) {
    write_adapter(tensors, usual_config());
    EXPECT_EQ(message(), file + expected);
  }
}

std::vector<PublishedValues> pair_of_rank(std::int64_t rank) {
  const std::string query = "base_model.model.model.layers.1.self_attn.q_proj";
  return {{query + ".lora_A.weight", {rank, 64}, whole_numbers(rank * 64, 1)},
          {query + ".lora_B.weight", {64, rank}, whole_numbers(64 * rank, 1)}};
}

TEST_F(BadAdapters, OtherKindsAreNamed) {
  write_published(read_published("llama-tied-mqa"), base_);
  const std::vector<PublishedValues> tensors = pair_of_rank(kRank);
  const std::pair<json, std::string> cases[] = {
      {{{"peft_type", "IA3"}}, "peft_type is 'IA3'; expected \"LORA\"; Shunt has plain LoRA only"},
      {{{"use_dora", true}}, "use_dora is true; expected false; Shunt has plain LoRA only"},
      {{{"bias", "all"}}, "bias is 'all'; expected \"none\"; Shunt has plain LoRA only"},
      {{{"modules_to_save", {"lm_head"}}},
       "modules_to_save is an array; expected []; Shunt has plain LoRA only"},
      {{{"alpha_pattern", {{"q_proj", 3}}}},
       "alpha_pattern is an object; expected {}; Shunt has plain LoRA only"},
      {{{"lora_alpha", "a"}}, "lora_alpha is 'a'; expected a number that 32 bits can hold"},
      {{{"use_rslora", true}, {"rank_pattern", {{"q_proj", 3}}}},
       "rank_pattern is an object; expected none, beside use_rslora"},
      {{{"lora_alpha", 0}},
       "lora_alpha is 0; expected a number other than 0 that 32 bits can hold"},
      {{{"r", 4097}}, "r is 4097; expected a rank from 1 to 4096"},
      {{{"r", 0}}, "r is 0; expected a rank from 1 to 4096"},
  };
  for (const auto& [changes, expected] : cases) {
    json config = usual_config();
    config.update(changes);
    write_adapter(tensors, config);
    EXPECT_EQ(message(), "DIR/adapter_config.json: " + expected);
  }
  json by_root = usual_config();
  by_root.update({{"use_rslora", true}, {"r", 9}});
  write_adapter(pair_of_rank(9), by_root);
  FolderOptions options;
  options.base = base_;
  const auto conversion = must(FolderConversion::open(adapter_, options));
  // alpha / sqrt(r) is 12 * sqrt(9) / r.
  EXPECT_EQ(must(conversion.file().get_number("adapter.lora.alpha")), 36);
  EXPECT_EQ(conversion.plan({.type = "Q8_0"}).error().message(), "an adapter keeps its types");
}

TEST_F(BadAdapters, RanksOfAPatternDiffer) {
  write_published(read_published("llama-tied-mqa"), base_);
  json config = usual_config();
  config["rank_pattern"] = {{"q_proj", 5}};
  write_adapter(pair_of_rank(5), config);
  EXPECT_EQ(message(), "opened");
  write_adapter(pair_of_rank(4097), config);
  EXPECT_EQ(message(),
            "DIR/adapter_model.safetensors: tensor "
            "'base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight' is F32 [4097, 64]; a "
            "rank from 1 to 4096 is expected");
}

TEST_F(BadAdapters, OptionsWithoutAnEffectAreErrors) {
  write_published(read_published("llama-tied-mqa"), base_);
  write_adapter(pair_of_rank(kRank), usual_config());
  FolderOptions options;
  options.base = base_;
  options.ignored = {"lm_head.weight"};
  const auto conversion = FolderConversion::open(adapter_, options);
  ASSERT_FALSE(conversion);
  EXPECT_EQ(conversion.error().message(),
            adapter_ + ": all tensors of an adapter are used, so that none can be ignored");
  const std::string file = temporary_.file("old.gguf");
  std::ofstream(file) << "GGUF";
  for (const FolderOptions& of_folders :
       {FolderOptions{.base = base_}, FolderOptions{.ignored = {"a"}}}) {
    const auto renewed = FolderConversion::open(file, of_folders);
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().message(),
              file + ": a base and ignored tensors are for folders, and this is a GGUF file");
  }
}

TEST_F(BadAdapters, AreNotWrittenOverTheModel) {
  write_published(read_published("llama-tied-mqa"), base_);
  write_adapter(pair_of_rank(kRank), usual_config());
  FolderOptions options;
  options.base = base_;
  const auto conversion = must(FolderConversion::open(adapter_, options));
  for (const std::string& input : {adapter_ + "/adapter_config.json", base_ + "/config.json"}) {
    const auto written = conversion.write(input, must(conversion.plan({})), {});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message(), input + " is a file that is read");
  }
}

TEST_F(BadAdapters, NeedAModel) {
  write_adapter({}, usual_config());
  const auto conversion = FolderConversion::open(adapter_);
  ASSERT_FALSE(conversion);
  EXPECT_THAT(
      conversion.error().message(),
      ::testing::StartsWith(adapter_ + ": an adapter needs the folder of its model, --base DIR: "));
  write_published(read_published("llama-tied-mqa"), base_);
  FolderOptions options;
  options.base = adapter_;
  const auto model = FolderConversion::open(base_, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message(),
            base_ + ": a base is for the folder of an adapter, which has adapter_config.json");
}

}  // namespace
}  // namespace shunt::test::convert_adapter_conversion_test
