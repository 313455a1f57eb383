// Engine: a model in three lines.
#include "shunt/llm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/models.h"

namespace shunt::test::llm_test {
namespace {

using ::testing::HasSubstr;

GenerateOptions greedy(std::int64_t tokens) {
  return {.max_tokens = tokens, .sampling = {.temperature = 0}};
}

std::string text_of(Engine& engine, std::string_view prompt, std::int64_t tokens) {
  std::string text;
  const auto done = engine.generate(
      prompt, [&](std::string_view piece) { text += piece; }, greedy(tokens));
  EXPECT_TRUE(done) << done.error().message();
  return text;
}

/// The same tokens as a session that is made by hand.
TEST(Engine, EachGenerateStartsAFreshSequence) {
  auto engine = Engine::open("");  // the default model
  ASSERT_TRUE(engine) << engine.error().message();
  const auto session = Session::create(*Model::load(*default_model(), engine->runtime().devices()),
                                       SessionOptions());
  ASSERT_TRUE(session);
  const auto prompt = (*session)->model().tokenizer().encode("Once upon a time");
  ASSERT_TRUE(prompt);
  std::string expected;
  ASSERT_TRUE(
      generate(**session, *prompt, greedy(16), [&](std::string_view piece) { expected += piece; }));
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(text_of(*engine, "Once upon a time", 16), expected);
  EXPECT_NE(text_of(*engine, "The dog", 16), expected);
  EXPECT_EQ(text_of(*engine, "Once upon a time", 16), expected) << "earlier text is forgotten";
}

TEST(Engine, CanBeMovedAndOutlivesItsRuntime) {
  std::optional<Engine> engine;
  {
    const auto runtime = Runtime::create(Options());
    ASSERT_TRUE(runtime);
    auto opened = Engine::open("", *runtime);
    ASSERT_TRUE(opened) << opened.error().message();
    engine.emplace(std::move(*opened));
  }
  EXPECT_FALSE(text_of(*engine, "Once", 2).empty());
}

TEST(Engine, CanBeAssignedWhileItIsInUse) {
  auto engine = Engine::open("");
  ASSERT_TRUE(engine) << engine.error().message();
  const std::string expected = text_of(*engine, "Once", 4);
  for (int i = 0; i < 2; ++i) {
    auto other = Engine::open("");
    ASSERT_TRUE(other);
    *engine = std::move(*other);
    EXPECT_EQ(text_of(*engine, "Once", 4), expected);
    EXPECT_FALSE(other->generate(
        "Once", [](std::string_view) {}, greedy(1)))
        << "moved from";
  }
}

TEST(Engine, MissingFileIsAnErrorWithItsName) {
  const auto engine = Engine::open("/no/such/model.gguf");
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(engine.error().message(), HasSubstr("/no/such/model.gguf"));
}

TEST(Engine, UnknownDeviceIsAnErrorWithItsName) {
  const auto engine = Engine::open("", {.devices = {"gpu7"}});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message(), HasSubstr("gpu7"));
}

TEST(Engine, IsUsableAfterAnError) {
  auto engine = Engine::open("", {.session = {.context = 8}});
  ASSERT_TRUE(engine) << engine.error().message();
  const std::string long_prompt = "one two three four five six seven eight nine ten";
  const auto refused = engine->generate(
      long_prompt, [](std::string_view) {}, greedy(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  SamplingOptions wrong;
  wrong.temperature = -1;
  EXPECT_FALSE(engine->generate("Once", [](std::string_view) {}, {.sampling = wrong}));
  EXPECT_FALSE(text_of(*engine, "Once", 2).empty());
}

}  // namespace
}  // namespace shunt::test::llm_test
