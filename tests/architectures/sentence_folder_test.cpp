// Folders of sentence-transformers: modules after a model are computed, or refused by name.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/to_size.h"
#include "shunt/convert.h"
#include "shunt/embed.h"
#include "support/must.h"
#include "support/published_model.h"
#include "support/recorded_model.h"
#include "support/session_tokens.h"

namespace shunt::test::sentence_folder_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kInside = 48;

/// A matrix of `rows` by `columns` with numbers of some size.
PublishedValues matrix(std::int64_t rows, std::int64_t columns, float phase) {
  PublishedValues made{"linear.weight", {rows, columns}, {}};
  for (std::int64_t i = 0; i < rows * columns; ++i)
    made.values.push_back(std::sin(phase + static_cast<float>(i) * 0.7F) / 4);
  return made;
}

std::vector<double> product(const PublishedValues& matrix, const std::vector<double>& vector) {
  std::vector<double> made(to_size(matrix.shape[0]));
  for (std::size_t row = 0; row < made.size(); ++row) {
    for (std::size_t i = 0; i < vector.size(); ++i)
      made[row] += double{matrix.values[row * vector.size() + i]} * vector[i];
  }
  return made;
}

class SentenceFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const fs::path path = fs::path(path_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  void write_dense(const std::string& name, const PublishedValues& values,
                   const json& changes = json::object()) const {
    json config = {{"in_features", values.shape[1]},
                   {"out_features", values.shape[0]},
                   {"bias", false},
                   {"activation_function", "torch.nn.modules.linear.Identity"}};
    config.merge_patch(changes);
    write(name + "/config.json", config.dump());
    write(name + "/model.safetensors", safetensors_of({values}, false));
  }

  void write_folder(const std::string& model) const {
    write_published(read_published(model), path_);
    write("modules.json",
          R"([{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},
              {"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
              {"idx":2,"path":"2_Dense","type":"sentence_transformers.models.Dense"},
              {"idx":3,"path":"3_Dense","type":"sentence_transformers.models.Dense"},
              {"idx":4,"path":"4_Normalize","type":"sentence_transformers.models.Normalize"}])");
    write("1_Pooling/config.json", R"({"word_embedding_dimension":32,"pooling_mode":"mean"})");
    write_dense("2_Dense", up_);
    write_dense("3_Dense", down_);
  }

  std::string message() const {
    const auto conversion = FolderConversion::open(path_);
    if (conversion) return "opened";
    std::string text = conversion.error().message();
    for (std::size_t at = 0; (at = text.find(path_)) != std::string::npos;)
      text.replace(at, path_.size(), "DIR");
    return text;
  }

  TempFolder temporary_;
  std::string path_ = temporary_.file("folder");
  PublishedValues up_ = matrix(kInside, kWidth, 1);
  PublishedValues down_ = matrix(kWidth, kInside, 2);
};

/// The mean of the vectors that transformers computes, times both matrices, with a length of 1.
TEST_F(SentenceFolder, EmbeddingsGoThroughItsMatrices) {
  const RecordedModel recorded = read_recorded("gemma-embedding");
  write_folder("gemma-embedding");
  const auto conversion = FolderConversion::open(path_);
  ASSERT_TRUE(conversion) << conversion.error().message();
  const std::string out = temporary_.file("model.gguf");
  must(conversion->write(out, must(conversion->plan({})), {}));

  std::vector<double> mean(to_size(kWidth));
  for (std::size_t i = 0; i < recorded.hidden.size(); ++i)
    mean[i % mean.size()] += recorded.hidden[i] / static_cast<double>(recorded.tokens.size());
  const std::vector<double> expected = product(down_, product(up_, mean));
  double squares = 0;
  for (const double x : expected) squares += x * x;

  Options options;
  options.threads = 1;
  const auto registry = must(Registry::create(options));
  LoadOptions load;
  load.embeddings = true;
  const std::array devices = {registry->devices().back()};
  const auto model = Model::load(out, devices, load);
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ((*model)->info().pooling, EmbeddingPooling::kMean);
  const auto embedder = must(Embedder::create(*model, {}));
  const std::vector<std::vector<std::int32_t>> texts = {recorded.tokens};
  const auto made = must(embedder->embed_tokens(texts));
  ASSERT_EQ(made[0][0].size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(made[0][0][i], expected[i] / std::sqrt(squares), 1e-5) << i;
}

TEST_F(SentenceFolder, MatricesOfAnotherModelAreNamed) {
  write_folder("bert");
  EXPECT_EQ(
      message(),
      "DIR/modules.json: module 2 is 'Dense' in '2_Dense'; expected Transformer in the folder "
      "itself, Pooling, two Dense for gemma-embedding, then Normalize");
}

TEST_F(SentenceFolder, BadMatricesAreRefused) {
  write_folder("gemma-embedding");
  write_dense("2_Dense", up_, {{"bias", true}});
  EXPECT_EQ(message(), "DIR/2_Dense/config.json: bias is true; expected false");
  write_dense("2_Dense", up_, {{"activation_function", "torch.nn.modules.activation.Tanh"}});
  EXPECT_EQ(message(),
            "DIR/2_Dense/config.json: activation_function is 'torch.nn.modules.activation.Tanh'; "
            "expected torch.nn.modules.linear.Identity");
  write_dense("2_Dense", up_, {{"activation_function", nullptr}});
  EXPECT_EQ(message(),
            "DIR/2_Dense/config.json: activation_function is missing; expected "
            "torch.nn.modules.linear.Identity");
  write_dense("2_Dense", up_, {{"out_features", 40}});
  EXPECT_EQ(message(),
            "DIR/config.json: gemma-embedding.dense_3_feat_in is 48; it must be 40, what is before "
            "it");
  write_dense("2_Dense", matrix(40, kWidth, 1), {{"out_features", 48}});
  EXPECT_EQ(message(),
            "DIR/config.json: tensor 'linear.weight' is F32 [40, 32]; by config.json, "
            "dense_2.weight of [32, 48, 1, 1] is made of it");
}

}  // namespace
}  // namespace shunt::test::sentence_folder_test
