// Adapters by line of `shunt run --prompts`: each prompt gives the text that `shunt run --lora`
// gives for it alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/adapters.h"
#include "support/models.h"
#include "support/run_command.h"

namespace shunt::test::run_prompts_adapters_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Weights and caches in F32: other batches change the last digits of logits only, which are far
/// apart here.
class AdaptersOfPrompts : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.file(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string write_lora(const std::string& name, std::uint32_t seed) const {
    const std::string path = folder_.file(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_adapter(path, random_adapter("llama", adaptable_weights(model_.path()), 2, seed));
    return path;
  }
  RunResult run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", "--model", model_.path(), "--ignore-eos", "--cache-type",
                               "f32", "-n", "16", "--temp", "0"});
    return run_command(more);
  }
  /// The text for a prompt alone, with these values of --lora.
  std::string alone(const std::string& prompt, const std::vector<std::string>& loras) const {
    std::vector<std::string> words = {"--prompt", prompt};
    for (const std::string& lora : loras) words.insert(words.end(), {"--lora", lora});
    const RunResult result = run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  SynthModel model_;
  TempFolder folder_;
};

TEST_F(AdaptersOfPrompts, AreThoseThatALineNames) {
  const std::string poems = write_lora("poems.gguf", 1);
  const std::string law = write_lora("law:2.gguf", 2);
  const std::vector<std::string> rows = {"", R"(, "adapters": [])", R"(, "adapters": ["poems"])",
                                         R"(, "adapters": ["law:2:-0.5", "poems:0.25"])",
                                         R"(, "adapters": ["law:2"])"};
  std::string text;
  for (const std::string& row : rows) text += R"({"prompt": "Hello")" + row + "}\n";
  const std::string path = write("prompts.jsonl", text);
  const auto with = [&](const std::vector<std::string>& loras) { return alone("Hello", loras); };
  const std::vector<std::string> expected = {with({poems}), with({}), with({poems}),
                                             with({law + "=-0.5", poems + "=0.25"}), with({law})};
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[2], expected[3]);
  EXPECT_NE(expected[3], expected[4]);
  std::string printed;
  for (std::size_t i = 0; i < expected.size(); ++i)
    printed += fmt::format("{}==> {}:{} <==\n{}", i == 0 ? "" : "\n", path, i + 1, expected[i]);
  std::vector<std::string> words = {"--lora", poems, "--lora", law + "=0", "--prompts", path};
  for (const char* parallel : {"1", "5"}) {
    std::vector<std::string> more = words;
    more.insert(more.end(), {"--parallel", parallel});
    const RunResult result = run(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, printed) << "at once: " << parallel;
  }
  words.emplace_back("--json");
  std::istringstream lines(run(words).out);
  std::size_t count = 0;
  for (std::string text_of_line; std::getline(lines, text_of_line); ++count) {
    const json line = json::parse(text_of_line);
    EXPECT_EQ(line.contains("adapters"), line.at("line") != 1);
    if (line.at("line") == 4) {
      EXPECT_EQ(line.at("adapters"), json({"law:2:-0.5", "poems:0.25"}));
    }
  }
  EXPECT_EQ(count, rows.size());
}

TEST_F(AdaptersOfPrompts, UnknownAndAmbiguousNamesAreErrorsBeforeAnythingRuns) {
  const std::string first = write_lora("a/style.gguf", 1);
  const std::string second = write_lora("b/style.gguf", 2);
  const auto run_with = [&](const std::string& name) {
    const json line = {{"prompt", "Hello"}, {"adapters", json::array({name})}};
    const std::string path =
        write("prompts.jsonl", "{\"prompt\": \"fine\"}\n" + line.dump() + "\n");
    return run({"--lora", first, "--lora", second, "--prompts", path});
  };
  const std::string place = "shunt: " + folder_.file("prompts.jsonl") + ":2: ";
  for (const char* name : {"poems", "style.gguf", "poems:1", "", ":1"}) {
    const RunResult result = run_with(name);
    EXPECT_EQ(result.exit_code, 1) << name;
    EXPECT_EQ(result.out, "") << name;
    EXPECT_THAT(result.err, HasSubstr(place + "there is no adapter \""));
    EXPECT_THAT(result.err, HasSubstr("--lora names " + first + ", " + second));
  }
  for (const char* name : {"style", "style:2"}) {
    EXPECT_THAT(run_with(name).err, HasSubstr(place + "\"style\" is the name of " + first +
                                              " and of " + second + "; give the path of one"));
  }
  for (const std::string& name : {second, second + ":0.5"})
    EXPECT_EQ(run_with(name).exit_code, 0) << name;
  EXPECT_THAT(run_with(second + ":inf").err, HasSubstr(place + "there is no adapter \""));
}

}  // namespace
}  // namespace shunt::test::run_prompts_adapters_test
