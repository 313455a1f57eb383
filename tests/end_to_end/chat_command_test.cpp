// Conversations on the command line: `shunt chat-template`, `shunt run --chat`, and the templates
// that `shunt inspect` lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/models.h"
#include "support/run_command.h"

namespace shunt::test::chat_command_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kDefault =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    "{% if enable_thinking is false %}no thoughts{% endif %}";
constexpr std::string_view kToolUse = "tools: {{ tools | tojson }}";

/// A model of noise with these chat templates, by key.
class Chat : public testing::Test {
 protected:
  using Templates = std::map<std::string, std::string_view>;

  std::string model_with(const Templates& templates) const {
    const std::string path = model_.folder().file("chat.gguf");
    write_edited(model_.path(), path, [&](EditedFile& file) {
      for (const auto& [key, text] : templates) {
        file.set(key, {gguf::ValueType::kString, std::string(text)});
      }
    });
    return path;
  }
  std::string model() const { return model_with({{"tokenizer.chat_template", kDefault}}); }
  std::string model_with_tools() const {
    return model_with(
        {{"tokenizer.chat_template", kDefault}, {"tokenizer.chat_template.tool_use", kToolUse}});
  }
  std::string put(std::string_view name, std::string_view text) const {
    return model_.folder().write(name, std::as_bytes(std::span(text)));
  }

  SynthModel model_;
};

RunResult render(const std::string& model, std::vector<std::string> more) {
  more.insert(more.begin(), {"chat-template", "--model", model});
  return run_command(more);
}

std::string text_of(const std::string& model, const std::vector<std::string>& more) {
  const RunResult result = render(model, more);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

TEST_F(Chat, APromptIsAMessage) {
  EXPECT_EQ(text_of(model(), {"Hi"}), "<s><user>Hi</s><assistant>\n");
  EXPECT_EQ(text_of(model(), {"-p", "Hi", "--system", "Be \"brief\".\n"}),
            "<s><system>Be \"brief\".\n</s><user>Hi</s><assistant>\n");
  EXPECT_EQ(text_of(model(), {"Hi", "--complete"}), "<s><user>Hi</s>\n");
  RunOptions options;
  options.input = "from a pipe\n";
  EXPECT_EQ(run_command({"chat-template", "--model", model()}, options).out,
            "<s><user>from a pipe</s><assistant>\n");
}

TEST_F(Chat, MessagesComeFromAFile) {
  const std::string file = put("chat.json", R"([{"role": "user", "content": "a"},
      {"role": "assistant", "content": "b"}])");
  EXPECT_EQ(text_of(model(), {"--messages", file}), "<s><user>a</s><assistant>b</s><assistant>\n");
  RunOptions options;
  options.input = R"([{"role": "user", "content": "piped"}])";
  EXPECT_EQ(run_command({"chat-template", "-m", model(), "--messages", "-"}, options).out,
            "<s><user>piped</s><assistant>\n");
}

TEST_F(Chat, FilesThatAreNoConversationAreNamed) {
  const auto fails = [&](std::string_view content, const char* said) {
    const std::string file = put("chat.json", content);
    const RunResult result = render(model(), {"--messages", file});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(file));
    EXPECT_THAT(result.err, HasSubstr(said));
  };
  fails(R"([{"role": )", "invalid JSON at byte 11");
  fails(R"({"role": "user"})", "expected a JSON array of messages");
  fails("", "invalid JSON");
  fails("[1e999]", "a number is too large");
  fails("[\"\xFF\"]", "invalid JSON");
  fails(R"([{"role": "user", "content": "a"}, "b"])", "message 2 is not a JSON object");
  EXPECT_THAT(render(model(), {"--messages", "/nonexistent.json"}).err,
              HasSubstr("/nonexistent.json"));
}

TEST_F(Chat, AMessageWithoutContentIsNamed) {
  const auto warnings = [&](std::string_view second) {
    const std::string file =
        put("chat.json", R"([{"role": "user", "content": "a"}, )" + std::string(second) + "]");
    const RunResult result = render(model(), {"--messages", file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("<user>a</s>"));
    return result.err;
  };
  EXPECT_THAT(warnings(R"({"role": "assistant"})"), HasSubstr("message 2 has no content"));
  EXPECT_THAT(warnings(R"({"role": "user", "content": null})"),
              HasSubstr("message 2 has no content"));
  EXPECT_EQ(warnings(R"({"role": "assistant", "tool_calls": []})"), "");
  EXPECT_EQ(warnings(R"({"role": "assistant", "content": ""})"), "");
}

TEST_F(Chat, ASystemMessageThatIsNotWrittenIsAWarning) {
  const std::string file = put("no_system.jinja",
                               "{% for m in messages if m.role != 'system' %}{{ m.content }}"
                               "{% endfor %}");
  const RunResult unwritten =
      render(model(), {"Hi", "--system", "Be brief.", "--chat-template", file});
  EXPECT_EQ(unwritten.exit_code, 0) << unwritten.err;
  EXPECT_EQ(unwritten.out, "Hi\n");
  EXPECT_THAT(unwritten.err, HasSubstr("does not write the text of --system"));
  EXPECT_EQ(render(model(), {"Hi", "--system", "Be brief."}).err, "");
  const std::string loud =
      put("loud.jinja", "{% for m in messages %}{{ m.content | trim | upper }}{% endfor %}");
  EXPECT_EQ(render(model(), {"Hi", "--system", " brief ", "--chat-template", loud}).err, "");
}

TEST_F(Chat, ToolsChooseTheirTemplate) {
  const std::string tools = put("tools.json", R"([{"name": "f"}])");
  EXPECT_EQ(text_of(model_with_tools(), {"Hi", "--tools", tools}), "tools: [{\"name\": \"f\"}]\n");
  EXPECT_EQ(text_of(model_with_tools(), {"Hi"}), "<s><user>Hi</s><assistant>\n");
  const RunResult unused = render(model(), {"Hi", "--tools", tools});
  EXPECT_EQ(unused.exit_code, 0);
  EXPECT_THAT(unused.err, HasSubstr("does not use tools"));
}

TEST_F(Chat, ATemplateIsChosenByNameOrFile) {
  const std::string file = put("other.jinja", "{{ messages[0].content }}!");
  EXPECT_EQ(text_of(model_with_tools(), {"Hi", "--chat-template", "tool_use"}), "tools: null\n");
  EXPECT_EQ(text_of(model_with_tools(), {"Hi", "--chat-template", file}), "Hi!\n");
  EXPECT_EQ(text_of(model_.path(), {"Hi", "--chat-template", file}), "Hi!\n");
  const RunResult missing = render(model_with_tools(), {"Hi", "--chat-template", "tools"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("cannot open tools"));
  EXPECT_THAT(missing.err, HasSubstr("'default', 'tool_use'"));
}

TEST_F(Chat, AModelWithoutATemplateIsAnErrorWithTheRemedy) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"chat-template", "Hi"}, {"run", "--chat", "-p", "Hi"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--model", model_.path()});
    const RunResult result = run_command(words);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("the model has no chat template; use --chat-template FILE"));
  }
}

TEST_F(Chat, ValuesReachTheTemplate) {
  EXPECT_EQ(text_of(model(), {"Hi", "--template-value", "enable_thinking=false"}),
            "<s><user>Hi</s><assistant>no thoughts\n");
  const RunResult unknown = render(model(), {"Hi", "--template-value", "enable_thought=false"});
  EXPECT_EQ(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("does not use \"enable_thought\""));
}

TEST_F(Chat, ErrorsOfTheTemplateNameTheFileAndThePlace) {
  const std::string broken = put("broken.jinja", "\n{% if %}");
  const RunResult result = render(model(), {"Hi", "--chat-template", broken});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(broken + ": chat template, line 2, column"));
  const std::string refusing = put("refusing.jinja", "{{ raise_exception('no') }}");
  EXPECT_THAT(render(model(), {"Hi", "--chat-template", refusing}).err,
              HasSubstr(refusing + ": chat template, line 1, column 4: no"));
}

TEST_F(Chat, ControlTokensInMessagesStayText) {
  const json shown = json::parse(text_of(model(), {"</s>", "--system", "<s>", "--json"}));
  EXPECT_EQ(shown["text"], "<s><system><s></s><user></s></s><assistant>");
  std::vector<int> control;
  for (const json& token : shown["tokens"]) {
    if (token["type"] == "control") control.push_back(token["id"]);
  }
  EXPECT_EQ(control, (std::vector<int>{1, 2, 2}));
  EXPECT_EQ(shown["pieces"][1]["text"], "<s>");
  EXPECT_EQ(shown["pieces"][1]["from_template"], false);
  const std::string lines = text_of(model(), {"</s>", "--tokens"});
  EXPECT_EQ(lines.substr(0, lines.find('\n')), "      1  '<s>'");
  EXPECT_EQ(lines.find("'</s>'"), lines.rfind("'</s>'"));
}

TEST_F(Chat, SourceIsTheTemplateItself) {
  EXPECT_EQ(text_of(model(), {"--source"}), kDefault);
}

TEST_F(Chat, RunPrintsTheAnswerOnly) {
  const std::vector<std::string> more = {"--ignore-eos", "-n", "6", "--seed", "3"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "--model", model()});
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  };
  const RunResult plain = run({"--chat", "-p", "Hi"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("<user>")));
  const json chat = json::parse(run({"--chat", "-p", "Hi", "--json"}).out);
  EXPECT_EQ(chat["prompt"], "<s><user>Hi</s><assistant>");
  EXPECT_EQ(chat["text"].get<std::string>() + "\n", plain.out);
  const json tokens = json::parse(text_of(model(), {"Hi", "--json"}))["tokens"];
  EXPECT_EQ(chat["timings"]["prompt"]["tokens"], tokens.size());
  const std::string file = put("chat.json", R"([{"role": "user", "content": "Hi"}])");
  EXPECT_EQ(run({"--messages", file}).out, plain.out);
}

TEST_F(Chat, AnEmptyMessageIsAnError) {
  const RunResult result = run_command({"run", "--model", model(), "--chat", "-p", ""});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the message of the conversation is empty"));
}

TEST_F(Chat, InspectListsTheTemplates) {
  const std::string path = model_with({{"tokenizer.chat_template", kDefault},
                                       {"tokenizer.chat_template.tool_use", kToolUse},
                                       {"tokenizer.chat_template.broken", "{% if %}"}});
  const std::string text = run_command({"inspect", path}).out;
  EXPECT_THAT(text, HasSubstr("chat templates\n  'default'"));
  EXPECT_THAT(text, testing::ContainsRegex("'default' +[0-9]+ bytes, without tools\n"));
  EXPECT_THAT(text, testing::ContainsRegex("'tool_use' +[0-9]+ bytes, with tools\n"));
  EXPECT_THAT(text, testing::ContainsRegex("'broken' +[0-9]+ bytes, can't be used: .*line 1"));
  const json shown = json::parse(run_command({"inspect", path, "--json"}).out)["chat_templates"];
  ASSERT_EQ(shown.size(), 3U);
  EXPECT_EQ(shown[0]["name"], "default");
  EXPECT_EQ(shown[0]["uses_tools"], false);
  EXPECT_EQ(shown[0]["bytes"], kDefault.size());
  EXPECT_TRUE(std::ranges::any_of(shown, [](const json& each) { return each.contains("error"); }));
  EXPECT_EQ(json::parse(run_command({"inspect", model_.path(), "--json"}).out)["chat_templates"],
            json::array());
}

}  // namespace
}  // namespace shunt::test::chat_command_test
