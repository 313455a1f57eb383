// The cost of quantising a real model. The engine computes the same with quantised weights as the
// ops' plain references.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/reference.h"
#include "model/definition.h"
#include "shunt/perplexity.h"
#include "support/gguf_bytes.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"

namespace shunt::test::quantize_perplexity_test {
namespace {

using nlohmann::json;

constexpr std::int64_t kChunk = 128;

double perplexity_of(const std::string& model, const std::string& text,
                     std::vector<std::string> more = {"--documents"}) {
  more.insert(more.begin(),
              {"perplexity", "--model", model, "--file", text, "--cache-type", "f32", "--json"});
  const RunResult result = run_command(more);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out)["perplexity"];
}

class QuantizedStories : public testing::Test {
 protected:
  std::string quantized(const std::string& type) const { return quantized(model_.path(), type); }
  std::string quantized(const std::string& model, const std::string& type) const {
    const std::string path = folder_.file(type + ".gguf");
    const RunResult made = run_command({"quantize", model, path, type});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return path;
  }
  F32Stories model_;
  TempFolder folder_;
};

/// Every node of a step of one chunk in double precision; caches are zeros before.
std::vector<double> reference_logits(const gguf::File& file, std::span<const std::int32_t> tokens) {
  const auto definition = read_model(file);
  EXPECT_TRUE(definition);
  StepShape shape;
  shape.tokens = shape.outputs = shape.context = static_cast<std::int64_t>(tokens.size());
  shape.cache_type = DType::kF32;
  const auto step = (*definition)->build(shape);
  EXPECT_TRUE(step);
  std::vector<RefTensor> leaves(step->graph.size());
  for (NodeId id = 0; id < leaves.size(); ++id) {
    if (step->graph.node(id).is_leaf()) {
      leaves[id] = RefTensor(max_sizes(step->graph.node(id).result.shape));
    }
  }
  for (const WeightLeaf& weight : step->weights) {
    const std::vector<float> values = values_of(file, *weight.info);
    leaves[weight.leaf].data.assign(values.begin(), values.end());
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    leaves[step->tokens.id].data[i] = tokens[i];
    for (const Value place : {step->positions, step->cache_rows, step->output_ids}) {
      leaves[place.id].data[i] = static_cast<double>(i);
    }
  }
  // One sequence, whose blocks are in order.
  const auto count = static_cast<double>(tokens.size());
  leaves[step->sequences.id].data = {count, count, 0};
  std::vector<double>& blocks = leaves[step->block_table.id].data;
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<double>(i);
  auto values = reference_run(step->graph, leaves);
  EXPECT_TRUE(values) << values.error().message();
  return std::move((*values)[step->logits.id].data);
}

/// By the convention of perplexity(): the second half of a chunk is scored.
double reference_perplexity(const gguf::File& file, std::span<const std::int32_t> tokens) {
  double lost = 0;
  int scored = 0;
  for (std::size_t start = 0; start + kChunk <= tokens.size(); start += kChunk) {
    std::vector<std::int32_t> ids(tokens.begin() + static_cast<std::ptrdiff_t>(start),
                                  tokens.begin() + static_cast<std::ptrdiff_t>(start + kChunk));
    ids[0] = tokens[0];
    const std::vector<double> logits = reference_logits(file, ids);
    const std::size_t vocabulary = logits.size() / kChunk;
    for (std::size_t i = kChunk / 2; i + 1 < kChunk; ++i) {
      const auto row = std::span(logits).subspan(i * vocabulary, vocabulary);
      double sum = 0;
      for (double logit : row) sum += std::exp(logit);
      lost += std::log(sum) - row[static_cast<std::size_t>(ids[i + 1])];
      ++scored;
    }
  }
  return std::exp(lost / scored);
}

TEST_F(QuantizedStories, EngineAgreesWithTheReference) {
  const std::string path = quantized("Q8_0");
  // At this level the CPU does not round the other side of products to 8 bits.
  Options level;
  level.backend_options["cpu"]["level"] = "scalar";
  const auto registry = Registry::create(level);
  ASSERT_TRUE(registry);
  const auto model = Model::load(path, **registry);
  ASSERT_TRUE(model) << model.error().message();
  auto tokens = (*model)->tokenizer().encode(read_file(stories_text_path()));
  ASSERT_TRUE(tokens);
  // All whole chunks: of a few, one token more or less likely would count too much.
  tokens->resize(tokens->size() / kChunk * kChunk);
  PerplexityOptions options;
  options.session = {.context = kChunk, .cache_type = DType::kF32};
  const auto found = perplexity(*model, *tokens, options);
  ASSERT_TRUE(found) << found.error().message();
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file);
  EXPECT_NEAR(found->value / reference_perplexity(*file, *tokens), 1, 0.001);
}

/// The weights of the model as it ships are rounded already: another time changes nothing.
TEST_F(QuantizedStories, Q8OfAQ8ModelChangesNothing) {
  EXPECT_EQ(perplexity_of(quantized("Q8_0"), stories_text_path()),
            perplexity_of(stories().path, stories_text_path()));
}

/// A model that talks stays one. (It is sure of most of its words: little of that changes.)
TEST_F(QuantizedStories, CoarserTypesIncreasePerplexityLittle) {
  const double exact = perplexity_of(model_.path(), stories_text_path());
  // The weights are the same: at most the other side of products is rounded, where the CPU does so.
  EXPECT_NEAR(perplexity_of(quantized("Q8_0"), stories_text_path()) / exact, 1, 0.001);
  for (const auto& [type, most] :
       {std::pair("Q5_K_M", 0.002), std::pair("Q4_K_M", 0.004), std::pair("Q4_0", 0.01)}) {
    const double found = perplexity_of(quantized(type), stories_text_path());
    EXPECT_NEAR(found / exact, 1, most) << type;
    EXPECT_NE(found, exact) << type;
  }
}

/// stories.perplexity.txt: of the model as it is, in F32, by an independent implementation.
TEST_F(QuantizedStories, CoarserTypesIncreasePerplexityOfStories260K) {
  SHUNT_NEED_SHARED("data/models/stories.txt");
  constexpr double kOfF32 = 2.7156;
  double before = kOfF32 * 0.999;
  for (const auto& [type, most] : {std::pair("Q8_0", 1.001), std::pair("Q5_K_M", 1.02),
                                   std::pair("Q4_K_M", 1.04), std::pair("Q4_0", 1.2)}) {
    const double found =
        perplexity_of(quantized(stories_260k().path, type), shared_path("data/models/stories.txt"),
                      {"--ctx", std::to_string(kChunk)});
    EXPECT_GT(found, before) << type;
    EXPECT_LT(found, kOfF32 * most) << type;
    before = found;
  }
}

}  // namespace
}  // namespace shunt::test::quantize_perplexity_test
