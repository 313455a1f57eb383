// Prompts of a model's file in front of texts: control tokens are read in the prompt, not in texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "shunt/embed.h"
#include "support/models.h"
#include "support/must.h"
#include "support/run_command.h"

namespace shunt::test::embed_prompts_test {
namespace {

using Tokens = std::vector<std::int32_t>;

class EmbedPrompt : public ::testing::Test {
 protected:
  EmbedPrompt() {
    const std::string path = plain_.path();
    model_ = must(Model::load(path, *registry_, {.embeddings = true}));
    const text::Vocabulary& vocabulary = model_->tokenizer().vocabulary();
    control_ = vocabulary.bos.value();
    token_ = model_->tokenizer().token_text(control_);
    write_edited(path, path_, [&](EditedFile& file) {
      file.set("tokenizer.shunt.prompt.query", {gguf::ValueType::kString, token_ + "sea "});
    });
  }

  /// The control token, then a text without any.
  Tokens expected(const std::string& text) const {
    const text::Tokenizer& tokenizer = model_->tokenizer();
    const Tokens empty = must(tokenizer.encode(""));  // the tokens around every text
    Tokens tokens;
    if (tokenizer.adds_bos()) tokens.push_back(empty.front());
    tokens.push_back(control_);
    const Tokens words = must(tokenizer.encode(text, {.add_special = false}));
    EXPECT_EQ(std::ranges::count(words, control_), 0);
    tokens.insert(tokens.end(), words.begin(), words.end());
    if (tokenizer.adds_eos()) tokens.push_back(empty.back());
    return tokens;
  }

  std::vector<float> vector_of(const Tokens& tokens) const {
    const auto embedder = must(Embedder::create(model_));
    const std::vector<Tokens> texts = {tokens};
    return must(embedder->embed_tokens(texts))[0][0];
  }

  nlohmann::json report(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"embed", "-m", path_, "--json"});
    const RunResult result = run_command(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }

  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      largest = std::max(largest, std::abs(double{a[i]} - b[i]));
    return largest;
  }

  std::unique_ptr<Registry> registry_ = must(Registry::create({}));
  SynthModel plain_;
  std::string path_ = plain_.folder().file("prompts.gguf");
  std::shared_ptr<const Model> model_;
  std::int32_t control_ = 0;
  std::string token_;
};

TEST_F(EmbedPrompt, ControlTokensOfThePromptAreReadAndThoseOfTextsStayText) {
  const std::string text = "wet" + token_;
  const std::vector<float> vector = vector_of(expected("sea " + text));
  const auto embedder = must(Embedder::create(model_, {.prompt = token_ + "sea "}));
  const std::vector<std::string> texts = {text};
  EXPECT_LT(distance(must(embedder->embed(texts))[0][0], vector), 1e-6);

  const nlohmann::json line = report({"--prompt", "query", text});
  EXPECT_EQ(line["text"], token_ + "sea " + text);
  EXPECT_LT(distance(line["embedding"].get<std::vector<float>>(), vector), 1e-5);
}

TEST_F(EmbedPrompt, APrefixOfTheUserStaysText) {
  const text::Tokenizer& tokenizer = model_->tokenizer();
  const std::vector<float> vector = vector_of(must(tokenizer.encode(token_ + "sea wet")));
  const nlohmann::json line = report({"--prefix", token_ + "sea ", "wet"});
  EXPECT_EQ(line["text"], token_ + "sea wet");
  EXPECT_LT(distance(line["embedding"].get<std::vector<float>>(), vector), 1e-5);
  EXPECT_GT(distance(vector, vector_of(expected("sea wet"))), 1e-3);
}

}  // namespace
}  // namespace shunt::test::embed_prompts_test
