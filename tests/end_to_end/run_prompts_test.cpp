// `shunt run --prompts`: each prompt of a file gives the text that `shunt run` gives for it alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"
#include "support/stories.h"

namespace shunt::test::run_prompts_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// "==> FILE:LINE <==" and the text.
std::string entry(const std::string& file, std::size_t line, const std::string& text) {
  return fmt::format("==> {}:{} <==\n{}", file, line, text);
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

template <class T>
std::vector<T> values_of(const std::vector<json>& lines, const char* key) {
  std::vector<T> values;
  for (const json& line : lines) values.push_back(line.at(key).get<T>());
  return values;
}

/// Weights and caches in F32: other batches change the last digits of logits only, which are far
/// apart here.
class RunPrompts : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  RunResult run(std::vector<std::string> more, const RunOptions& options = {}) const {
    std::vector<std::string> words = {"run",          "--model",      model_.path(),
                                      "--ignore-eos", "--cache-type", "f32"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words, options);
  }
  /// The standard output for a prompt alone.
  std::string alone(const std::string& prompt, std::vector<std::string> more) const {
    more.insert(more.end(), {"--prompt", prompt});
    const RunResult result = run(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  SynthModel model_;
  TempFolder folder_;
};

/// Of 1 to about 100 tokens.
std::vector<std::string> some_prompts() {
  std::vector<std::string> prompts;
  for (std::size_t i = 0; i < 11; ++i)
    prompts.push_back(fmt::format("{} {}", i, std::string(i * i, static_cast<char>('a' + i))));
  prompts.emplace_back("\xe4\xb8\xad\xe4\xb8\xad {\"no\": \"json\"} \\n \t");
  return prompts;
}

TEST_F(RunPrompts, TextsEqualThoseOfEachPromptAloneInTheOrderOfTheFile) {
  const std::vector<std::string> prompts = some_prompts();
  const std::string path = write("prompts.txt", joined(prompts, "\n"));
  const std::vector<std::string> flags = {"-n", "20", "--temp", "0"};
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    expected.push_back(entry(path, i + 1, alone(prompts[i], flags)));
  for (const char* parallel : {"1", "3", "64"}) {
    const RunResult result =
        run({"-n", "20", "--temp", "0", "--prompts", path, "--parallel", parallel});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, joined(expected, "\n")) << "at once: " << parallel;
  }
}

TEST_F(RunPrompts, SeedOfAPromptIsTheSeedPlusItsIndex) {
  const std::string path = write("prompts.txt", "Hello\nHello\n\nHello\n");
  const std::vector<std::string> flags = {"-n", "20", "--temp", "2", "--seed"};
  std::vector<std::string> expected;
  for (const std::size_t i : {0, 1, 2}) {
    std::vector<std::string> own = flags;
    own.push_back(std::to_string(40 + i));
    expected.push_back(alone("Hello", own));
  }
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[1], expected[2]);
  const RunResult result = run({"-n", "20", "--temp", "2", "--seed", "40", "--prompts", path});
  EXPECT_EQ(result.out, joined({entry(path, 1, expected[0]), entry(path, 2, expected[1]),
                                entry(path, 4, expected[2])},
                               "\n"));
  EXPECT_THAT(result.err, HasSubstr("seed        40, plus the index of the prompt"));
}

TEST_F(RunPrompts, LongestSeedWrapsAround) {
  const std::string path = write("prompts.txt", "Hello\nHello\n");
  const RunResult result =
      run({"-n", "1", "--seed", "18446744073709551615", "--prompts", path, "--json"});
  EXPECT_THAT(values_of<std::uint64_t>(lines_of(result.out), "seed"),
              testing::UnorderedElementsAre(18446744073709551615U, 0U));
}

TEST_F(RunPrompts, JsonHasEveryFieldOfEachPrompt) {
  const std::vector<std::string> prompts = some_prompts();
  const std::string path = write("prompts.txt", joined(prompts, "\n") + "\n");
  const RunResult result =
      run({"-n", "6", "--temp", "0", "--seed", "7", "--prompts", path, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), prompts.size());
  std::ranges::sort(lines, {}, [](const json& line) { return line.at("index").get<int>(); });
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json& line = lines[i];
    const json one = json::parse(alone(prompts[i], {"-n", "6", "--temp", "0", "--json"}));
    EXPECT_EQ(line.at("index"), i);
    EXPECT_EQ(line.at("line"), i + 1);
    EXPECT_EQ(line.at("prompt"), prompts[i]);
    EXPECT_EQ(line.at("text"), one.at("text"));
    EXPECT_EQ(line.at("tokens"), one.at("tokens"));
    EXPECT_EQ(line.at("stop"), "length");
    EXPECT_EQ(line.at("seed"), 7 + i);
    EXPECT_EQ(line.at("prompt_tokens"), one.at("timings").at("prompt").at("tokens"));
    EXPECT_EQ(line.at("generated_tokens"), 6);
    // The last token is not computed with.
    EXPECT_EQ(line.at("computed_tokens").get<int>() + line.at("cached_tokens").get<int>(),
              line.at("prompt_tokens").get<int>() + 5);
    for (const char* time : {"wait_seconds", "prompt_seconds", "generation_seconds"})
      EXPECT_GE(line.at("timings").at(time).get<double>(), 0) << time;
    EXPECT_GT(line.at("timings").at("prompt_seconds").get<double>(), 0);
    EXPECT_FALSE(line.contains("error"));
  }
}

TEST_F(RunPrompts, HostCacheOfACpuChangesNothingAndIsNoted) {
  const std::string path = write("prompts.txt", "one\ntwo");
  const std::vector<std::string> flags = {"--prompts", path, "-n",        "9",
                                          "--temp",    "0",  "--devices", "cpu0"};
  std::vector<std::string> more = flags;
  more.insert(more.end(), {"--host-cache", "1MiB"});
  const RunResult without = run(flags);
  const RunResult with = run(more);
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.out, without.out);
  EXPECT_THAT(with.err, HasSubstr("no host memory for blocks of the KV cache: all of the cache is "
                                  "in host memory"));
  EXPECT_THAT(with.err, Not(HasSubstr("host cache")));
  EXPECT_THAT(without.err, Not(HasSubstr("no host memory")));
}

/// The first one takes longest.
TEST_F(RunPrompts, JsonLinesComeAsPromptsEndAndTextsInTheOrderOfTheFile) {
  const std::string path = write("prompts.jsonl",
                                 "{\"prompt\": \"a\", \"max_tokens\": 30}\n"
                                 "{\"prompt\": \"b\", \"max_tokens\": 2}\n"
                                 "{\"prompt\": \"c\", \"max_tokens\": 10}\n");
  EXPECT_THAT(values_of<std::string>(lines_of(run({"--prompts", path, "--json"}).out), "prompt"),
              ElementsAre("b", "c", "a"));
  const std::string plain = run({"--prompts", path}).out;
  const std::size_t b = plain.find("\n\n" + entry(path, 2, "b"));
  const std::size_t c = plain.find("\n\n" + entry(path, 3, "c"));
  EXPECT_TRUE(plain.starts_with(entry(path, 1, "a")));
  EXPECT_LT(b, c);
  EXPECT_NE(c, std::string::npos);
}

TEST_F(RunPrompts, JsonLinesOfTheFileHaveOptionsOfTheirOwn) {
  const std::string path = write("prompts.jsonl",
                                 "{\"prompt\": \"two\\nlines\", \"max_tokens\": 3}\r\n"
                                 "\n"
                                 "{\"seed\": 9, \"temperature\": 2, \"prompt\": \"Hello\"}\n"
                                 "{\"prompt\": \"\", \"temperature\": 0}\n"
                                 "{\"prompt\": \"none\", \"max_tokens\": 0}");
  const RunResult result = run({"-n", "12", "--temp", "1", "--seed", "1", "--prompts", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(
      result.out,
      joined({entry(path, 1, alone("two\nlines", {"-n", "3", "--temp", "1", "--seed", "1"})),
              entry(path, 3, alone("Hello", {"-n", "12", "--temp", "2", "--seed", "9"})),
              entry(path, 4, alone("", {"-n", "12", "--temp", "0"})), entry(path, 5, "none\n")},
             "\n"));
}

TEST_F(RunPrompts, BadJsonLineIsAnErrorBeforeAnythingRuns) {
  struct Case {
    const char* line;
    const char* message;
  };
  for (const Case& each :
       {Case{"Once upon a time", "the line is no JSON object"},
        Case{"{\"prompt\": \"a\"", "the line is no JSON object"},
        Case{"[\"a\"]", "the line is no JSON object"},
        Case{"{\"prompt\": \"\\ud800\"}", "the line is no JSON object"},
        Case{"{\"max_tokens\": 3}", "there is no prompt"},
        Case{"{\"prompt\": 3}", "prompt must be a text"},
        Case{"{\"prompt\": \"a\", \"max_tokens\": -2}",
             "max_tokens must be a whole number from -1"},
        Case{"{\"prompt\": \"a\", \"max_tokens\": 1.5}", "max_tokens must be a whole number"},
        Case{"{\"prompt\": \"a\", \"max_tokens\": 9223372036854775808}", "max_tokens must be"},
        Case{"{\"prompt\": \"a\", \"temperature\": -1}", "temperature must be a number from 0"},
        Case{"{\"prompt\": \"a\", \"temperature\": 1e300}", "temperature must be a number from 0"},
        Case{"{\"prompt\": \"a\", \"temperature\": \"1\"}", "temperature must be a number from 0"},
        Case{"{\"prompt\": \"a\", \"seed\": -1}", "seed must be a whole number from 0"},
        Case{"{\"prompt\": \"a\", \"adapters\": \"b\"}", "adapters must be an array of texts"},
        Case{"{\"prompt\": \"a\", \"adapters\": [\"b\", 1]}", "adapters must be an array of"},
        Case{"{\"prompt\": \"a\", \"adapters\": [\"b\"]}",
             "there is no adapter \"b\"; --lora names none"},
        Case{"{\"prompt\": \"a\", \"top_k\": 1}", "\"top_k\" is not prompt, max_tokens,"}}) {
    const std::string path =
        write("prompts.jsonl", std::string("{\"prompt\": \"fine\"}\n\n") + each.line + "\n");
    const RunResult result = run({"--prompts", path, "-n", "1"});
    EXPECT_EQ(result.exit_code, 1) << each.line;
    EXPECT_EQ(result.out, "") << each.line;
    EXPECT_THAT(result.err, HasSubstr("shunt: " + path + ":3: " + each.message));
  }
}

/// 8 tokens: one for the beginning, one for a space, and six bytes. The other prompts have 2 and 3:
/// a space and an "a" are one token, a space and a "b" are two.
TEST_F(RunPrompts, TooLongPromptIsAnErrorAndTheOthersAreComputed) {
  const std::string path = write("prompts.txt", "a\n\xe4\xb8\xad\xe4\xb8\xad\nb\n");
  const std::vector<std::string> flags = {"-n", "3", "--temp", "0", "--ctx", "7"};
  const std::string error =
      path + ":2: the prompt has 8 tokens, but the context has room for 7; see --ctx";
  for (const char* parallel : {"1", "3"}) {
    const RunResult result =
        run({"-n", "3", "--temp", "0", "--ctx", "7", "--prompts", path, "--parallel", parallel});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, joined({entry(path, 1, alone("a", flags)),  //
                                  entry(path, 3, alone("b", flags))},
                                 "\n"));
    EXPECT_THAT(result.err, AllOf(HasSubstr("shunt: " + error + "\n"), HasSubstr("1 failed"),
                                  HasSubstr("prefill          5 tokens in "),
                                  EndsWith("shunt: " + path + ": 1 of 3 prompts failed\n")));
  }
  const RunResult result = run({"-n", "3", "--ctx", "7", "--prompts", path, "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(values_of<int>(lines, "line"), testing::UnorderedElementsAre(1, 2, 3));
  for (const json& line : lines) {
    if (line.at("line") != 2) continue;
    EXPECT_EQ(line.at("stop"), "failed");
    EXPECT_EQ(line.at("prompt_tokens"), 8);
    EXPECT_EQ(path + ":2: " + line.at("error").get<std::string>(), error);
  }
}

TEST_F(RunPrompts, EachPromptHasTheContextOfARunAlone) {
  const std::string eight = "\xe4\xb8\xad\xe4\xb8\xad";
  const std::string path = write("prompts.txt", "a\n" + eight + "\n");
  for (const char* context : {"8", "20"}) {
    const std::vector<std::string> flags = {"--temp", "0", "--ctx", context};
    const std::string expected =
        joined({entry(path, 1, alone("a", flags)), entry(path, 2, alone(eight, flags))}, "\n");
    for (const char* parallel : {"1", "2"}) {
      const RunResult result =
          run({"--temp", "0", "--ctx", context, "--prompts", path, "--parallel", parallel});
      EXPECT_EQ(result.out, expected) << "context " << context << ", at once: " << parallel;
      EXPECT_THAT(result.err, HasSubstr("stopped     2 context full\n"));
    }
  }
}

TEST_F(RunPrompts, DefaultContextOfEachPromptIsThatOfTheModel) {
  SynthOptions options;
  options.context = 40;
  const SynthModel small(options);
  const std::string path = write("prompts.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n");
  const RunResult result = run_command(
      {"run", "-m", small.path(), "--ignore-eos", "--temp", "0", "--prompts", path, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> lines = lines_of(result.out);
  EXPECT_EQ(lines.size(), 11U);
  for (const json& line : lines) {
    EXPECT_EQ(line.at("stop"), "context full");
    EXPECT_EQ(line.at("prompt_tokens").get<int>() + line.at("generated_tokens").get<int>(), 41);
  }
}

TEST_F(RunPrompts, ExpectedTextAndAnswersOfTheDefaultModel) {
  const std::string path = write("prompts.txt", stories().prompt +
                                                    "\n"
                                                    "Question: What does a horse say?\n"
                                                    "Question: Who lives in a mine?\n");
  const RunResult result = run_command({"run", "--temp", "0", "--prompts", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with(entry(path, 1, stories().text))) << result.out;
  EXPECT_THAT(result.out, EndsWith(joined({entry(path, 2,
                                                 "Question: What does a horse say?\n"
                                                 "Answer: A horse says neigh.\n"),
                                           entry(path, 3,
                                                 "Question: Who lives in a mine?\n"
                                                 "Answer: A dwarf lives in a mine.\n")},
                                          "\n")));
  EXPECT_THAT(result.err, HasSubstr("stopped     3 end of sequence\n"));
}

/// Its tokenizer puts a space before a text. That of a continuation is its own, and stays.
TEST_F(RunPrompts, TextsOfStories260KBeginWithTheirSpaces) {
  SHUNT_NEED_SHARED("data/models/stories260K.gguf");
  const std::string model = stories_260k().path;
  const std::string path = write("prompts.txt", "The little dog\nLily saw a cat\n");
  const RunResult result =
      run_command({"run", "-m", model, "-n", "3", "--temp", "0", "--prompts", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, joined({entry(path, 1, "The little dog was a little\n"),
                                entry(path, 2, "Lily saw a cat named Tom\n")},
                               "\n"));
}

/// Weights and activations of 8 bits round differently in batches of another size, unless the
/// kernels are the same ones for any size.
TEST_F(RunPrompts, DeterministicTextsOfTheDefaultModelEqualThoseAlone) {
  const std::string path =
      write("prompts.txt", "Once upon a time\nThere was\nA\nOne day a horse\nThe\nTom\n");
  const std::vector<std::string> flags = {"run", "--deterministic", "-n", "60", "--temp", "1.5"};
  std::vector<std::string> together = flags;
  together.insert(together.end(), {"--seed", "3", "--prompts", path, "--json"});
  const RunResult result = run_command(together);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 6U);
  for (const json& line : lines) {
    std::vector<std::string> one = flags;
    one.insert(one.end(), {"--seed", std::to_string(3 + line.at("index").get<int>()), "--json",
                           "--prompt", line.at("prompt").get<std::string>()});
    const RunResult alone = run_command(one);
    EXPECT_EQ(line.at("tokens"), json::parse(alone.out).at("tokens")) << line;
  }
}

TEST_F(RunPrompts, SummaryCountsPromptsAndTokens) {
  std::string many;
  for (int i = 0; i < 70; ++i) many += "x\n";
  const std::string path = write("many.txt", many);
  const RunResult result = run({"-n", "3", "--prompts", path, "--json"});
  EXPECT_EQ(lines_of(result.out).size(), 70U);
  // Of each: the beginning, a space, a letter.
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("prompts         70 prompts, at most 64 at once\n"),
                    HasSubstr("prefill        210 tokens in "), HasSubstr(", 0 cached\n"),
                    HasSubstr("generation     210 tokens in "), HasSubstr("tokens/s"),
                    HasSubstr("stopped     70 length\n"), HasSubstr("loaded in"),
                    HasSubstr("activations; peak of the process")));
  const RunResult few = run({"-n", "0", "--prompts", write("few.txt", "x\ny\n")});
  EXPECT_EQ(few.out, joined({entry(folder_.file("few.txt"), 1, "x\n"),
                             entry(folder_.file("few.txt"), 2, "y\n")},
                            "\n"));
  EXPECT_THAT(few.err, HasSubstr("         2 prompts, at most 2 at once\n"));
}

/// 200 tokens that begin alike: three blocks of 64 are computed once.
TEST_F(RunPrompts, CommonBeginningsAreComputedOnce) {
  const std::string common(197, 'a');
  const std::string path = write("prompts.txt", common + "b\n" + common + "c\n" + common + "d\n");
  const RunResult result = run({"-n", "1", "--prompts", path, "--json"});
  std::vector<std::int64_t> cached = values_of<std::int64_t>(lines_of(result.out), "cached_tokens");
  EXPECT_THAT(cached, testing::UnorderedElementsAre(0, 192, 192)) << result.out;
  EXPECT_THAT(result.err, HasSubstr(", 384 cached\n"));
}

TEST_F(RunPrompts, StandardInputIsReadWithAnyLineEnds) {
  RunOptions options;
  options.input = "\r\nfirst\r\n\nsecond \\n\n";
  const RunResult result = run({"-n", "0", "--prompts", "-"}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, joined({entry("standard input", 2, "first\n"),
                                entry("standard input", 4, "second \\n\n")},
                               "\n"));
  options.input_once_it_complains = true;
  EXPECT_THAT(run({"-n", "0", "--prompts", "-"}, options).err,
              HasSubstr("shunt: waiting for the prompts on standard input\n"));
}

TEST_F(RunPrompts, StandardInputIsNotReadForAFile) {
  RunOptions options;
  options.input = "from a pipe";
  const std::string path = write("prompts.txt", "a\n");
  EXPECT_EQ(run({"-n", "0", "--prompts", path}, options).out, entry(path, 1, "a\n"));
}

TEST_F(RunPrompts, InvalidUtf8IsReplacedWithAWarning) {
  const std::string path = write("prompts.txt", "a\xff\nb\n");
  const RunResult result = run({"-n", "0", "--prompts", path});
  EXPECT_EQ(result.out, joined({entry(path, 1, "a\xef\xbf\xbd\n"), entry(path, 2, "b\n")}, "\n"));
  EXPECT_THAT(result.err, HasSubstr("warning: " + path + " is not valid UTF-8"));
}

TEST_F(RunPrompts, FileWithoutPromptsIsAnError) {
  for (const char* text : {"", "\n\r\n\n"}) {
    const std::string path = write("prompts.txt", text);
    const RunResult result = run({"--prompts", path});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "shunt: " + path + ": there is no prompt\n");
  }
  EXPECT_EQ(run({"--prompts", "-"}).err, "shunt: standard input: there is no prompt\n");
}

TEST_F(RunPrompts, MissingFilesAreNamed) {
  const RunResult result = run({"--prompts", "/nonexistent/prompts.txt"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot open /nonexistent/prompts.txt"));
  EXPECT_EQ(run({"--prompts", folder_.path()}).exit_code, 1) << "a folder";
  const std::string path = write("prompts.txt", "a\n");
  EXPECT_EQ(run_command({"run", "-m", "/nonexistent.gguf", "--prompts", path}).exit_code, 1);
}

TEST_F(RunPrompts, EmptyPromptWithoutBosIsAnErrorOfItsLine) {
  const std::string model = folder_.file("no-bos.gguf");
  write_edited(model_.path(), model, [](EditedFile& file) {
    file.set("tokenizer.ggml.add_bos_token", {gguf::ValueType::kBool, false});
  });
  const std::string path = write("prompts.jsonl", "{\"prompt\": \"\"}\n{\"prompt\": \"a\"}\n");
  const RunResult result = run_command({"run", "-m", model, "-n", "0", "--prompts", path});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, entry(path, 2, "a\n"));
  EXPECT_THAT(result.err, HasSubstr(path + ":1: the prompt is empty"));
}

TEST_F(RunPrompts, TraceHasTheStepsOfAllPrompts) {
  const std::string path = write("prompts.txt", "a\nb\n");
  const std::string trace = folder_.file("trace.json");
  const RunResult result = run({"-n", "3", "--prompts", path, "--trace", trace});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream file(trace);
  EXPECT_GT(json::parse(file).at("traceEvents").size(), 10U);
  EXPECT_EQ(run({"--prompts", path, "--trace", path}).exit_code, 2) << "it would overwrite them";
  const RunResult cached = run({"--prompts", path, "--prompt-cache", path + ".cache"});
  EXPECT_EQ(cached.exit_code, 2);
  EXPECT_THAT(cached.err, HasSubstr("--prompt-cache is for one prompt, not for --prompts"));
}

/// The second prompt does not end before the signal.
class InterruptedPrompts : public RunPrompts {
 protected:
  InterruptedPrompts() : endless_(options()) {}
  static SynthOptions options() {
    SynthOptions options;
    options.context = 1 << 20;
    return options;
  }
  std::vector<std::string> words(const std::string& path) const {
    return {"run", "-m", endless_.path(), "--ignore-eos", "--ctx", "100000", "--prompts", path};
  }
  std::string prompts() const {
    return write("prompts.jsonl",
                 "{\"prompt\": \"a\", \"max_tokens\": 1}\n"
                 "{\"prompt\": \"b\"}\n"
                 "{\"prompt\": \"c\", \"max_tokens\": 1}\n");
  }
  SynthModel endless_;
};

TEST_F(InterruptedPrompts, SignalKeepsTheResultsThatAreThere) {
  const std::string path = prompts();
  for (const int signal : {SIGINT, SIGTERM}) {
    RunOptions options;
    options.interrupt_after = 1;
    options.signals = {signal};
    const RunResult result = run_command(words(path), options);
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr(entry(path, 1, "a")), Not(HasSubstr(":2 <==")),
                                  HasSubstr("\n\n" + entry(path, 3, "c"))));
    EXPECT_THAT(result.err, HasSubstr("stopped     2 length, 1 cancelled\n"));
  }
  RunOptions options;
  options.interrupt_after = 1;
  auto with_json = words(path);
  with_json.emplace_back("--json");
  const RunResult result = run_command(with_json, options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(values_of<int>(lines_of(result.out), "index"), ElementsAre(0, 2));
}

TEST_F(InterruptedPrompts, ClosedOutputEndsTheRunQuietly) {
  RunOptions options;
  options.close_output_after = 1;
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "{\"prompt\": \"a\", \"max_tokens\": 20}\n";
  auto with_json = words(write("many.jsonl", many));
  with_json.emplace_back("--json");
  const RunResult result = run_command(with_json, options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(InterruptedPrompts, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  RunOptions options;
  options.output_file = "/dev/full";
  const RunResult result = run_command(words(prompts()), options);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot write to standard output"));
}

}  // namespace
}  // namespace shunt::test::run_prompts_test
