// Folders as transformers saves them become the recorded models: keys, tensors and logits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "base/to_size.h"
#include "shunt/convert.h"
#include "shunt/engine.h"
#include "support/must.h"
#include "support/published_model.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_convert_test {
namespace {

/// A key whose value may be another one, or missing.
struct Other {
  std::string_view model;  ///< the beginning of its name
  std::string_view key;
  std::string_view reason;
};
constexpr std::array kOtherKeys = {
    Other{"glm4moe-groups", "block_count", "layers that predict further tokens are left out"},
    Other{"glm4moe-groups", "nextn_predict_layers", "they are left out"},
    Other{"deepseek2-lite", "expert_gating_func", "only one function"},
    Other{"qwen3-rerank", "classifier.output_labels", "the folder has no names"},
};

/// Models with factors of rope that follow from no config.json: theirs are random.
constexpr std::array<std::string_view, 6> kRandomRope = {
    "llama-rope-freqs", "exaone4-window-freqs-mqa",   "exaone4-tied",
    "gemma4-mqa",       "gemma4-per-layer-shared-kv", "gemma4-experts-k-as-v"};

bool has_random_rope(const std::string& model) {
  return std::ranges::count(kRandomRope, model) > 0;
}

bool is_number(const gguf::Value& value) {
  return !std::holds_alternative<std::string>(value.data) &&
         !std::holds_alternative<std::shared_ptr<const gguf::Array>>(value.data);
}

double number(const gguf::Value& value) {
  return std::visit(
      [](const auto& data) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(data)>>)
          return static_cast<double>(data);
        else
          return 0;
      },
      value.data);
}

std::vector<double> numbers(const gguf::Value& value) {
  if (is_number(value)) return {number(value)};
  const auto& array = *std::get<std::shared_ptr<const gguf::Array>>(value.data);
  std::vector<double> all(array.floats.begin(), array.floats.end());
  all.insert(all.end(), array.integers.begin(), array.integers.end());
  return all;
}

class ArchitectureConvert : public ::testing::TestWithParam<std::string> {
 protected:
  void convert(const PublishedFolder& folder) {
    write_published(folder, folder_path_);
    const auto conversion = FolderConversion::open(folder_path_);
    ASSERT_TRUE(conversion) << conversion.error().message();
    const QuantizeOptions options;
    const auto plan = conversion->plan(options);
    ASSERT_TRUE(plan) << plan.error().message();
    const auto written = conversion->write(path_, *plan, options);
    ASSERT_TRUE(written) << written.error().message();
  }

  TempFolder folder_;
  std::string folder_path_ = folder_.file("folder");
  std::string path_ = folder_.file("model.gguf");
};

TEST_P(ArchitectureConvert, TensorsAreThoseOfTheGenerator) {
  convert(read_published(GetParam()));
  if (HasFatalFailure()) return;
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file) << file.error().message();
  std::size_t expected = 0;
  for (const RecordedTensor& tensor : recorded_tensors(GetParam())) {
    SCOPED_TRACE(tensor.name);
    ++expected;
    const gguf::TensorInfo* const info = file->find_tensor(tensor.name);
    if (info == nullptr && tensor.name == "rope_freqs.weight" && has_random_rope(GetParam())) {
      --expected;
      continue;
    }
    ASSERT_NE(info, nullptr);
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      EXPECT_EQ(info->tensor.size(static_cast<int>(i)),
                i < tensor.sizes.size() ? tensor.sizes[i] : 1);
    }
    ASSERT_EQ(info->tensor.dtype, DType::kF32);
    if (tensor.name == "rope_freqs.weight") continue;
    std::vector<float> values(tensor.values.size());
    const auto bytes = file->data(*info);
    ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    convert_byte_order(DType::kF32, std::endian::little, std::as_writable_bytes(std::span(values)));
    // The logarithm of a decay is rounded.
    const bool exact = !tensor.name.ends_with("ssm_a");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (exact) {
        ASSERT_EQ(values[i], tensor.values[i]) << "element " << i;
      } else {
        ASSERT_NEAR(values[i], tensor.values[i], 1e-6) << "element " << i;
      }
    }
  }
  EXPECT_EQ(file->tensors().size(), expected);
}

TEST_P(ArchitectureConvert, KeysAreThoseOfTheRecord) {
  convert(read_published(GetParam()));
  if (HasFatalFailure()) return;
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file) << file.error().message();
  const std::string prefix = read_recorded(GetParam()).architecture + ".";
  for (const gguf::KeyValue& entry : recorded_keys(GetParam())) {
    const bool other = std::ranges::any_of(kOtherKeys, [&](const Other& each) {
      return GetParam().starts_with(each.model) && entry.key == each.key;
    });
    if (other) continue;
    SCOPED_TRACE(entry.key);
    const gguf::Value* const found = file->find(prefix + entry.key);
    ASSERT_NE(found, nullptr);
    if (std::holds_alternative<std::string>(entry.value.data)) {
      EXPECT_EQ(found->data, entry.value.data);
      continue;
    }
    const auto made = numbers(*found);
    const auto recorded = numbers(entry.value);
    ASSERT_EQ(made.size(), recorded.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      EXPECT_NEAR(made[i], recorded[i], 1e-6 * std::abs(recorded[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ArchitectureConvert,
                         ::testing::ValuesIn(published_models_recorded()), recorded_name);

/// Folders that have all weights of the record. Scores of rerankers are in rerank_test.cpp.
std::vector<std::string> models_with_results() {
  std::vector<std::string> all = published_models_recorded();
  std::erase_if(all, [](const std::string& model) {
    return has_random_rope(model) || !read_recorded(model).scores.empty();
  });
  return all;
}

using ConvertedResults = ArchitectureConvert;

/// The logits of all tokens; the vectors of an encoder.
TEST_P(ConvertedResults, AreThoseOfTransformers) {
  PublishedFolder folder = read_published(GetParam());
  folder.parts = 3;
  convert(folder);
  if (HasFatalFailure()) return;
  const RecordedModel recorded = read_recorded(GetParam());
  Options options;
  options.threads = 1;
  const auto registry = must(Registry::create(options));
  SessionOptions session;
  session.context = 64;
  session.cache_type = DType::kF32;
  LoadOptions load;
  load.session = session;
  const std::array devices = {registry->devices().back()};
  const auto model = Model::load(path_, devices, load);
  ASSERT_TRUE(model) << model.error().message();
  const auto made = must(Session::create(*model, session));
  std::vector<float> all;
  must(made->append_all(recorded.tokens, [&](std::size_t, std::span<const float> more) {
    all.insert(all.end(), more.begin(), more.end());
  }));
  const auto& expected = recorded.logits.empty() ? recorded.hidden : recorded.logits;
  ASSERT_EQ(all.size(), expected.size());
  EXPECT_LE(difference(all, expected), std::max(1e-4F, 10 * recorded.float32_difference));
}

INSTANTIATE_TEST_SUITE_P(Models, ConvertedResults, ::testing::ValuesIn(models_with_results()),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_convert_test
