// `shunt train-tokenizer`: from a text to a file that `shunt tokenize` uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/vocabulary.h"
#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::train_tokenizer_test {
namespace {

using testing::HasSubstr;

std::string put(const TempFolder& folder, std::string_view name, std::string_view text) {
  return folder.write(name, std::as_bytes(std::span(text)));
}

RunOptions with_input(std::string input) {
  RunOptions options;
  options.input = std::move(input);
  return options;
}

constexpr std::string_view kStories =
    "The cat sat on the mat.\n<|end|>\nThe cat saw the rat.\n<|end|>\n";

TEST(TrainTokenizer, TrainedTokenizerEncodesAndDecodesText) {
  const TempFolder folder;
  const std::string text = put(folder, "train.txt", kStories);
  const std::string path = folder.file("tokenizer.gguf");
  const RunResult made = run_command({"train-tokenizer", "--file", text, "--vocab-size", "262",
                                      "--special", "<|end|>", "-o", path});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, path + ": 262 tokens, 1 special, 5 merges\n");
  EXPECT_EQ(made.err, "");

  // By hand: a t comes 5 times, h e 4 times; of those that come twice the first in the order of
  // bytes are " c", " s" and " t". Bytes are 1 to 256, T is 85.
  const RunResult pieces = run_command({"tokenize", "-m", path, "--ids", "The cat sat"});
  EXPECT_EQ(pieces.exit_code, 0) << pieces.err;
  EXPECT_EQ(pieces.out, "0 85 258 259 257 260 257\n");

  const RunResult ids =
      run_command({"tokenize", "-m", path, "--ids", "--no-special", "A cat, \u00E9!"});
  const RunResult back = run_command({"tokenize", "-m", path, "--decode", ids.out});
  EXPECT_EQ(back.out, "A cat, \u00E9!\n");
  const RunResult end =
      run_command({"tokenize", "-m", path, "--ids", "--no-special", "--parse-special", "<|end|>"});
  EXPECT_EQ(end.out, "0\n");
}

TEST(TrainTokenizer, SameTextGivesTheSameBytes) {
  const TempFolder folder;
  const std::string text = put(folder, "train.txt", kStories);
  std::string bytes;
  for (const char* threads : {"1", "2", "5"}) {
    const std::string path = folder.file("tokenizer.gguf");
    RunOptions options;
    options.environment = {{"SHUNT_THREADS", threads}};
    const RunResult made = run_command({"train-tokenizer", "-f", text, "-o", path}, options);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    if (bytes.empty()) bytes = read_file(path);
    EXPECT_EQ(read_file(path), bytes);
  }
}

TEST(TrainTokenizer, ReportsThatTheTextHasTooFewPairs) {
  const TempFolder folder;
  const RunResult made =
      run_command({"train-tokenizer", "-o", folder.file("t.gguf")}, with_input("ab ab"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("fewer than 4096 tokens"));
  EXPECT_THAT(made.out, HasSubstr("257 tokens, 0 special, 1 merge\n"));
}

TEST(TrainTokenizer, KeepsTheChatTemplate) {
  const TempFolder folder;
  const std::string chat = put(folder, "chat.jinja", "Question: {{ messages[0].content }}\n");
  const std::string path = folder.file("t.gguf");
  ASSERT_EQ(run_command({"train-tokenizer", "--chat-template", chat, "-o", path}, with_input("a a"))
                .exit_code,
            0);
  const auto file = gguf::File::open(path, {.metadata_only = true});
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->get_string("tokenizer.chat_template").value(),
            "Question: {{ messages[0].content }}\n");
}

TEST(TrainTokenizer, WarnsAboutInvalidUtf8) {
  const TempFolder folder;
  const RunResult made =
      run_command({"train-tokenizer", "-o", folder.file("t.gguf")}, with_input("\xFF"));
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("not valid UTF-8"));
}

TEST(TrainTokenizer, ReportsInvalidArguments) {
  const TempFolder folder;
  const std::string path = folder.file("t.gguf");
  const auto fails = [&](std::vector<std::string> arguments, const char* input, const char* said) {
    arguments.insert(arguments.begin(), {"train-tokenizer", "-o", path});
    const RunResult result = run_command(arguments, with_input(input));
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr(said));
    EXPECT_THAT(folder.list(), testing::IsEmpty());
  };
  fails({"--file", folder.file("none.txt")}, "", "none.txt");
  fails({"--file", folder.path()}, "", folder.path().c_str());
  fails({}, "", "no words");
  fails({"--chat-template", folder.file("none.jinja")}, "a", "none.jinja");
}

TEST(VocabularyToGguf, RoundTrips) {
  text::Vocabulary written;
  written.model = "llama";
  written.tokens = {{"<unk>", 0, text::TokenType::kUnknown},
                    {"<s>", -1.5f, text::TokenType::kControl},
                    {"a", -2, text::TokenType::kNormal}};
  written.bos = 1;
  written.unk = 0;
  written.pad = 2;
  written.sep = 1;
  written.eot = 2;
  written.eom = 0;
  written.add_bos = true;
  written.add_eos = false;
  written.add_space_prefix = false;
  for (const char* model : {"llama", "gpt2"}) {
    written.model = model;
    const bool is_bpe = written.model == "gpt2";
    if (is_bpe) {
      written.pre = "qwen2";
      written.merges = {"a a"};
    }
    const TempFolder folder;
    gguf::Writer writer;
    add_vocabulary(writer, written);
    ASSERT_TRUE(writer.write(folder.file("v.gguf"), {}));
    const auto file = gguf::File::open(folder.file("v.gguf"), {.metadata_only = true});
    ASSERT_TRUE(file) << file.error().message();
    const auto read = vocabulary_from_gguf(*file);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->model, written.model);
    EXPECT_EQ(read->pre, written.pre);
    EXPECT_EQ(read->merges, written.merges);
    ASSERT_EQ(read->tokens.size(), written.tokens.size());
    for (std::size_t i = 0; i < written.tokens.size(); ++i) {
      EXPECT_EQ(read->tokens[i].text, written.tokens[i].text);
      EXPECT_EQ(read->tokens[i].type, written.tokens[i].type);
      EXPECT_EQ(read->tokens[i].score, is_bpe ? 0 : written.tokens[i].score);
    }
    EXPECT_EQ(read->bos, written.bos);
    EXPECT_EQ(read->eos, std::nullopt);
    EXPECT_EQ(read->unk, written.unk);
    EXPECT_EQ(read->pad, written.pad);
    EXPECT_EQ(read->sep, written.sep);
    EXPECT_EQ(read->eot, written.eot);
    EXPECT_EQ(read->eom, written.eom);
    EXPECT_EQ(read->add_bos, written.add_bos);
    EXPECT_EQ(read->add_eos, written.add_eos);
    EXPECT_EQ(read->add_space_prefix, written.add_space_prefix);
  }
}

}  // namespace
}  // namespace shunt::test::train_tokenizer_test
