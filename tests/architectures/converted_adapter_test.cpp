// A LoRA adapter as PEFT saves it, from its folder to results: `shunt convert` of model and
// adapter, and `--lora`, give what the folder of the model with the changes in its weights gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "support/must.h"
#include "support/published_model.h"
#include "support/recorded_model.h"
#include "support/run_command.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_converted_adapter_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kRank = 3;
constexpr double kAlpha = 6;

/// Numbers from -largest to largest. The same seed gives the same ones.
std::vector<float> noise(std::int64_t count, float largest, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(to_size(count));
  for (float& number : numbers) {
    const auto unit = static_cast<float>(random() >> 8U) / static_cast<float>(1U << 23U) - 1;
    number = largest * unit;
  }
  return numbers;
}

/// W + alpha / rank * B A, all outermost first, added up in double.
void merge(PublishedValues& weight, const PublishedValues& a, const PublishedValues& b) {
  const std::size_t columns = to_size(weight.shape[1]);
  const std::size_t rank = to_size(kRank);
  for (std::size_t i = 0; i < weight.values.size(); ++i) {
    double change = 0;
    for (std::size_t r = 0; r < rank; ++r) {
      const double of_a = a.values[r * columns + i % columns];
      change += of_a * b.values[i / columns * rank + r];
    }
    const double factor = kAlpha / static_cast<double>(kRank);
    weight.values[i] = static_cast<float>(weight.values[i] + factor * change);
  }
}

/// The projections of layers, as PEFT's target_modules name them.
bool is_target(const PublishedValues& tensor) {
  const auto has = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
  return tensor.shape.size() == 2 && has("proj") && tensor.name.ends_with(".weight") &&
         !has(".experts.");
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.flush()) << path;
}

class ConvertedAdapter : public ::testing::TestWithParam<std::string> {
 protected:
  /// With a tokenizer of one letter for each row of the embedding.
  static void write_model(const PublishedFolder& folder, const std::string& path) {
    write_published(folder, path);
    json vocab = {{"<unk>", 0}};
    const auto size = folder.config.at("vocab_size").get<int>();
    for (int i = 1; i < size; ++i) vocab[std::string(1, static_cast<char>('@' + i))] = i;
    const json tokenizer = {{"model",
                             {{"type", "BPE"},
                              {"unk_token", "<unk>"},
                              {"byte_fallback", true},
                              {"vocab", vocab},
                              {"merges", json::array()}}}};
    write_text(fs::path(path) / "tokenizer.json", tokenizer.dump());
  }

  /// Writes the folders of the model, of an adapter for its projections, and of both merged.
  void write_folders() {
    PublishedFolder folder = read_published(GetParam());
    write_model(folder, base_);
    std::vector<PublishedValues> adapter;
    std::uint32_t seed = 0;
    for (PublishedValues& tensor : folder.tensors) {
      if (!is_target(tensor)) continue;
      const std::int64_t rows = tensor.shape[0];
      const std::int64_t columns = tensor.shape[1];
      const std::string name =
          "base_model.model." + tensor.name.substr(0, tensor.name.rfind(".weight"));
      const auto share = static_cast<float>(std::sqrt(3.0 / static_cast<double>(columns)));
      adapter.push_back(
          {name + ".lora_A.weight", {kRank, columns}, noise(kRank * columns, share, ++seed)});
      adapter.push_back(
          {name + ".lora_B.weight", {rows, kRank}, noise(rows * kRank, 0.2F, ++seed)});
      merge(tensor, adapter[adapter.size() - 2], adapter.back());
    }
    ASSERT_FALSE(adapter.empty());
    write_model(folder, merged_);
    fs::create_directories(adapter_);
    const json config = {{"peft_type", "LORA"}, {"r", kRank},        {"lora_alpha", kAlpha},
                         {"bias", "none"},      {"use_dora", false}, {"modules_to_save", nullptr}};
    write_text(fs::path(adapter_) / "adapter_config.json", config.dump());
    write_text(fs::path(adapter_) / "adapter_model.safetensors", safetensors_of(adapter, false));
  }

  /// `shunt convert` of a folder.
  static std::string converted(const std::string& folder, std::vector<std::string> more = {}) {
    const std::string path = folder + ".gguf";
    more.insert(more.begin(), {"convert", folder, path});
    const RunResult result = run_command(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return path;
  }

  /// The logits of all tokens.
  std::vector<float> logits(const std::string& path, std::vector<std::string> adapters) {
    SessionOptions options;
    options.context = 64;
    options.cache_type = DType::kF32;
    if (!adapters.empty()) options.adapters = {{.index = 0}};
    LoadOptions load;
    load.session = options;
    load.adapters = std::move(adapters);
    const std::array devices = {registry_->devices().back()};
    const auto session = must(Session::create(must(Model::load(path, devices, load)), options));
    std::vector<float> all;
    must(session->append_all(recorded_.tokens, [&](std::size_t, std::span<const float> more) {
      all.insert(all.end(), more.begin(), more.end());
    }));
    return all;
  }

  /// What `shunt perplexity` prints.
  static double perplexity(const std::string& path, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"perplexity", "--model", path, "--ctx", "16", "--cache-type", "F32",
                               "--json", "ABCDEFGHIJKLMNOPQRSTUVWXYZACEGIKMOQSUWYBDFHJLNPRTVXZ"});
    const RunResult result = run_command(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const json found = json::parse(result.out, nullptr, false);
    return found.is_object() ? found.at("perplexity").get<double>() : 0;
  }

  TempFolder folder_;
  std::string base_ = folder_.file("base");
  std::string merged_ = folder_.file("merged");
  std::string adapter_ = folder_.file("adapter");
  RecordedModel recorded_ = read_recorded(GetParam());
  std::unique_ptr<Registry> registry_ = must(Registry::create({}));
};

TEST_P(ConvertedAdapter, GivesTheResultsOfMergedWeights) {
  write_folders();
  if (HasFatalFailure()) return;
  const std::string base = converted(base_);
  const std::string merged = converted(merged_);
  const std::string adapter = converted(adapter_, {"--base", base_});
  const auto expected = logits(merged, {});
  const auto computed = logits(base, {adapter});
  ASSERT_EQ(computed.size(), recorded_.tokens.size() * to_size(recorded_.vocabulary));
  ASSERT_EQ(computed.size(), expected.size());
  float largest = 1;
  for (const float logit : expected) largest = std::max(largest, std::fabs(logit));
  const float most = largest * std::max(1e-4F, 10 * recorded_.float32_difference);
  EXPECT_LE(difference(computed, expected), most);
  // The change is not a small one.
  EXPECT_GT(difference(logits(base, {}), expected), 100 * most);
}

TEST_P(ConvertedAdapter, IsLoadedByTheFlagLora) {
  write_folders();
  if (HasFatalFailure()) return;
  const std::string base = converted(base_);
  const std::string adapter = converted(adapter_, {"--base", base_});
  const double expected = perplexity(converted(merged_));
  EXPECT_NEAR(perplexity(base, {"--lora", adapter}), expected, 1e-3 * expected);
  EXPECT_GT(std::fabs(perplexity(base) - expected), 1e-2 * expected);
}

INSTANTIATE_TEST_SUITE_P(Models, ConvertedAdapter,
                         ::testing::Values("llama-untied", "qwen3-untied-mqa", "gemma3",
                                           "phi3-untied", "qwen35-untied", "lfm2"),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_converted_adapter_test
