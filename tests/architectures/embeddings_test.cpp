// Embeddings: encoders' results are those of transformers, alone and together; pooling is what its
// names say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/to_size.h"
#include "shunt/batcher.h"
#include "shunt/embed.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::embeddings_test {
namespace {

using ::testing::HasSubstr;

class Embeddings : public ::testing::TestWithParam<std::string> {
 protected:
  Embeddings() {
    Options options;
    options.threads = 2;
    registry_ = std::move(*Registry::create(options));
  }

  std::shared_ptr<const Model> load(const std::string& name, std::vector<Device*> devices = {}) {
    const std::string path = folder_.file(name + ".gguf");
    write_recorded(name, path);
    devices.push_back(registry_->devices().back());
    LoadOptions options;
    options.session.cache_type = DType::kF32;
    options.embeddings = true;
    options.placement.rules_only = true;
    auto model = Model::load(path, devices, options);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }

  static std::vector<Embedding> embed(const std::shared_ptr<const Model>& model,
                                      const std::vector<Tokens>& texts,
                                      const EmbedOptions& options) {
    const auto embedder = Embedder::create(model, options);
    EXPECT_TRUE(embedder) << embedder.error().message();
    if (!embedder) return {};
    auto vectors = (*embedder)->embed_tokens(texts);
    EXPECT_TRUE(vectors) << vectors.error().message();
    return vectors ? *vectors : std::vector<Embedding>();
  }

  /// The vectors of all tokens, one after the other.
  static std::vector<float> rows(const Embedding& embedding) {
    std::vector<float> all;
    for (const auto& row : embedding) all.insert(all.end(), row.begin(), row.end());
    return all;
  }

  static EmbedOptions plain() {
    EmbedOptions options;
    options.pooling = EmbeddingPooling::kNone;
    options.normalize = false;
    options.batch = 128;
    options.sequences = 3;
    return options;
  }

  TempFolder folder_;
  std::unique_ptr<Registry> registry_;
};

TEST_P(Embeddings, OfTokensAreThoseOfTransformers) {
  const RecordedModel recorded = read_recorded(GetParam());
  const float most = std::max(1e-4F, 10 * recorded.float32_difference);
  TestDevice multiplies({.ops = {"matmul", "matmul_id"}});
  for (const std::vector<Device*>& devices : {std::vector<Device*>{}, {&multiplies}}) {
    const auto model = load(GetParam(), devices);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->info().is_encoder);
    // Beside other texts, before and after it.
    Tokens half(recorded.tokens.begin(), recorded.tokens.begin() + 17);
    const auto made = embed(model, {half, recorded.tokens, half}, plain());
    ASSERT_EQ(made.size(), 3U);
    if (!devices.empty()) {
      EXPECT_GT(multiplies.computed(), 0U);
    }
    EXPECT_LE(difference(rows(made[1]), recorded.hidden), most);
    EXPECT_EQ(rows(made[1]).size(), recorded.hidden.size());
    const auto alone = embed(model, {half}, plain());
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_LE(difference(rows(made[0]), rows(alone[0])), most);
    EXPECT_LE(difference(rows(made[2]), rows(alone[0])), most);
  }
}

TEST_P(Embeddings, ArePooled) {
  const RecordedModel recorded = read_recorded(GetParam());
  const auto model = load(GetParam());
  ASSERT_NE(model, nullptr);
  const auto width = to_size(model->info().width);
  const auto row = [&](std::size_t token) {
    return std::span(recorded.hidden).subspan(token * width, width);
  };
  EmbedOptions options = plain();
  const auto of = [&](EmbeddingPooling pooling) {
    options.pooling = pooling;
    const auto made = embed(model, {recorded.tokens}, options);
    return made.empty() ? std::vector<float>(width) : made[0][0];
  };
  const float most = std::max(1e-4F, 10 * recorded.float32_difference);
  EXPECT_LE(difference(of(EmbeddingPooling::kFirst), row(0)), most);
  EXPECT_LE(difference(of(EmbeddingPooling::kLast), row(recorded.tokens.size() - 1)), most);
  std::vector<float> mean(width);
  for (std::size_t token = 0; token < recorded.tokens.size(); ++token) {
    for (std::size_t i = 0; i < width; ++i)
      mean[i] += row(token)[i] / static_cast<float>(recorded.tokens.size());
  }
  EXPECT_LE(difference(of(EmbeddingPooling::kMean), mean), most);
  options.normalize = true;
  options.dimensions = 8;
  const auto short_vector = of(EmbeddingPooling::kMean);
  ASSERT_EQ(short_vector.size(), 8U);
  float squares = 0;
  for (std::size_t i = 0; i < 8; ++i) squares += mean[i] * mean[i];
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(short_vector[i], mean[i] / std::sqrt(squares), 1e-3);
}

TEST_P(Embeddings, AnEncoderRefusesWhatItCantCompute) {
  const RecordedModel recorded = read_recorded(GetParam());
  const auto model = load(GetParam());
  ASSERT_NE(model, nullptr);
  const auto batcher = Batcher::create(model);
  ASSERT_FALSE(batcher);
  EXPECT_THAT(batcher.error().message(), HasSubstr("computes embeddings, and no logits"));
  SessionOptions options;
  options.context = 64;
  options.batch = 16;
  const auto session = Session::create(model, options);
  ASSERT_TRUE(session) << session.error().message();
  const auto long_text = (*session)->append(recorded.tokens);
  ASSERT_FALSE(long_text);
  EXPECT_THAT(long_text.error().message(), HasSubstr("40 tokens of an encoder at once"));
  const std::span tokens(recorded.tokens);
  ASSERT_TRUE((*session)->append(tokens.first(8)));
  const auto more = (*session)->append(tokens.first(8));
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message(), HasSubstr("a text is computed in one call"));
  EXPECT_EQ((*session)->length(), 8);
  ASSERT_TRUE((*session)->truncate(0));
  EXPECT_TRUE((*session)->append(tokens.first(16)));
  options.reuse_prefixes = true;
  EXPECT_FALSE(Session::create(model, options));
}

INSTANTIATE_TEST_SUITE_P(Models, Embeddings, ::testing::ValuesIn(recorded_encoders()),
                         recorded_name);

/// gemma-embedding with matrices of 20 and 12 rows after the pooling.
constexpr std::int64_t kDenseSize = 20;
constexpr std::int64_t kDenseOutputs = 12;

void add_dense(EditedFile& file, std::uint64_t inputs_of_second) {
  const auto number = [](std::int64_t value) {
    return gguf::Value{gguf::ValueType::kU32, static_cast<std::uint64_t>(value)};
  };
  const std::int64_t width = file.tensors[0].tensor.size(0);
  const gguf::TensorInfo* from = nullptr;  // whose generator is used
  for (const auto& tensor : file.tensors) {
    if (tensor.name == "blk.0.attn_q.weight") from = tensor.from;
  }
  file.set("gemma-embedding.dense_2_feat_in", number(width));
  file.set("gemma-embedding.dense_2_feat_out", number(kDenseSize));
  file.set("gemma-embedding.dense_3_feat_in", {gguf::ValueType::kU32, inputs_of_second});
  file.set("gemma-embedding.dense_3_feat_out", number(kDenseOutputs));
  file.tensors.push_back({"dense_2.weight", *make_tensor(DType::kF32, {width, kDenseSize}), from});
  file.tensors.push_back(
      {"dense_3.weight", *make_tensor(DType::kF32, {kDenseSize, kDenseOutputs}), from});
}

/// The product of a matrix of `rows` rows and a vector.
std::vector<double> product(const std::vector<float>& matrix, std::size_t rows,
                            const std::vector<double>& x) {
  std::vector<double> y(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += double{matrix[row * x.size() + i]} * x[i];
  }
  return y;
}

TEST_F(Embeddings, OfModelsWithMatricesAfterPoolingAreTheirProducts) {
  const RecordedModel recorded = read_recorded("gemma-embedding");
  const std::string path = folder_.file("dense.gguf");
  write_recorded("gemma-embedding", path, [](EditedFile& file) { add_dense(file, kDenseSize); });
  const std::vector<Device*> devices = {registry_->devices().back()};
  LoadOptions options;
  options.embeddings = true;
  options.session.cache_type = DType::kF32;
  const auto model = Model::load(path, devices, options);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ((*model)->info().outputs, kDenseOutputs);
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file);
  const auto values = [&](const char* name) { return values_of(*file, *file->find_tensor(name)); };
  const auto width = to_size((*model)->info().width);
  std::vector<double> mean(width);
  for (std::size_t i = 0; i < recorded.hidden.size(); ++i)
    mean[i % width] += double{recorded.hidden[i]} / static_cast<double>(recorded.tokens.size());
  const auto expected = product(values("dense_3.weight"), to_size(kDenseOutputs),
                                product(values("dense_2.weight"), to_size(kDenseSize), mean));
  EmbedOptions embedding = plain();
  embedding.pooling = EmbeddingPooling::kMean;
  const auto made = embed(*model, {recorded.tokens}, embedding);
  ASSERT_EQ(made.size(), 1U);
  ASSERT_EQ(made[0][0].size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(made[0][0][i], expected[i], 1e-4 * (1 + std::abs(expected[i])));
}

TEST_F(Embeddings, MatricesAfterPoolingMustFitEachOther) {
  const std::string path = folder_.file("dense.gguf");
  write_recorded("gemma-embedding", path,
                 [](EditedFile& file) { add_dense(file, kDenseSize + 1); });
  const std::vector<Device*> devices = {registry_->devices().back()};
  LoadOptions options;
  options.embeddings = true;
  const auto model = Model::load(path, devices, options);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message(), HasSubstr("dense_3_feat_in is 21; it must be 20"));
}

using DecoderEmbeddings = Embeddings;

/// The embedding of a decoder is the input of its output matrix.
TEST_P(DecoderEmbeddings, TimesTheOutputMatrixAreTheLogits) {
  const RecordedModel recorded = read_recorded(GetParam());
  const auto model = load(GetParam());
  ASSERT_NE(model, nullptr);
  EXPECT_FALSE(model->info().is_encoder);
  const auto made = embed(model, {recorded.tokens}, plain());
  ASSERT_EQ(made.size(), 1U);
  const auto file = gguf::File::open(folder_.file(GetParam() + ".gguf"));
  ASSERT_TRUE(file);
  const gguf::TensorInfo* matrix = file->find_tensor("output.weight");
  if (matrix == nullptr) matrix = file->find_tensor("token_embd.weight");
  const auto weights = values_of(*file, *matrix);
  const auto width = to_size(model->info().width);
  const std::vector<float>& last = made[0].back();
  ASSERT_EQ(last.size(), width);
  for (std::size_t token = 0; token < to_size(recorded.vocabulary); ++token) {
    double logit = 0;
    for (std::size_t i = 0; i < width; ++i) logit += double{weights[token * width + i]} * last[i];
    const std::size_t at = recorded.logits.size() - to_size(recorded.vocabulary) + token;
    EXPECT_NEAR(logit, recorded.logits[at], 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DecoderEmbeddings, ::testing::Values("qwen3-tied", "llama-untied"),
                         recorded_name);

TEST_F(Embeddings, BadOptionsAreRefused) {
  const auto model = load("qwen3-tied");
  ASSERT_NE(model, nullptr);
  const auto expect_refused = [&](const EmbedOptions& options, const char* words) {
    const auto made = Embedder::create(model, options);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr(words));
  };
  EmbedOptions options = plain();
  options.dimensions = model->info().width + 1;
  expect_refused(options, "dimensions; there may be from 1 to");
  options.dimensions = -1;
  expect_refused(options, "-1 dimensions");
  options.dimensions = 0;
  options.batch = 0;
  expect_refused(options, "batches of 0 tokens");
  options.batch = std::numeric_limits<std::int64_t>::max();
  expect_refused(options, "tokens; it may be from 1 to 1048576");
  options.batch = 4;
  for (const std::int64_t sequences : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    options.sequences = sequences;
    expect_refused(options, "sequences; there may be from 1 to 4096");
  }
  options.batch = 1 << 20;
  options.sequences = 4096;
  expect_refused(options, "a context of 4294967296 tokens");
  options.batch = 4;
  options.sequences = 3;
  const auto embedder = Embedder::create(model, options);
  ASSERT_TRUE(embedder) << embedder.error().message();
  const std::vector<Tokens> texts = {{1, 2}, {1, 2, 3, 4, 5}};
  const auto long_text = (*embedder)->embed_tokens(texts);
  ASSERT_FALSE(long_text);
  EXPECT_THAT(long_text.error().message(),
              HasSubstr("text 2 has 5 tokens; there may be up to 4, the batch size; see --batch"));
  const std::vector<Tokens> empty = {{}};
  EXPECT_FALSE((*embedder)->embed_tokens(empty));
  EXPECT_FALSE(pooling_from_name("max"));
}

}  // namespace
}  // namespace shunt::test::embeddings_test
