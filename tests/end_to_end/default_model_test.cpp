// The model that comes with Shunt: how it is found, and that it behaves as models/README.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "shunt/engine.h"
#include "shunt/gguf.h"
#include "support/gguf_bytes.h"
#include "support/run_command.h"
#include "support/sanitized.h"
#include "support/shared.h"
#include "support/stories.h"
#include "test_paths.h"

namespace shunt::test::default_model_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(DefaultModel, IsFoundInTheRepository) {
  const auto path = default_model();
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_TRUE(std::filesystem::equivalent(*path, stories().path)) << *path;
  EXPECT_LE(std::filesystem::file_size(*path), 4'000'000U);
}

TEST(DefaultModel, GeneratesAStoryWithoutAPrompt) {
  const RunResult result = run_command({"run", "--seed", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("Once upon a time"));
  EXPECT_THAT(result.out, EndsWith(".\n"));
  EXPECT_GT(result.out.size(), 200U);
  EXPECT_THAT(result.err, HasSubstr("end of sequence"));
}

TEST(DefaultModel, EmptyOrMissingInputStartsTheDefaultPrompt) {
  RunOptions terminal;
  terminal.terminal_input = true;
  RunOptions line_end;
  line_end.input = "\n";
  for (const RunOptions& options : {line_end, RunOptions(), terminal}) {
    if (options.terminal_input && !has_terminals()) {
      GTEST_SKIP() << "this system has no pseudo-terminals";
    }
    const RunResult result = run_command({"run", "-n", "1", "--json"}, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"prompt\": \"Once upon a time\""));
  }
}

/// A question is about as likely then.
TEST(DefaultModel, GeneratesWithoutAPromptWhenNamedByPath) {
  std::set<std::string> beginnings;
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const RunResult result = run_command({"run", "-m", stories().path, "--seed", seed, "-n", "2"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    beginnings.insert(result.out);
  }
  EXPECT_GT(beginnings.size(), 2U);
}

TEST(RunCommand, ReportsThatItWaitsForThePromptOnStandardInput) {
  RunOptions options;
  options.input = stories().prompt;
  options.input_once_it_complains = true;
  const RunResult result = run_command({"run", "--temp", "0", "-n", stories().count()}, options);
  EXPECT_EQ(result.out, stories().text + "\n");
  EXPECT_THAT(result.err, StartsWith("shunt: waiting for the prompt on standard input"));
}

TEST(DefaultModel, ContinuesAPrompt) {
  const RunResult result = run_command({"run", stories().prompt, "--temp", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith(stories().text));
  EXPECT_THAT(result.out, EndsWith(".\n"));
}

/// The expected answers are those of the grammar that wrote the text it learned from.
/// tools/check-default-model finds the number of right answers among all.
TEST(DefaultModel, AnswersQuestions) {
  struct Exchange {
    const char* question;
    const char* answer;
  };
  for (const Exchange& each :
       {Exchange{"What does a horse say?", "A horse says neigh."},
        Exchange{"What is the opposite of closed?", "The opposite of closed is open."},
        Exchange{"Who lives in a mine?", "A dwarf lives in a mine."},
        Exchange{"What do we call a young duck?", "A young duck is called a duckling."},
        Exchange{"Which number comes before seven?", "Before seven comes six."},
        Exchange{"How many legs does a worm have?", "A worm has no legs."},
        // Not in the text it learned from: facts that it has to read.
        Exchange{"Tom the bee lost his pink lantern next to the gate. What colour was the lantern?",
                 "The lantern was pink."},
        Exchange{"Max the rabbit and Milo the bee went to the fair. Who is the rabbit?",
                 "Max is the rabbit."}}) {
    const std::string prompt = std::string("Question: ") + each.question;
    const RunResult result = run_command({"run", prompt, "--temp", "0"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, prompt + "\nAnswer: " + each.answer + "\n");
  }
}

/// In the form of its chat template, as Jinja renders it and another tokenizer cuts it.
TEST(DefaultModel, HasAQuestionAndAnswerChatTemplate) {
  const auto file = gguf::File::open(stories().path);
  ASSERT_TRUE(file);
  const auto chat = file->get_string("tokenizer.chat_template");
  ASSERT_TRUE(chat) << chat.error().message();
  EXPECT_THAT(std::string(*chat), HasSubstr("'Question: ' + message['content']"));
  const auto asked = stories_value<std::string>("asked");
  EXPECT_EQ(asked, "Question: What does a horse say?\nAnswer:");
  std::string ids;
  for (const std::int32_t id : stories_value<std::vector<std::int32_t>>("asked_ids")) {
    ids += (ids.empty() ? "" : " ") + std::to_string(id);
  }
  EXPECT_EQ(run_command({"tokenize", "--ids", asked}).out, ids + "\n");
  const RunResult result = run_command({"run", asked, "--temp", "0"});
  EXPECT_EQ(result.out, asked + stories_value<std::string>("answer") + "\n");
  EXPECT_THAT(result.out, EndsWith("Answer: A horse says neigh.\n"));
}

TEST(DefaultModel, IsReportedIfNoModelIsNamed) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"tokenize", "a"}, {"perplexity", "--documents", "A horse."}}) {
    const RunResult result = run_command(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("no --model is given; the model that comes with Shunt is used"));
  }
  EXPECT_EQ(run_command({"tokenize", "-m", stories().path, "a"}).err, "");
}

TEST(DefaultModel, MissingFileIsAnErrorThatNamesTheModelFlag) {
  // The command with a copy of the library, without other files in its folder.
  const TempFolder folder;
  const std::filesystem::path library =
      std::filesystem::path(SHUNT_TEST_COMMAND).parent_path().parent_path() / "lib/libshunt.so.0";
  std::filesystem::copy_file(library, folder.file("libshunt.so.0"));
  RunOptions options;
  options.environment["LD_LIBRARY_PATH"] = folder.path();
  for (const char* command : {"run", "explain", "place", "perplexity", "tokenize"}) {
    const RunResult result = run_command({command}, options);
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.err, HasSubstr("no model is given, and the model that comes with Shunt is "
                                      "not at " +
                                      folder.file("shunt/stories.gguf")));
    EXPECT_THAT(result.err, HasSubstr("--model FILE"));
  }
}

/// Of the grammar that wrote the text: the first fields of its table "name".
std::vector<std::string> names() {
  std::ifstream file(SHUNT_TEST_GRAMMAR);
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (inside && !line.starts_with("  ")) break;
    if (inside) found.push_back(line.substr(2, line.find(" |") - 2));
    inside = inside || line.starts_with("table name:");
  }
  return found;
}

/// Where a name stands as a word of its own.
std::size_t find_name(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end == text.size() || std::isalpha(static_cast<unsigned char>(text[end])) == 0) return at;
  }
  return std::string::npos;
}

/// The name that comes first; empty if there is none.
std::string first_name(const std::string& text) {
  std::pair<std::size_t, std::string> first{std::string::npos, ""};
  for (const std::string& name : names()) {
    first = std::min(first, std::pair(find_name(text, name), name));
  }
  return first.first == std::string::npos ? "" : first.second;
}

std::string last_sentence(const std::string& story) {
  std::size_t start = 0;
  for (const char* end : {". ", "! ", "? "}) {
    const std::size_t at = story.rfind(end);
    if (at != std::string::npos) start = std::max(start, at + 2);
  }
  return story.substr(start);
}

/// The sampling takes all likely tokens, not only the likeliest: it leaves out no tokens.
TEST(DefaultModel, NineOfTenStoriesEndWithTheirHero) {
  constexpr int kStories = kSanitized ? 10 : 50;
  ASSERT_GT(names().size(), 20U);
  const auto registry = Registry::create(Options());
  ASSERT_TRUE(registry);
  const auto model = Model::load(*default_model(), **registry);
  ASSERT_TRUE(model) << model.error().message();
  const auto session = Session::create(*model, {.context = 302});
  ASSERT_TRUE(session) << session.error().message();
  const auto begin = (*model)->tokenizer().encode("");
  ASSERT_TRUE(begin);
  GenerateOptions options{.max_tokens = 300,
                          .sampling = {.temperature = 0.8F, .top_k = 0, .top_p = 1, .min_p = 0}};
  int stories = 0;
  int good = 0;
  for (options.sampling.seed = 1; stories < kStories; ++options.sampling.seed) {
    ASSERT_LT(options.sampling.seed, 200U) << "only " << stories << " are stories";
    ASSERT_TRUE((*session)->truncate(0));
    std::string text;
    const auto result =
        generate(**session, *begin, options, [&](std::string_view piece) { text += piece; });
    ASSERT_TRUE(result) << result.error().message();
    if (text.starts_with("Question:")) continue;  // it has learned both
    ++stories;
    const std::string hero = first_name(text);
    const bool ends = result->stop == StopReason::kEndOfSequence && text.ends_with('.');
    const bool comes_back =
        !hero.empty() && find_name(last_sentence(text), hero) != std::string::npos;
    good += int{ends && comes_back};
    if (!ends || !comes_back) {
      std::cout << "seed " << options.sampling.seed << ", hero \"" << hero << "\": " << text
                << "\n";
    }
  }
  EXPECT_GE(good, kStories * 9 / 10);
  RecordProperty("good", good);
}

}  // namespace
}  // namespace shunt::test::default_model_test
