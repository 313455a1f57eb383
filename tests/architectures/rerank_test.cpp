// Scores of texts and of pairs of texts are those of transformers.
#include "shunt/rerank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "base/to_size.h"
#include "support/adapters.h"
#include "support/must.h"
#include "support/recorded_model.h"
#include "support/run_command.h"
#include "support/session_tokens.h"
#include "support/test_device.h"

namespace shunt::test::rerank_test {
namespace {

using ::testing::HasSubstr;

/// Places for both texts, for models that are given tokens.
constexpr const char* kPrompt = "{query}{document}";

class Rerank : public ::testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const Model> load(const std::function<void(EditedFile&)>& edit = {},
                                    std::vector<Device*> devices = {}) {
    write_recorded(name_, path_, edit);
    devices.push_back(registry_->devices().back());
    LoadOptions options;
    options.embeddings = true;
    options.placement.rules_only = true;
    return must(Model::load(path_, devices, options));
  }

  static std::unique_ptr<Reranker> open(const std::shared_ptr<const Model>& model) {
    return must(Reranker::create(model, {.prompt = kPrompt, .batch = 128, .sequences = 3}));
  }

  std::string name_;
  TempFolder folder_;
  std::string path_ = folder_.file("model.gguf");
  std::unique_ptr<Registry> registry_ = must(Registry::create({}));
};

class RecordedRerank : public Rerank {
 protected:
  RecordedRerank() { name_ = GetParam(); }

  /// Of one score itself, of two the softmax.
  static double expected(const RecordedModel& recorded) {
    if (recorded.scores.size() == 1) return recorded.scores[0];
    const double yes = std::exp(double{recorded.scores[0]});
    return yes / (yes + std::exp(double{recorded.scores[1]}));
  }
};

TEST_P(RecordedRerank, ScoresAreThoseOfTransformers) {
  const RecordedModel recorded = read_recorded(name_);
  TestDevice multiplies({.ops = {"matmul"}});
  for (const std::vector<Device*>& devices : {std::vector<Device*>{}, {&multiplies}}) {
    const auto model = load({}, devices);
    const auto reranker = open(model);
    const EmbedTokens text = {recorded.tokens, recorded.second_text};
    const Tokens half(recorded.tokens.begin(), recorded.tokens.begin() + 20);
    const EmbedTokens other = {half, recorded.second_text};
    const auto scores = must(reranker->rank_tokens(std::array{other, text, other}));
    ASSERT_EQ(scores.size(), 3U);
    EXPECT_NEAR(scores[1], expected(recorded), 1e-4);
    EXPECT_NEAR(scores[0], scores[2], 1e-5);
    EXPECT_NEAR(must(reranker->rank_tokens({&other, 1}))[0], scores[0], 1e-5);
    if (!devices.empty()) {
      EXPECT_GT(multiplies.computed(), 0U);
    }
    if (recorded.second_text < 0) continue;
    const EmbedTokens one_text = {recorded.tokens, -1};
    EXPECT_GT(std::fabs(must(reranker->rank_tokens({&one_text, 1}))[0] - scores[1]), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecordedRerank, ::testing::ValuesIn(recorded_rerankers()),
                         recorded_name);

TEST_F(Rerank, TheOrderOfYesAndNoIsThatOfTheFile) {
  name_ = "qwen3-rerank";
  const RecordedModel recorded = read_recorded(name_);
  const EmbedTokens text = {recorded.tokens, -1};
  const double score = must(open(load())->rank_tokens({&text, 1}))[0];
  const auto turned = [](EditedFile& file) {
    auto labels = std::make_shared<gguf::Array>();
    labels->type = gguf::ValueType::kString;
    labels->strings = {"no", "yes"};
    file.set("qwen3.classifier.output_labels",
             {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(labels)});
  };
  EXPECT_NEAR(must(open(load(turned))->rank_tokens({&text, 1}))[0], 1 - score, 1e-6);
}

/// Its score is the head's result itself: the logit that the record has for the first row.
TEST_F(Rerank, ADecoderMayHaveAHeadOfOneRow) {
  name_ = "qwen3-rerank";
  const RecordedModel recorded = read_recorded(name_);
  ASSERT_EQ(recorded.scores.size(), 2U);
  const auto one_row = [](EditedFile& file) {
    file.remove_key("qwen3.classifier.output_labels");
    file.reshape("cls.output.weight", {64, 1});
  };
  const EmbedTokens text = {recorded.tokens, -1};
  EXPECT_NEAR(must(open(load(one_row))->rank_tokens({&text, 1}))[0], recorded.scores[0], 1e-4);
}

TEST_F(Rerank, ModelsThatCantAreRefused) {
  const auto refused = [&](const std::string& name, const std::function<void(EditedFile&)>& edit,
                           const RerankOptions& options, const char* words) {
    name_ = name;
    const auto made = Reranker::create(load(edit), options);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr(words));
  };
  refused("bert", {}, {}, "no classifier head");
  refused("qwen3-tied", {}, {}, "the file has no prompt for reranking");
  refused("qwen3-rerank", {}, {.prompt = "{query}"}, "has no {document}");
  refused(
      "qwen3-rerank", [](EditedFile& file) { file.remove_key("qwen3.classifier.output_labels"); },
      {.prompt = kPrompt}, "a classifier head with 2 scores; a decoder that ranks documents");
  name_ = "bert-rerank";
  EXPECT_THAT(must(Model::load((write_recorded(name_, path_), path_), *registry_))->info().labels,
              ::testing::ElementsAre(""));
}

/// Matrices make an embedding of another size than the model's width; a head reads that.
TEST_F(Rerank, HeadsReadEmbeddingsOfAnotherSize) {
  constexpr std::int64_t kOutputs = 12;
  name_ = "gemma-embedding";
  std::int64_t head_inputs = kOutputs;
  const auto with_head = [&](EditedFile& file) {
    const auto number = [](std::int64_t value) {
      return gguf::Value{gguf::ValueType::kU32, static_cast<std::uint64_t>(value)};
    };
    const std::int64_t width = file.tensors[0].tensor.size(0);
    file.set("gemma-embedding.dense_2_feat_in", number(width));
    file.set("gemma-embedding.dense_2_feat_out", number(20));
    file.set("gemma-embedding.dense_3_feat_in", number(20));
    file.set("gemma-embedding.dense_3_feat_out", number(kOutputs));
    const auto from =
        std::ranges::find(file.tensors, "blk.0.attn_q.weight", &EditedFile::EditedTensor::name)
            ->from;
    const auto add = [&](const char* name, const Shape& shape) {
      file.tensors.push_back({name, *make_tensor(DType::kF32, shape), from});
    };
    add("dense_2.weight", {width, 20});
    add("dense_3.weight", {20, kOutputs});
    add("cls.weight", {head_inputs, head_inputs});
    add("cls.bias", {head_inputs});
    add("cls.output.weight", {head_inputs, 1});
  };
  const RecordedModel recorded = read_recorded(name_);
  const auto model = load(with_head);
  ASSERT_EQ(model->info().outputs, kOutputs);
  EmbedOptions options;
  options.pooling = EmbeddingPooling::kFirst;
  options.normalize = false;
  options.batch = 128;
  const std::vector<Tokens> texts = {recorded.tokens};
  const auto embedding = must(must(Embedder::create(model, options))->embed_tokens(texts))[0][0];
  const gguf::File file = must(gguf::File::open(path_));
  const auto values = [&](const char* name) { return values_of(file, *file.find_tensor(name)); };
  const auto dense = values("cls.weight");
  const auto bias = values("cls.bias");
  const auto output = values("cls.output.weight");
  double expected = 0;
  for (std::size_t i = 0; i < to_size(kOutputs); ++i) {
    double sum = bias[i];
    for (std::size_t j = 0; j < embedding.size(); ++j)
      sum += double{dense[i * embedding.size() + j]} * embedding[j];
    expected += std::tanh(sum) * output[i];
  }
  const EmbedTokens text = {recorded.tokens, -1};
  EXPECT_NEAR(must(open(model)->rank_tokens({&text, 1}))[0], expected,
              1e-4 * (1 + std::fabs(expected)));

  head_inputs = 32;  // the model's width
  write_recorded(name_, path_, with_head);
  const auto refused = Model::load(path_, *registry_, {.embeddings = true});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("tensor cls.weight is F32 [32, 32]"));
}

TEST_F(Rerank, ModelsThatGiveLogitsAreRefusedFirst) {
  for (const char* name : {"qwen3-tied", "qwen3-rerank"}) {
    write_recorded(name, path_);
    const auto made = Reranker::create(must(Model::load(path_, *registry_)));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(made.error().message(), HasSubstr("the model gives logits"));
  }
  name_ = "qwen3-rerank";
  const auto made = Reranker::create(load(), {.prompt = kPrompt, .adapters = {{0, 1.0F}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("there is no adapter 0"));
}

TEST_F(Rerank, ManyDocumentsAreScoredInTheirOrder) {
  name_ = "bert-rerank";
  const RecordedModel recorded = read_recorded(name_);
  const auto reranker = open(load());
  std::vector<EmbedTokens> texts;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto end = recorded.tokens.begin() + static_cast<std::ptrdiff_t>(5 + i % 7);
    texts.push_back({Tokens(recorded.tokens.begin(), end), -1});
  }
  const auto scores = must(reranker->rank_tokens(texts));
  ASSERT_EQ(scores.size(), texts.size());
  const auto first = must(reranker->rank_tokens(std::span(texts).first(7)));
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], first[i % 7], 1e-5) << i;

  texts[290].tokens.resize(129, 1);
  const auto refused = reranker->rank_tokens(texts);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("document 291: 129 tokens with the query; there "
                                                   "may be up to 64"));
  texts[3].tokens.clear();
  const auto empty = reranker->rank_tokens(texts);
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message(), HasSubstr("document 4: there are no tokens"));
}

TEST_F(Rerank, EncodersTakeNoPrompt) {
  write_recorded("bert-rerank", path_);
  const RunResult result = run_command({"rerank", "-m", path_, "--qwen3-prompt", "-q", "a", "b"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--qwen3-prompt is given, but an encoder reads"));
}

TEST_F(Rerank, DamagedHeadsAreRefused) {
  const auto refused = [&](const std::string& name, const std::function<void(EditedFile&)>& edit,
                           const char* words) {
    write_recorded(name, path_, edit);
    const auto model = Model::load(path_, *registry_, {.embeddings = true});
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message(), HasSubstr(words));
  };
  refused(
      "bert-rerank", [](EditedFile& file) { file.remove_tensor("cls.output.weight"); },
      "the pooling is that of a classifier, but tensor cls.output.weight is missing");
  refused(
      "bert-rerank",
      [](EditedFile& file) {
        file.reshape("cls.weight", {32, 16});
      },
      "tensor cls.weight is F32 [32, 16]; by the file's metadata it should be [32, 32]");
  refused(
      "bert-rerank", [](EditedFile& file) { file.reshape("cls.output.bias", {2}); },
      "tensor cls.output.bias is F32 [2]");
  refused(
      "bert-rerank", [](EditedFile& file) { file.remove_tensor("cls.weight"); },
      "tensor cls.bias is there, but tensor cls.weight is missing");
  refused(
      "modern-bert-rerank", [](EditedFile& file) { file.remove_tensor("cls.weight"); },
      "tensor cls.norm.weight is there, but tensor cls.weight is missing");
  refused(
      "modern-bert-rerank", [](EditedFile& file) { file.remove_tensor("cls.norm.weight"); },
      "tensor cls.weight is there, but tensor cls.norm.weight is missing");
  refused(
      "bert-rerank",
      [](EditedFile& file) {
        for (auto& tensor : file.tensors) {
          if (tensor.name == "cls.bias") tensor.name = "cls.norm.weight";
        }
      },
      "tensor cls.norm.weight is of a classifier head that models of this architecture lack");
  refused(
      "qwen3-rerank",
      [](EditedFile& file) {
        file.reshape("cls.output.weight", {64, 3});
      },
      "has 2 names, but tensor cls.output.weight has 3 rows");
  refused(
      "bert-rerank",
      [](EditedFile& file) {
        file.set("bert.pooling_type", {gguf::ValueType::kU32, std::uint64_t{5}});
      },
      "pooling_type is 5; supported are 0 to 4");
}

/// A decoder without a head answers by the logits of two tokens. Here a head has the same rows.
TEST_F(Rerank, WithoutAHeadTheLogitsOfYesAndNoAreTheScores) {
  SynthOptions shape;
  shape.vocabulary = 600;
  const SynthModel plain(shape);
  const std::string words = plain.folder().file("words.gguf");
  const std::string headed = plain.folder().file("headed.gguf");
  // "yes" and "no" become tokens, and so do the pieces that they are merged of.
  const std::map<std::string, double> wanted = {
      {"\u2581yes", 100}, {"\u2581no", 100}, {"es", 90}, {"\u2581y", 80}, {"\u2581n", 80}};
  std::map<std::string, std::size_t> ids;
  const auto with_words = [&](EditedFile& file) {
    const auto copy = [&](const char* key) {
      const auto found = std::ranges::find(file.metadata, key, &gguf::KeyValue::key);
      return std::make_shared<gguf::Array>(
          *std::get<std::shared_ptr<const gguf::Array>>(found->value.data));
    };
    const auto tokens = copy("tokenizer.ggml.tokens");
    const auto scores = copy("tokenizer.ggml.scores");
    std::size_t next = 590;
    for (const auto& [word, score] : wanted) {
      auto place = std::ranges::find(tokens->strings, word);
      if (place == tokens->strings.end()) {
        place = tokens->strings.begin() + static_cast<std::ptrdiff_t>(next++);
        *place = word;
      }
      ids[word] = to_size(place - tokens->strings.begin());
      scores->floats[ids[word]] = score;
    }
    const auto set = [&](const char* key, const std::shared_ptr<gguf::Array>& array) {
      file.set(key, {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(array)});
    };
    set("tokenizer.ggml.tokens", tokens);
    set("tokenizer.ggml.scores", scores);
  };
  write_edited(plain.path(), words, with_words);
  write_edited(words, headed, [&](EditedFile& file) {
    const gguf::File opened = must(gguf::File::open(words));
    const auto values = values_of(opened, *opened.find_tensor("output.weight"));
    EditedFile::EditedTensor head = file.tensors.front();
    head.name = "cls.output.weight";
    head.tensor = must(make_tensor(DType::kF32, {64, 2}));
    for (std::size_t i = 0; i < 64; ++i) {
      head.elements.emplace_back(i, values[ids.at("\u2581yes") * 64 + i]);
      head.elements.emplace_back(64 + i, values[ids.at("\u2581no") * 64 + i]);
    }
    file.tensors.push_back(head);
    auto labels = std::make_shared<gguf::Array>();
    labels->type = gguf::ValueType::kString;
    labels->strings = {"yes", "no"};
    file.set("llama.classifier.output_labels",
             {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(labels)});
  });
  const std::string prompt = plain.folder().file("prompt.txt");
  std::ofstream(prompt) << "query {query} document {document} answer";
  const auto scores = [&](const std::string& path) {
    const RunResult result = run_command(
        {"rerank", "-m", path, "--prompt-file", prompt, "-q", "sea", "wet", "dry", "x", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string expected = scores(headed);
  EXPECT_EQ(std::ranges::count(expected, '\n'), 3);
  EXPECT_EQ(scores(words), expected);
  EXPECT_THAT(expected, HasSubstr("\"document\":\"wet\""));

  for (const char* end : {"\n", "\r\n"}) {
    std::ofstream(prompt) << "query {query} document {document} answer" << end;
    EXPECT_EQ(scores(words), expected);
  }
  std::ofstream(prompt) << "query {query} document {document} answer\n\n";
  EXPECT_NE(scores(words), expected);
  std::ofstream(prompt) << "query \xff {query} document {document} answer";
  EXPECT_NE(scores(words), expected);
  const auto refused_prompt = [&](const std::string& text) {
    std::ofstream(prompt) << text;
    const RunResult result =
        run_command({"rerank", "-m", words, "--prompt-file", prompt, "-q", "sea", "wet"});
    EXPECT_EQ(result.exit_code, 1);
    return result.err;
  };
  EXPECT_THAT(refused_prompt("\n"), HasSubstr("there is no prompt"));
  EXPECT_THAT(refused_prompt(std::string((1 << 20) + 1, 'x')), HasSubstr(prompt));
  std::ofstream(prompt) << "query {query} document {document} answer";

  // Scores are made of rows of the output, so no adapter in use may change it.
  const std::string adapter = plain.folder().file("adapter.gguf");
  const std::string tied = plain.folder().file("tied.gguf");
  write_edited(words, tied, [](EditedFile& file) { file.remove_tensor("output.weight"); });
  const auto adapted = [&](const std::string& path, const char* weight,
                           const std::vector<std::int64_t>& sizes, const char* scale) {
    const AdaptableWeight only = {weight, sizes};
    write_adapter(adapter, random_adapter("llama", {&only, 1}, 2, 3));
    return run_command({"rerank", "-m", path, "--prompt-file", prompt, "-q", "sea", "wet", "dry",
                        "x", "--json", "--lora", adapter + scale});
  };
  const std::vector<std::pair<std::string, const char*>> outputs = {
      {words, "output.weight"}, {tied, "output.weight"}, {tied, "token_embd.weight"}};
  for (const auto& [path, weight] : outputs) {
    const RunResult refused = adapted(path, weight, {64, 600}, "");
    EXPECT_EQ(refused.exit_code, 1) << path << " " << weight;
    EXPECT_THAT(refused.err, HasSubstr(adapter + ": tensor " + weight + ".lora_a changes"));
    EXPECT_EQ(adapted(path, weight, {64, 600}, "=0").exit_code, 0) << path << " " << weight;
  }
  EXPECT_EQ(adapted(words, "output.weight", {64, 600}, "=0").out, expected);
  const RunResult other = adapted(words, "blk.0.attn_q.weight", {64, 64}, "=4");
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_NE(other.out, expected);

  const std::string lines = plain.folder().file("lines.txt");
  std::ofstream(lines) << "wet\r\n\ndry\nx\n";
  const RunResult from_file = run_command(
      {"rerank", "-m", words, "--prompt-file", prompt, "-q", "sea", "-f", lines, "--json"});
  EXPECT_EQ(from_file.out, expected) << from_file.err;
  const RunResult none = run_command({"rerank", "-m", plain.path(), "-q", "sea", "wet"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("the file has no prompt for reranking"));
  EXPECT_EQ(run_command({"rerank", "-m", words, "wet"}).exit_code, 2);
  EXPECT_EQ(run_command({"rerank", "-m", words, "-q", "sea"}).exit_code, 2);
}

}  // namespace
}  // namespace shunt::test::rerank_test
