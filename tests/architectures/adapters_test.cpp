// An adapter beside a model gives the results of the model with the changes merged into its
// weights, in every architecture and for every matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/to_size.h"
#include "shunt/engine.h"
#include "support/adapters.h"
#include "support/must.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::architecture_adapters_test {
namespace {

class ArchitectureAdapters : public ::testing::TestWithParam<std::string> {
 protected:
  ArchitectureAdapters() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
  }

  /// An adapter for all matrices of the model, in a file.
  TestAdapter write_adapter_for_all(std::int64_t rank, std::uint32_t seed) {
    std::vector<AdaptableWeight> weights;
    for (const RecordedTensor& tensor : tensors_) {
      if (is_adaptable(tensor.name, tensor.sizes.size()))
        weights.push_back({tensor.name, tensor.sizes});
    }
    EXPECT_FALSE(weights.empty());
    TestAdapter adapter = random_adapter(recorded_.architecture, weights, rank, seed);
    write_adapter(adapter_, adapter);
    return adapter;
  }

  /// Writes the model with an adapter's changes in its weights.
  void write_merged(const TestAdapter& adapter, double scale) {
    write_recorded(GetParam(), merged_, [&](EditedFile& file) {
      for (const TestMatrices& matrices : adapter.weights) {
        const auto tensor = std::ranges::find(tensors_, matrices.weight, &RecordedTensor::name);
        const auto values = merged(tensor->values, adapter, matrices, scale);
        for (std::size_t i = 0; i < values.size(); ++i)
          file.set_element(matrices.weight, i, values[i]);
      }
    });
  }

  /// The results of all tokens.
  std::vector<float> results(const std::string& path, std::vector<AdapterUse> uses,
                             std::int64_t batch = 64, std::vector<Device*> devices = {}) {
    devices.push_back(registry_->devices().back());
    SessionOptions options;
    options.context = 64;
    options.batch = batch;
    options.cache_type = DType::kF32;
    options.adapters = std::move(uses);
    LoadOptions load;
    load.session = options;
    load.placement.rules_only = true;
    if (path == base_) load.adapters = {adapter_};
    const auto model = Model::load(path, devices, load);
    EXPECT_TRUE(model) << model.error().message();
    if (!model) return {};
    const auto session = Session::create(*model, options);
    EXPECT_TRUE(session) << session.error().message();
    if (!session) return {};
    std::vector<float> all;
    const auto collect = [&](std::size_t, std::span<const float> more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    const Status done = (*session)->append_all(recorded_.tokens, collect);
    EXPECT_TRUE(done) << done.error().message();
    return all;
  }

  /// The largest difference that rounding explains, for results as large as these.
  float tolerance(std::span<const float> of) const {
    float largest = 1;
    for (const float x : of) largest = std::max(largest, std::fabs(x));
    return largest * std::max(1e-4F, 10 * recorded_.float32_difference);
  }

  TempFolder folder_;
  std::string base_ = folder_.file("model.gguf");
  std::string merged_ = folder_.file("merged.gguf");
  std::string adapter_ = folder_.file("adapter.gguf");
  RecordedModel recorded_ = read_recorded(GetParam());
  std::vector<RecordedTensor> tensors_ = recorded_tensors(GetParam());
  std::unique_ptr<Registry> registry_;
};

TEST_P(ArchitectureAdapters, GiveTheResultsOfMergedWeights) {
  constexpr float kScale = 0.75F;
  write_recorded(GetParam(), base_);
  write_merged(write_adapter_for_all(3, 1), kScale);
  const auto expected = results(merged_, {});
  ASSERT_FALSE(expected.empty());
  const float most = tolerance(expected);
  // The change is not a small one.
  EXPECT_GT(difference(results(base_, {}), expected), 100 * most);
  for (const std::int64_t batch : {7, 64}) {
    SCOPED_TRACE(batch);
    if (batch < 64 && recorded_.logits.empty()) continue;  // an encoder's text is one step
    const auto computed = results(base_, {{0, kScale}}, batch);
    ASSERT_EQ(computed.size(), expected.size());
    EXPECT_LE(difference(computed, expected), most);
  }
  TestDevice multiplies({.ops = {"matmul", "matmul_id"}});
  EXPECT_LE(difference(results(base_, {{0, kScale}}, 64, {&multiplies}), expected), most);
  EXPECT_GT(multiplies.computed(), 0U);
}

TEST_P(ArchitectureAdapters, ThatNoSequenceUsesChangeNothing) {
  write_recorded(GetParam(), base_);
  write_recorded(GetParam(), merged_);
  write_adapter_for_all(4, 2);
  const auto expected = results(merged_, {});
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(results(base_, {}), expected);
  EXPECT_EQ(results(base_, {{0, 0.0F}}), expected);
}

std::vector<std::string> all_recorded() {
  std::vector<std::string> all = recorded_models();
  std::ranges::copy(recorded_encoders(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, ArchitectureAdapters, ::testing::ValuesIn(all_recorded()),
                         recorded_name);

class DecoderAdapters : public ArchitectureAdapters {
 protected:
  std::unique_ptr<Session> open(const SessionOptions& options, std::vector<Device*> devices) {
    devices.push_back(registry_->devices().back());
    LoadOptions load;
    load.session = options;
    load.placement.rules_only = true;
    load.adapters = {adapter_};
    return must(Session::create(must(Model::load(base_, devices, load)), options));
  }

  static std::vector<float> logits_of(Session& session, std::span<const SequenceTokens> more) {
    const auto logits = must(session.append_each(more));
    return {logits.begin(), logits.end()};
  }
};

/// Sequences of different lengths and scales in one step: a prompt, and a token after it.
TEST_P(DecoderAdapters, OfSequencesInAStepAreTheirOwn) {
  struct Sequence {
    std::size_t tokens = 0;
    AdapterUse use = {};
  };
  const std::array<Sequence, 3> sequences = {{{17, {0, 0.0F}}, {37, {0, 0.75F}}, {6, {0, -0.5F}}}};
  write_recorded(GetParam(), base_);
  write_adapter_for_all(3, 4);
  const std::span<const std::int32_t> tokens = recorded_.tokens;
  SessionOptions options;
  options.sequences = std::ssize(sequences);
  options.context = 64 * options.sequences;
  options.batch = 64;
  options.cache_type = DType::kF32;
  TestDevice multiplies({.ops = {"matmul", "matmul_id"}});
  for (const std::vector<Device*>& devices : {std::vector<Device*>{}, {&multiplies}}) {
    SCOPED_TRACE(devices.size());
    const auto together = open(options, devices);
    std::vector<SequenceTokens> prompts;
    std::vector<SequenceTokens> next;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      must(together->set_adapters(number, {&sequences[i].use, 1}));
      prompts.push_back({.sequence = number, .tokens = tokens.first(sequences[i].tokens)});
      next.push_back({.sequence = number, .tokens = tokens.subspan(sequences[i].tokens, 1)});
    }
    const auto of_prompts = logits_of(*together, prompts);
    const auto of_next = logits_of(*together, next);
    if (!devices.empty()) {
      EXPECT_GT(multiplies.computed(), 0U);
    }
    const auto alone = open(options, devices);
    const std::size_t size = of_prompts.size() / sequences.size();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      SCOPED_TRACE(i);
      must(alone->truncate(0));
      must(alone->set_adapters(0, {&sequences[i].use, 1}));
      const auto expect_own = [&](const SequenceTokens& piece, const std::vector<float>& all) {
        const SequenceTokens only = {.sequence = 0, .tokens = piece.tokens};
        const auto expected = logits_of(*alone, {&only, 1});
        ASSERT_EQ(expected.size(), size);
        EXPECT_LE(difference(std::span(all).subspan(i * size, size), expected),
                  tolerance(expected));
      };
      expect_own(prompts[i], of_prompts);
      expect_own(next[i], of_next);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderAdapters, ::testing::ValuesIn(recorded_models()),
                         recorded_name);

class TiedOutput : public ArchitectureAdapters {};

/// The embedding keeps its own weights where only the output is changed.
TEST_P(TiedOutput, IsChangedAlone) {
  const auto embedding = std::ranges::find(tensors_, "token_embd.weight", &RecordedTensor::name);
  ASSERT_NE(embedding, tensors_.end());
  const AdaptableWeight output = {"output.weight", embedding->sizes};
  const TestAdapter adapter = random_adapter(recorded_.architecture, {&output, 1}, 2, 3);
  write_recorded(GetParam(), base_);
  write_adapter(adapter_, adapter);
  const auto values = merged(embedding->values, adapter, adapter.weights[0]);
  write_recorded(GetParam(), merged_, [&](EditedFile& file) {
    const auto tensor =
        std::ranges::find(file.tensors, "token_embd.weight", &EditedFile::EditedTensor::name);
    EditedFile::EditedTensor apart = *tensor;
    apart.name = "output.weight";
    for (std::size_t i = 0; i < values.size(); ++i) apart.elements.emplace_back(i, values[i]);
    file.tensors.push_back(apart);
  });
  const auto expected = results(merged_, {});
  ASSERT_FALSE(expected.empty());
  EXPECT_LE(difference(results(base_, {{0, 1.0F}}), expected), tolerance(expected));
}

INSTANTIATE_TEST_SUITE_P(Models, TiedOutput, ::testing::Values("qwen3-tied", "llama-tied-mqa"),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_adapters_test
