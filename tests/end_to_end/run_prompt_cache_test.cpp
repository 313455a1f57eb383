// `shunt run --prompt-cache`: another process goes on with the cache rows of a prompt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/models.h"
#include "support/run_command.h"
#include "support/shared.h"

namespace shunt::test::run_prompt_cache_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPrompt = "Once upon a time there was a very small machine that told a story";

class RunPromptCache : public testing::Test {
 protected:
  RunResult run(const std::string& prompt, std::vector<std::string> more,
                const std::string& model) const {
    std::vector<std::string> words = {"run", "--model", model,    "--ignore-eos", "--temp", "0",
                                      "-n",  "12",      "--json", "--prompt",     prompt};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }
  nlohmann::json run(const std::string& prompt, std::vector<std::string> more = {}) const {
    const RunResult result = run(prompt, std::move(more), model_.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }
  static std::int64_t computed(const nlohmann::json& json) {
    return json["timings"]["prompt"]["tokens"];
  }
  static std::int64_t cached(const nlohmann::json& json) {
    return json["timings"]["prompt"]["cached"];
  }

  TempFolder folder_;
  std::string path_ = folder_.file("cache");
  SynthModel model_;
};

TEST_F(RunPromptCache, LaterRunComputesTheLastTokenOnly) {
  const auto plain = run(kPrompt);
  const auto first = run(kPrompt, {"--prompt-cache", path_});
  EXPECT_EQ(first["tokens"], plain["tokens"]);
  EXPECT_EQ(cached(first), 0);
  const std::string bytes = read_file(path_);
  const auto second = run(kPrompt, {"--prompt-cache", path_});
  EXPECT_EQ(second["tokens"], plain["tokens"]);
  EXPECT_EQ(computed(second), 1);
  EXPECT_EQ(cached(second), computed(plain) - 1);
  EXPECT_EQ(read_file(path_), bytes);
  EXPECT_THAT(folder_.list(), ElementsAre("cache"));
}

TEST_F(RunPromptCache, SharesTheBeginningOfAnotherPrompt) {
  run(kPrompt, {"--prompt-cache", path_});
  const std::string other = std::string(kPrompt).substr(0, 40) + "king";
  const auto plain = run(other);
  const auto second = run(other, {"--prompt-cache", path_});
  EXPECT_EQ(second["tokens"], plain["tokens"]);
  EXPECT_GT(cached(second), 10);
  EXPECT_EQ(computed(second) + cached(second), computed(plain));
  EXPECT_GT(computed(second), 1);
  // The file has this prompt now.
  const auto third = run(other, {"--prompt-cache", path_});
  EXPECT_EQ(computed(third), 1);
}

TEST_F(RunPromptCache, PenaltiesCountTokensThatWereRead) {
  const std::vector<std::string> penalty = {"--repeat-penalty", "3"};
  const auto plain = run(kPrompt, penalty);
  EXPECT_NE(plain["tokens"], run(kPrompt)["tokens"]) << "the penalty must matter";
  run(kPrompt, {"--prompt-cache", path_});
  const auto second = run(kPrompt, {"--repeat-penalty", "3", "--prompt-cache", path_});
  EXPECT_EQ(computed(second), 1);
  EXPECT_EQ(second["tokens"], plain["tokens"]);
}

TEST_F(RunPromptCache, FileThatCannotBeUsedIsAnErrorAndStays) {
  run(kPrompt, {"--prompt-cache", path_});
  const std::string bytes = read_file(path_);
  SynthOptions options;
  options.seed = 2;
  const SynthModel other(options);
  const RunResult result = run(kPrompt, {"--prompt-cache", path_}, other.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr(path_ + ": it was saved with another model"));
  EXPECT_EQ(read_file(path_), bytes);
  const RunResult model = run(kPrompt, {"--prompt-cache", model_.path()}, model_.path());
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("reads this file"));
  const RunResult stream = run(kPrompt, {"--prompt-cache", "-"}, model_.path());
  EXPECT_EQ(stream.exit_code, 2);
  EXPECT_THAT(stream.err,
              HasSubstr("a saved sequence cannot be written to standard output; name a file"));
}

TEST_F(RunPromptCache, FolderThatIsMissingIsFoundBeforeTheModelIsLoaded) {
  const RunResult result =
      run(kPrompt, {"--prompt-cache", folder_.file("none/x")}, folder_.file("none.gguf"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("none/x"));
}

TEST_F(RunPromptCache, SummaryHasTheTokensThatWereRead) {
  const std::vector<std::string> words = {"run", "-m",        model_.path(), "-n", "2",
                                          "-p",  "Hello all", "--temp",      "0",  "--prompt-cache",
                                          path_};
  EXPECT_THAT(run_command(words).err, testing::Not(HasSubstr("from the file")));
  EXPECT_THAT(run_command(words).err, HasSubstr("from the file\n"));
}

}  // namespace
}  // namespace shunt::test::run_prompt_cache_test
