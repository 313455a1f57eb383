// compare_logits(): the logits of two models over the greedy text of one of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "shunt/verify_model.h"
#include "support/adapters.h"
#include "support/models.h"
#include "support/must.h"

namespace shunt::test::compare_logits_test {
namespace {

using testing::HasSubstr;

const std::vector<std::int32_t> kPrompt = {1, 20, 30, 40};

class CompareLogits : public testing::Test {
 protected:
  std::shared_ptr<const Model> load(const std::string& path) const {
    LoadOptions options;
    options.devices = {"cpu0"};
    auto model = Model::load(path, *registry_, options);
    EXPECT_TRUE(model) << model.error().message();
    return model ? *model : nullptr;
  }
  static std::string edited(const SynthModel& model, const std::function<void(EditedFile&)>& edit) {
    const std::string path = model.folder().file("edited.gguf");
    write_edited(model.path(), path, edit);
    return path;
  }
  /// Logits of the prompt's last token, and of each of `more`.
  static std::vector<std::vector<float>> logits(const std::shared_ptr<const Model>& model,
                                                const std::vector<std::int32_t>& more) {
    const auto session = Session::create(model);
    std::vector<std::vector<float>> all;
    const auto append = [&](const std::vector<std::int32_t>& tokens) {
      const auto found = (*session)->append(tokens);
      ASSERT_TRUE(found) << found.error().message();
      all.emplace_back(found->begin(), found->end());
    };
    append(kPrompt);
    for (const std::int32_t token : more) append({token});
    return all;
  }
  static std::int32_t likeliest(const std::vector<float>& logits) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  }

  std::unique_ptr<Registry> registry_ = std::move(*Registry::create(Options()));
};

TEST_F(CompareLogits, OfAModelWithItselfAreEqual) {
  const SynthModel file;
  const auto model = load(file.path());
  const auto found = compare_logits(model, model, kPrompt, {.tokens = 5});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->tokens, 5);
  EXPECT_EQ(found->error, 0);
  EXPECT_EQ(found->largest, 0);
  EXPECT_EQ(found->different, 0);
  EXPECT_FALSE(found->first);
}

TEST_F(CompareLogits, DifferBetweenModelsAsTheirSessionsTell) {
  const SynthModel file;
  const auto reference = load(file.path());
  const auto model =
      load(edited(file, [](EditedFile& f) { f.set_element("output_norm.weight", 3, 8.0F); }));
  const auto found = compare_logits(model, reference, kPrompt, {.tokens = 6});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->tokens, 6);

  std::vector<std::int32_t> text;
  for (int i = 0; i < 5; ++i) text.push_back(likeliest(logits(reference, text).back()));
  const auto expected = logits(reference, text), got = logits(model, text);
  double squares = 0, norm = 0, largest = 0;
  std::int64_t different = 0;
  std::optional<DifferentToken> first;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    for (std::size_t i = 0; i < expected[t].size(); ++i) {
      const double apart = double{got[t][i]} - expected[t][i];
      squares += apart * apart;
      norm += double{expected[t][i]} * expected[t][i];
      largest = std::max(largest, std::abs(apart));
    }
    const std::int32_t a = likeliest(expected[t]), b = likeliest(got[t]);
    if (a == b) continue;
    ++different;
    const auto& row = expected[t];
    if (!first) {
      first = {static_cast<std::int64_t>(t), b, a,
               double{row[static_cast<std::size_t>(a)]} - row[static_cast<std::size_t>(b)]};
    }
  }
  ASSERT_GT(different, 0) << "the test needs a model that differs enough";
  EXPECT_DOUBLE_EQ(found->error, squares / norm);
  const auto count = static_cast<double>(expected.size() * expected[0].size());
  EXPECT_DOUBLE_EQ(found->difference, std::sqrt(squares / count));
  EXPECT_EQ(found->largest, largest);
  EXPECT_EQ(found->different, different);
  ASSERT_TRUE(found->first);
  EXPECT_EQ(found->first->at, first->at);
  EXPECT_EQ(found->first->got, first->got);
  EXPECT_EQ(found->first->expected, first->expected);
  EXPECT_EQ(found->first->gap, first->gap);
}

/// The model with an adapter against the one with the changes in its weights.
TEST_F(CompareLogits, AreThoseOfTheAdaptersThatTheModelWasLoadedFor) {
  const SynthModel file;
  const TestAdapter adapter = random_adapter("llama", adaptable_weights(file.path()), 2, 1);
  const std::string path = file.folder().file("adapter.gguf");
  write_adapter(path, adapter);
  constexpr float kScale = 0.5F;
  const gguf::File plain = must(gguf::File::open(file.path()));
  const auto merged_model = load(edited(file, [&](EditedFile& f) {
    for (const TestMatrices& matrices : adapter.weights) {
      const auto values =
          merged(values_of(plain, *plain.find_tensor(matrices.weight)), adapter, matrices, kScale);
      for (std::size_t i = 0; i < values.size(); ++i) f.set_element(matrices.weight, i, values[i]);
    }
  }));
  const auto error = [&](std::vector<AdapterUse> uses) {
    LoadOptions options;
    options.devices = {"cpu0"};
    options.adapters = {path};
    options.session.adapters = std::move(uses);
    const auto model = must(Model::load(file.path(), *registry_, options));
    return must(compare_logits(model, merged_model, kPrompt, {.tokens = 4})).error;
  };
  EXPECT_LT(error({{.index = 0, .scale = kScale}}), 1e-5);  // rows of the cache are F16
  EXPECT_GT(error({}), 1e-2);
  EXPECT_GT(error({{.index = 0, .scale = -kScale}}), 1e-2);
}

TEST_F(CompareLogits, ThatAreNotNumbers) {
  const SynthModel file;
  const auto plain = load(file.path());
  const auto broken = load(edited(file, [](EditedFile& f) {
    f.set_element("output_norm.weight", 0, std::numeric_limits<float>::quiet_NaN());
  }));
  const auto found = compare_logits(broken, plain, kPrompt, {.tokens = 3});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->tokens, 3);
  EXPECT_EQ(found->different, 3);
  EXPECT_TRUE(std::isinf(found->error));
  EXPECT_TRUE(std::isinf(found->largest));
  ASSERT_TRUE(found->first);
  EXPECT_EQ(found->first->at, 0);
  EXPECT_EQ(found->first->got, -1);
  EXPECT_TRUE(std::isinf(found->first->gap));

  const auto reference = compare_logits(plain, broken, kPrompt, {.tokens = 3});
  ASSERT_FALSE(reference);
  EXPECT_EQ(reference.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(reference.error().message(), HasSubstr("token 0: no logit of the reference"));
}

TEST_F(CompareLogits, EndWithTheContext) {
  SynthOptions shape;
  shape.context = 16;
  const SynthModel file(shape);
  const auto model = load(file.path());
  const std::int64_t context = model->info().context;
  const auto prompt = static_cast<std::int64_t>(kPrompt.size());
  for (const std::int64_t most : {context, std::numeric_limits<std::int64_t>::max()}) {
    std::vector<std::size_t> progress;
    const auto found = compare_logits(
        model, model, kPrompt, {.tokens = most, .progress = [&](std::size_t done, std::size_t) {
                                  progress.push_back(done);
                                }});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->tokens, context - prompt + 1) << "the last token is not appended";
    EXPECT_EQ(progress.size(), static_cast<std::size_t>(found->tokens));
    EXPECT_EQ(progress[2], 3U);
  }
}

TEST_F(CompareLogits, EndWithTheText) {
  const SynthModel file;
  const std::int32_t best = likeliest(logits(load(file.path()), {}).back());
  const auto model = load(edited(file, [&](EditedFile& f) {
    f.set("tokenizer.ggml.eos_token_id",
          gguf::Value{gguf::ValueType::kU32, static_cast<std::uint64_t>(best)});
  }));
  const auto found = compare_logits(model, model, kPrompt, {.tokens = 9});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->tokens, 1) << "the likeliest token after the prompt ends the text";
}

TEST_F(CompareLogits, CanBeCancelledBetweenTokens) {
  const SynthModel file;
  const auto model = load(file.path());
  std::atomic<bool> cancel = false;
  const auto cancelled = compare_logits(
      model, model, kPrompt,
      {.cancel = &cancel, .progress = [&](std::size_t done, std::size_t) { cancel = done == 3; }});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
}

TEST_F(CompareLogits, RefuseWhatCannotBeCompared) {
  const SynthModel file;
  SynthOptions other_shape;
  other_shape.vocabulary = SynthOptions().vocabulary + 32;
  const SynthModel other_file(other_shape);
  const auto model = load(file.path()), other = load(other_file.path());
  const auto refused = [&](const auto& result, const char* text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(text));
  };
  refused(compare_logits(model, other, kPrompt), "logits");
  refused(compare_logits(model, model, kPrompt, {.tokens = 0}), "0 tokens to compare; at least 1");
  refused(compare_logits(model, model, {}), "token");
  refused(compare_logits(model, model, std::vector<std::int32_t>{-1}), "token");
  const std::vector<std::int32_t> long_prompt(static_cast<std::size_t>(model->info().context) + 1,
                                              20);
  refused(compare_logits(model, model, long_prompt), "context");
  std::atomic<bool> cancel = true;
  const auto cancelled = compare_logits(model, model, kPrompt, {.cancel = &cancel});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace shunt::test::compare_logits_test
