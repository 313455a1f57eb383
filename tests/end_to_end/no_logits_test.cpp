// Commands that need logits, with models that compute embeddings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "shunt/bench_model.h"
#include "shunt/engine.h"
#include "shunt/importance.h"
#include "shunt/perplexity.h"
#include "shunt/verify_model.h"
#include "support/models.h"
#include "support/must.h"
#include "support/run_command.h"

namespace shunt::test::no_logits_test {
namespace {

using ::testing::HasSubstr;

SynthOptions shape_of(const char* architecture) {
  SynthOptions options;
  options.architecture = architecture;
  options.context = 128;
  return options;
}

class NoLogits : public ::testing::Test {
 protected:
  NoLogits() : text_(model_.folder().file("text.txt")) {
    std::ofstream(text_) << std::string(600, 'x');
  }

  std::shared_ptr<const Model> load() const { return must(Model::load(model_.path(), *registry_)); }

  static void expect_refused(const std::vector<std::string>& arguments) {
    const RunResult result = run_command(arguments);
    EXPECT_EQ(result.exit_code, 1) << arguments[0] << ": " << result.err;
    EXPECT_EQ(result.out, "") << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("computes embeddings")) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("shunt embed")) << arguments[0];
  }

  SynthModel model_{shape_of("bert")};
  std::string text_;
  std::unique_ptr<Registry> registry_ = must(Registry::create({}));
};

TEST_F(NoLogits, CommandsNameTheOneForEmbeddings) {
  const std::string& model = model_.path();
  const std::string prompts = model_.folder().file("prompts.txt");
  std::ofstream(prompts) << "Once\nTwice\n";
  expect_refused({"run", "-m", model, "-p", "Hello", "-n", "4"});
  expect_refused({"run", "-m", model, "--prompts", prompts, "-n", "4"});
  expect_refused({"perplexity", "-m", model, "-f", text_, "-c", "64"});
  expect_refused({"bench", "model", "-m", model, "-p", "16", "-n", "4", "-r", "1"});
}

TEST_F(NoLogits, FunctionsReturnAnError) {
  const auto model = load();
  const std::vector<std::int32_t> tokens(64, 5);
  PerplexityOptions options;
  options.session.context = 16;
  EXPECT_EQ(perplexity(model, tokens, options).error().code(), ErrorCode::kUnsupported);
  const std::vector<std::size_t> starts = {0, 8, 16};
  EXPECT_EQ(perplexity_of_documents(model, tokens, starts, options).error().code(),
            ErrorCode::kUnsupported);
  EXPECT_EQ(compare_logits(model, model, tokens).error().code(), ErrorCode::kUnsupported);
  const ModelBenchRequest request = {.prompts = {16}};
  EXPECT_EQ(bench_model(model, must(bench_session(request)), request, 0).error().code(),
            ErrorCode::kUnsupported);
  const auto session = must(Session::create(model));
  const auto generated = generate(*session, tokens, {.max_tokens = 1}, {});
  ASSERT_FALSE(generated);
  EXPECT_THAT(generated.error().message(), HasSubstr("computes embeddings"));
  EXPECT_EQ(session->length(), 0);
}

/// A decoder that was loaded for embeddings has none either.
TEST_F(NoLogits, DecodersLoadedForEmbeddingsAreRefused) {
  const SynthModel decoder;
  LoadOptions load;
  load.embeddings = true;
  const auto model = must(Model::load(decoder.path(), *registry_, load));
  const auto session = must(Session::create(model));
  const std::vector<std::int32_t> tokens(8, 5);
  EXPECT_EQ(generate(*session, tokens, {.max_tokens = 1}, {}).error().code(),
            ErrorCode::kUnsupported);
}

TEST_F(NoLogits, VerifyComparesOperationsOnly) {
  const RunResult result =
      run_command({"verify", "-m", model_.path(), "--device", "cpu0", "--json", "-p", "Hello you"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("computes embeddings, so no logits are compared"));
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["wrong"], 0);
  EXPECT_GT(found["compared"], 0);
  EXPECT_TRUE(found["logits"].is_null());
  EXPECT_EQ(found["steps"].size(), 1U) << "an encoder has all tokens in one step";
  const RunResult quiet =
      run_command({"verify", "-m", model_.path(), "--device", "cpu0", "-n", "0"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.err, "");
}

TEST_F(NoLogits, ImportanceOfAnEncoderNeedsWholeChunks) {
  const std::vector<std::int32_t> tokens(64, 5);
  ImportanceOptions options;
  options.session.context = 32;
  options.session.batch = 16;
  const auto model = load();
  const auto cut = gather_importance(*model, tokens, options);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(cut.error().message(), HasSubstr("32 tokens of an encoder"));
  options.session.batch = 32;
  EXPECT_EQ(must(gather_importance(*model, tokens, options)).chunk_count, 2U);
  const RunResult result = run_command({"imatrix", "-m", model_.path(), "-f", text_, "-o",
                                        model_.folder().file("i.gguf"), "-c", "64", "-b", "32"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--batch"));
}

class VerifyStates : public ::testing::TestWithParam<const char*> {};

/// Results of their ops have memory between tokens and states that no step writes if a plan has
/// room for more tokens.
TEST_P(VerifyStates, ModelsWithStatesAreCorrect) {
  const SynthModel model(shape_of(GetParam()));
  const RunResult result =
      run_command({"verify", "-m", model.path(), "--device", "cpu0", "--json", "-n", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["wrong"], 0);
  EXPECT_GT(found["compared"], 0);
  ASSERT_EQ(found["steps"].size(), 2U);
  EXPECT_GT(found["steps"][0], 1);
  EXPECT_EQ(found["steps"][1], 1);
}

INSTANTIATE_TEST_SUITE_P(, VerifyStates,
                         ::testing::Values("mamba2", "qwen35", "lfm2", "granitehybrid",
                                           "qwen3next"));

}  // namespace
}  // namespace shunt::test::no_logits_test
