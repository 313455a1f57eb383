// Misuse of the public functions behind `shunt bench`, `explain`, `quantize` and `ops`: each is an
// error with the facts in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "shunt/bench_model.h"
#include "shunt/bench_ops.h"
#include "shunt/bench_train.h"
#include "shunt/explain_model.h"
#include "shunt/gguf.h"
#include "shunt/importance.h"
#include "shunt/op_list.h"
#include "shunt/plan.h"
#include "shunt/quantize.h"
#include "shunt/select_devices.h"
#include "shunt/train_tokenizer.h"
#include "support/models.h"

namespace shunt::test::public_tools_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_invalid(const Status& status, std::string_view fact) {
  ASSERT_FALSE(status) << fact;
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().message();
  EXPECT_THAT(status.error().message(), HasSubstr(std::string(fact)));
}
template <class T>
void expect_invalid(const Result<T>& result, std::string_view fact) {
  expect_invalid(result ? ok() : Status(result.error()), fact);
}

TEST(BenchOpsRequest, RejectsTypesOpsAndWidthsThatCannotBeMeasured) {
  EXPECT_TRUE(check_ops_bench({}));
  expect_invalid(check_ops_bench({.types = {DType::kQ8_1}}), "weights can't be of type Q8_1");
  expect_invalid(check_ops_bench({.types = {DType::kI32}}), "weights can't be of type I32");
  expect_invalid(check_ops_bench({.ops = {"no_such_op"}}), "no_such_op");
  for (const std::int64_t width : {-64, 0, 65, 1 << 20}) {
    expect_invalid(check_ops_bench({.width = width}), std::to_string(width));
  }
  expect_invalid(bench_ops({}, {}), "no device");
  Device* const none[] = {nullptr};
  expect_invalid(bench_ops(none, {}), "no device");
}

TEST(BenchModelRequest, SizesTheSessionForAllTests) {
  const auto session = bench_session({.prompts = {100}, .generated = {7}, .depths = {0, 50}});
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_EQ(session->context, 150);
  const auto many = bench_session({.prompts = {10}, .generated = {0}, .sequences = {1, 3}});
  ASSERT_TRUE(many) << many.error().message();
  EXPECT_EQ(many->context, 30);
  EXPECT_EQ(many->sequences, 3);
  const auto first = bench_session({.prompts = {}, .generated = {}});
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->context, kFirstPromptTokens);
}

TEST(BenchModelRequest, RejectsNumbersOutOfRange) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  expect_invalid(bench_session({.runs = 0}), "0 runs");
  expect_invalid(bench_session({.prompts = {kHuge}, .sequences = {4}}), std::to_string(kHuge));
  expect_invalid(bench_session({.generated = {-1}}), "-1 tokens to generate");
  expect_invalid(bench_session({.depths = {-2}}), "-2 tokens in the KV cache");
  expect_invalid(bench_session({.sequences = {0}}), "0 sequences");
  expect_invalid(bench_session({.prompts = {100}}, {.context = 99}), "a context of 99");
  expect_invalid(bench_model(nullptr, {}, {}, 0), "no model");
}

TEST(BenchTrainRequest, RejectsNumbersOutOfRange) {
  EXPECT_TRUE(check_train_bench({}));
  for (const int runs : {0, -1}) expect_invalid(check_train_bench({.runs = runs}), "runs");
  expect_invalid(check_train_bench({.context = -1}), "-1");
}

class PublicTools : public ::testing::Test {
 protected:
  void SetUp() override {
    auto registry = Registry::create({});
    ASSERT_TRUE(registry);
    registry_ = std::move(*registry);
  }
  const SynthModel model_;
  std::unique_ptr<Registry> registry_;
};

TEST_F(PublicTools, PlacesAStepOfAsManyTokensAsAreAskedFor) {
  PlaceStepOptions options;
  options.tokens = 1;
  options.load.session = {.context = 32, .sequences = 4, .batch = 16};
  const auto one = place_step(model_.path(), *registry_, options);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->tokens, 1);
  EXPECT_EQ(one->placement.decisions.size(), one->graph->size());
  for (const std::int64_t tokens : {std::int64_t{0}, std::int64_t{-3}}) {
    options.tokens = tokens;
    expect_invalid(place_step(model_.path(), *registry_, options), std::to_string(tokens));
  }
  EXPECT_FALSE(place_step("no-such-file.gguf", *registry_, {}));
}

TEST_F(PublicTools, ChunksOfNegativeLengthAreAnError) {
  const auto model = Model::load(model_.path(), *registry_);
  ASSERT_TRUE(model);
  const std::vector<std::int32_t> tokens(16, 1);
  expect_invalid(gather_importance(**model, tokens, {.session = {.context = -5}}), "-5");
}

TEST_F(PublicTools, QuantizationNamesAreFoundWhateverTheirCase) {
  EXPECT_THAT(quantization_names(), AllOf(Contains("Q8_0"), Contains("Q4_K_M")));
  EXPECT_EQ(find_quantization("q4_k_m"), "Q4_K_M");
  EXPECT_FALSE(find_quantization("Q4_K_MM"));
  const auto file = gguf::File::open(model_.path());
  ASSERT_TRUE(file);
  expect_invalid(plan_quantization(*file, {.type = "nothing"}), "nothing");
  expect_invalid(plan_quantization(*file, {}), "available: ");
  const auto plan = plan_quantization(*file, {.type = "q8_0"});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->type, "Q8_0");
}

TEST(PublicLists, DescribeOpsPatternsAndParts) {
  const auto ops = describe_ops();
  const auto found = std::ranges::find(ops, "matmul", &OpDescription::name);
  ASSERT_NE(found, ops.end());
  EXPECT_EQ(found->family, "matrix");
  ASSERT_EQ(found->sources.size(), 2U);
  EXPECT_EQ(found->sources[0].name, "w");
  EXPECT_TRUE(found->has_gradient);
  EXPECT_TRUE(check_pattern("blk.[0-9].*"));
  expect_invalid(check_pattern("blk.["), "blk.[");
  EXPECT_THAT(
      gguf::part_paths("a-00002-of-00003.gguf"),
      ElementsAre("a-00001-of-00003.gguf", "a-00002-of-00003.gguf", "a-00003-of-00003.gguf"));
  EXPECT_THAT(gguf::part_paths("a.gguf"), ElementsAre("a.gguf"));
  EXPECT_THAT(text::pretokenizer_names(), AllOf(Contains("gpt-2"), Contains("llama-bpe")));
}

}  // namespace
}  // namespace shunt::test::public_tools_test
