// `shunt synth`: models of noise that this and other programs can use.
#include "shunt/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "shunt/vocabulary.h"
#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::synth_test {
namespace {

class SynthType : public testing::TestWithParam<const char*> {};

TEST_P(SynthType, CanBeInspectedAndRun) {
  const TempFolder folder;
  const std::string path = folder.file("model.gguf");
  const std::string type = GetParam();
  const RunResult made =
      run_command({"synth", path, "--type", type, "--width", "256", "--ff", "256"});
  ASSERT_EQ(made.exit_code, 0) << made.err;

  const auto inspected = nlohmann::json::parse(run_command({"inspect", "--json", path}).out);
  EXPECT_EQ(inspected["tensors"].size(), 3u + 2 * 9);
  for (const auto& tensor : inspected["tensors"]) {
    EXPECT_EQ(tensor["type"], tensor["shape"].size() == 1 ? "F32" : type) << tensor["name"];
  }

  const std::vector<std::string> run = {"run",    "-m",  path,     "-p", "Hello world", "-n", "16",
                                        "--temp", "0.9", "--seed", "4",  "--ignore-eos"};
  const RunResult first = run_command(run);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_GT(first.out.size(), std::string("Hello world\n").size());
  EXPECT_EQ(run_command(run).out, first.out) << "the same seed, the same text";
}

INSTANTIATE_TEST_SUITE_P(, SynthType,
                         testing::Values("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
                                         "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS",
                                         "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M",
                                         "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Synth, SameSeedGivesTheSameBytes) {
  SynthOptions options;
  const std::string first = read_file(SynthModel(options).path());
  EXPECT_EQ(read_file(SynthModel(options).path()), first);
  options.seed = 2;
  const std::string second = read_file(SynthModel(options).path());
  EXPECT_EQ(second.size(), first.size());
  EXPECT_NE(second, first);
}

TEST(Synth, HasTheRequestedShapes) {
  const TempFolder folder;
  const std::string path = folder.file("model.gguf");
  const RunResult made =
      run_command({"synth", path, "--layers", "3", "--width", "96", "--ff", "160", "--heads", "6",
                   "--kv-heads", "3", "--vocab", "300", "--context", "128", "--tied"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->tensors().size(), 2u + 3 * 9);
  EXPECT_EQ(file->find_tensor("output.weight"), nullptr);
  const auto shape_of = [&](const char* name) {
    const gguf::TensorInfo* info = file->find_tensor(name);
    return info == nullptr ? "missing" : to_string(info->tensor.shape);
  };
  EXPECT_EQ(shape_of("token_embd.weight"), "[96, 300]");
  EXPECT_EQ(shape_of("output_norm.weight"), "[96]");
  EXPECT_EQ(shape_of("blk.2.attn_q.weight"), "[96, 96]");
  EXPECT_EQ(shape_of("blk.2.attn_k.weight"), "[96, 48]");
  EXPECT_EQ(shape_of("blk.2.attn_v.weight"), "[96, 48]");
  EXPECT_EQ(shape_of("blk.2.attn_output.weight"), "[96, 96]");
  EXPECT_EQ(shape_of("blk.2.ffn_gate.weight"), "[96, 160]");
  EXPECT_EQ(shape_of("blk.2.ffn_up.weight"), "[96, 160]");
  EXPECT_EQ(shape_of("blk.2.ffn_down.weight"), "[160, 96]");
  EXPECT_EQ(run_command({"run", "-m", path, "-p", "x", "-n", "4", "--ignore-eos"}).exit_code, 0);
}

TEST(Synth, ExpertsAreForArchitecturesThatHaveThem) {
  const TempFolder folder;
  const std::string path = folder.file("model.gguf");
  const auto refused = [&](std::vector<std::string> more, const char* words) {
    more.insert(more.begin(), {"synth", path});
    const RunResult result = run_command(more);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, testing::HasSubstr(words));
    EXPECT_TRUE(folder.list().empty());
  };
  refused({"--arch", "qwen3", "--experts", "8"}, "8 experts, but models of architecture qwen3");
  refused({"--arch", "mamba2", "--experts", "4"}, "4 experts, but models of architecture mamba2");
  refused({"--expert-ff", "32"}, "expert-ff 32, but the model has no experts");
  refused({"--experts-used", "4"}, "experts-used 4, but the model has no experts");
  const RunResult made =
      run_command({"synth", path, "--arch", "qwen3moe", "--experts", "4", "--expert-ff", "32"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto file = gguf::File::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(to_string(file->find_tensor("blk.0.ffn_up_exps.weight")->tensor.shape), "[64, 32, 4]");
  const RunResult mixture = run_command({"synth", path, "--experts", "4"});
  EXPECT_EQ(mixture.exit_code, 0) << mixture.err;
  EXPECT_THAT(run_command({"synth", "--help"}).out,
              testing::Not(testing::ContainsRegex("default[^)]*\\) \\(default")));
}

TEST(Synth, HasEveryKeyThatOtherProgramsRead) {
  const auto file = gguf::File::open(SynthModel().path());
  ASSERT_TRUE(file);
  for (const char* key :
       {"general.architecture", "general.name", "general.file_type", "llama.context_length",
        "llama.embedding_length", "llama.block_count", "llama.feed_forward_length",
        "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.attention.layer_norm_rms_epsilon", "llama.rope.dimension_count", "llama.vocab_size",
        "tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
        "tokenizer.ggml.token_type", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.unknown_token_id"}) {
    EXPECT_NE(file->find(key), nullptr) << key;
  }
}

TEST(Synth, WeightsAreNormalWithVarianceOneOverInputs) {
  const auto file = gguf::File::open(SynthModel().path());
  ASSERT_TRUE(file);
  const gguf::TensorInfo* info = file->find_tensor("token_embd.weight");  // [64, 512]
  const std::vector<float> values = values_of(*file, *info);
  ASSERT_EQ(values.size(), 64U * 512);
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (const float value : values) {
    const double scaled = value * std::sqrt(64.0);
    sum += scaled;
    squares += scaled * scaled;
    beyond_two += std::fabs(scaled) > 2 ? 1 : 0;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 0.03);
  EXPECT_NEAR(beyond_two / n, 0.0455, 0.01);  // of a normal distribution
}

TEST(Synth, TokenizerRoundTripsEveryText) {
  for (const std::int64_t size : {260, 300, 512, 4096, 50000}) {
    SynthOptions options;
    options.width = 8;
    options.feed_forward = 8;
    options.vocabulary = size;
    const auto file = gguf::File::open(SynthModel(options).path());
    ASSERT_TRUE(file);
    auto vocabulary = vocabulary_from_gguf(*file);
    ASSERT_TRUE(vocabulary) << vocabulary.error().message();
    ASSERT_EQ(static_cast<std::int64_t>(vocabulary->tokens.size()), size);
    std::set<std::string> texts;
    for (const text::Token& token : vocabulary->tokens) texts.insert(token.text);
    EXPECT_EQ(texts.size(), vocabulary->tokens.size()) << "every token has a text of its own";

    const auto tokenizer = text::Tokenizer::create(*vocabulary);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    for (const std::string text :
         {"", " ", "Hello, world!", "  two  spaces  ", "tabs\tand\nlines\r\n",
          "\xc3\xa9\xe4\xb8\xad", "\xf0\x9f\x98\x80 emoji", "<s> </s> <unk> <0x41>",
          "the rest of the story"}) {
      const auto ids = tokenizer->encode(text);
      ASSERT_TRUE(ids) << ids.error().message();
      const auto back = tokenizer->decode(*ids);
      ASSERT_TRUE(back);
      EXPECT_EQ(*back, text) << "vocabulary of " << size;
    }
  }
}

TEST(Synth, LargerVocabularyNeedsFewerTokens) {
  const auto count = [](std::int64_t size) {
    SynthOptions options;
    options.vocabulary = size;
    const auto file = gguf::File::open(SynthModel(options).path());
    const auto tokenizer = text::Tokenizer::create(*vocabulary_from_gguf(*file));
    return tokenizer->encode("it is the same to the reader and to the listener").value().size();
  };
  EXPECT_LT(count(4096), count(300));
}

TEST(Synth, UnwritablePathIsNamed) {
  const RunResult result = run_command({"synth", "/nonexistent/folder/model.gguf"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, testing::HasSubstr("/nonexistent/folder/model.gguf"));
}

TEST(Synth, InterruptedWriteLeavesNoFile) {
  const TempFolder folder;
  int calls = 0;
  const auto result =
      write_synth_model(folder.file("model.gguf"), {}, [&](std::uint64_t, std::uint64_t) -> Status {
        if (++calls == 3) return Error(ErrorCode::kCancelled, "enough");
        return ok();
      });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(folder.list().empty());
}

}  // namespace
}  // namespace shunt::test::synth_test
