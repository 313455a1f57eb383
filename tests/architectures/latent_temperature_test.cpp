// Queries of latent attention that grow with the position, as in Mistral Large 3. In one layer a
// token's result depends on its own query only. So tokens of a step of the temperature have the
// results of a model whose queries have the factor of that step in their weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "support/must.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::architecture_latent_temperature_test {
namespace {

constexpr const char* kModel = "deepseek2-lite";
constexpr std::int64_t kLength = 16;
constexpr float kScale = 0.5F;

class LatentTemperature : public ::testing::Test {
 protected:
  /// The logits of the model's first layer alone, which has no experts.
  std::vector<float> logits(const std::function<void(EditedFile&)>& edit) {
    const std::string path = folder_.file("model.gguf");
    write_recorded(kModel, path, [&](EditedFile& file) {
      file.set("deepseek2.block_count", {gguf::ValueType::kU32, std::uint64_t{1}});
      std::erase_if(file.tensors, [](const EditedFile::EditedTensor& tensor) {
        return tensor.name.starts_with("blk.") && !tensor.name.starts_with("blk.0.");
      });
      edit(file);
    });
    SessionOptions options;
    options.context = 64;
    options.cache_type = DType::kF32;
    LoadOptions load;
    load.session = options;
    const std::array devices = {registry_->devices().back()};
    const auto session = must(Session::create(must(Model::load(path, devices, load)), options));
    std::vector<float> all;
    must(session->append_all(recorded_.tokens, [&](std::size_t, std::span<const float> more) {
      all.insert(all.end(), more.begin(), more.end());
    }));
    return all;
  }

  TempFolder folder_;
  RecordedModel recorded_ = read_recorded(kModel);
  std::unique_ptr<Registry> registry_ = must(Registry::create({}));
};

TEST_F(LatentTemperature, IsAFactorOfQueries) {
  const std::vector<RecordedTensor> tensors = recorded_tensors(kModel);
  const auto query = std::ranges::find(tensors, "blk.0.attn_q.weight", &RecordedTensor::name);
  ASSERT_NE(query, tensors.end());
  const auto grown = logits([](EditedFile& file) {
    file.set("deepseek2.attention.temperature_scale", {gguf::ValueType::kF32, double{kScale}});
    file.set("deepseek2.attention.temperature_length",
             {gguf::ValueType::kU32, static_cast<std::uint64_t>(kLength)});
  });
  ASSERT_EQ(grown.size(), recorded_.tokens.size() * to_size(recorded_.vocabulary));
  const std::size_t of_step = to_size(kLength * recorded_.vocabulary);
  ASSERT_GT(grown.size(), 2 * of_step);
  std::vector<float> plain;
  for (std::size_t step = 0; step * of_step < grown.size(); ++step) {
    SCOPED_TRACE(step);
    const float factor = 1 + kScale * std::log(1 + static_cast<float>(step));
    const auto scaled = logits([&](EditedFile& file) {
      for (std::size_t i = 0; i < query->values.size(); ++i)
        file.set_element(query->name, i, factor * query->values[i]);
    });
    if (step == 0) plain = scaled;
    const std::size_t first = step * of_step;
    const std::size_t count = std::min(of_step, grown.size() - first);
    const auto part = [&](const std::vector<float>& all) {
      return std::span(all).subspan(first, count);
    };
    EXPECT_LE(difference(part(grown), part(scaled)), 1e-4F);
    if (step > 0) {
      EXPECT_GT(difference(part(plain), part(scaled)), 1e-3F);
    }
  }
}

}  // namespace
}  // namespace shunt::test::architecture_latent_temperature_test
