// Chat templates, compared with Jinja2 with the settings of transformers (chat_templates.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "shunt/chat_encoder.h"
#include "shunt/chat_template.h"
#include "shunt/vocabulary.h"
#include "support/shared.h"

namespace shunt::text::oracle_chat_templates_test {
namespace {

using nlohmann::ordered_json;

const std::string kFolder = SHUNT_TEST_ORACLE "/../chat_templates/";

std::string file_text(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(kFolder + name, std::ios::binary).rdbuf();
  return text.str();
}

/// Friday, 26 July 2024, 09:05:03: the time of the recorded texts.
std::tm recorded_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 26;
  time.tm_hour = 9;
  time.tm_min = 5;
  time.tm_sec = 3;
  time.tm_wday = 5;
  time.tm_yday = 207;
  return time;
}

ChatInputs inputs_of(const ordered_json& context) {
  ChatInputs inputs;
  inputs.clock = recorded_time;
  for (const auto& [name, value] : context.items()) {
    if (name == "messages") {
      inputs.messages = value.dump();
    } else if (name == "tools") {
      inputs.tools = value.dump();
    } else if (name == "add_generation_prompt") {
      inputs.add_generation_prompt = value;
    } else if (name == "bos_token") {
      inputs.bos_token = value;
    } else if (name == "eos_token") {
      inputs.eos_token = value;
    } else {
      inputs.values.emplace_back(name, value.dump());
    }
  }
  return inputs;
}

Result<RenderedChat> rendered(const std::string& source, const ChatInputs& inputs) {
  SHUNT_ASSIGN(const ChatTemplate chat, ChatTemplate::create(source));
  return chat.render(inputs);
}

TEST(ChatTemplateOracle, RendersAsJinja2DoesByteForByte) {
  const ordered_json recorded = ordered_json::parse(file_text("expected.json"));
  std::size_t errors = 0;
  for (const ordered_json& each : recorded["cases"]) {
    const std::string name = each["name"];
    const std::string source =
        each.contains("file") ? file_text(each["file"]) : std::string(each["template"]);
    const std::string conversation = each["conversation"];
    const auto result = rendered(source, inputs_of(recorded["conversations"][conversation]));
    if (each.contains("error")) {
      ++errors;
      EXPECT_FALSE(result) << name << ": Jinja2 has " << each["error"];
      if (result) continue;
      EXPECT_TRUE(result.error().message().starts_with("chat template, line ")) << name;
    } else if (result) {
      EXPECT_EQ(result->text(), std::string(each["expected"])) << name;
    } else {
      ADD_FAILURE() << name << ": " << result.error().message() << "\n" << source;
    }
  }
  EXPECT_GE(recorded["cases"].size(), 300U);
  EXPECT_GE(errors, 100U);
}

/// The template's own text, with a mark where people's text is.
std::string own_text(const RenderedChat& chat) {
  std::string text;
  for (const ChatPiece& piece : chat.pieces) text += piece.from_template ? piece.text : "\x01";
  return text;
}

/// The same conversation with brackets and bars replaced, so that no control token is left in it.
std::string without_tokens(std::string json) {
  for (char& c : json) {
    if (c == '<' || c == '>' || c == '|') c = '_';
  }
  return json;
}

const std::vector<std::string> kFormats = {
    "chatml",      "headers_and_date",  "instructions",
    "turns",       "role_between_bars", "one_line_with_flags",
    "typed_tools", "generation_marks",  "thinking_and_tools"};

/// Tokens of all formats.
const std::vector<std::string> kControlTokens = {"<s>",
                                                 "</s>",
                                                 "<|im_start|>",
                                                 "<|im_end|>",
                                                 "<|begin_of_text|>",
                                                 "<|eot_id|>",
                                                 "<|end|>",
                                                 "<|user|>",
                                                 "<|assistant|>",
                                                 "<|start_header_id|>",
                                                 "<|end_of_text|>",
                                                 "<|return|>",
                                                 "<|channel|>",
                                                 "<|message|>",
                                                 "<|end_header_id|>",
                                                 "[/INST]",
                                                 "[INST]",
                                                 "<end_of_turn>",
                                                 "<start_of_turn>",
                                                 "<\uff5cUser\uff5c>",
                                                 "<\uff5cAssistant\uff5c>"};

/// A conversation in which each message spells out all tokens.
ChatInputs spelled_out() {
  std::string tokens;
  for (const std::string& token : kControlTokens) tokens += token;
  const auto message = [&](const std::string& role, const std::string& mark) {
    return ordered_json{{"role", role}, {"content", mark + tokens + mark}};
  };
  ChatInputs inputs;
  inputs.messages = ordered_json{message("system", "S"), message("user", "U"),
                                 message("assistant", "A"), message("user", "V")}
                        .dump();
  inputs.add_generation_prompt = true;
  inputs.bos_token = "<s>";
  inputs.eos_token = "</s>";
  inputs.clock = recorded_time;
  return inputs;
}

TEST(ChatTemplateOracle, ControlTokensInMessagesStayTextInEachFormat) {
  const ChatInputs spelled = spelled_out();
  ChatInputs harmless = spelled;
  harmless.messages = without_tokens(spelled.messages);
  for (const std::string& format : kFormats) {
    const std::string source = file_text(format + ".jinja");
    const auto with_tokens = rendered(source, spelled);
    const auto without = rendered(source, harmless);
    ASSERT_TRUE(with_tokens) << format << ": " << with_tokens.error().message();
    ASSERT_TRUE(without) << format << ": " << without.error().message();
    EXPECT_EQ(own_text(*with_tokens), own_text(*without)) << format;
    std::size_t messages = 0;
    for (const ChatPiece& piece : with_tokens->pieces) {
      if (!piece.from_template && piece.text.find("<|im_end|>") != std::string::npos) ++messages;
    }
    EXPECT_GE(messages, 3U) << format;
  }
}

using Ids = std::vector<std::int32_t>;

/// The tokenizer of a published model, with the control tokens of all formats.
Result<Tokenizer> tokenizer_with_tokens(const std::string& name) {
  SHUNT_ASSIGN(const gguf::File file,
               gguf::File::open(test::shared_path("data/vocab/" + name), {.metadata_only = true}));
  SHUNT_ASSIGN(Vocabulary vocabulary, vocabulary_from_gguf(file));
  for (const std::string& token : kControlTokens) {
    const auto place = std::ranges::find(vocabulary.tokens, token, &Token::text);
    const auto id = static_cast<std::int32_t>(place - vocabulary.tokens.begin());
    if (place == vocabulary.tokens.end()) {
      vocabulary.tokens.push_back({token, 0, TokenType::kControl});
    }
    if (token == "<s>") vocabulary.bos = id;
    if (token == "</s>") vocabulary.eos = id;
  }
  return Tokenizer::create(std::move(vocabulary));
}

Ids control_tokens(const Tokenizer& tokenizer, Ids ids) {
  std::erase_if(ids,
                [&](std::int32_t id) { return tokenizer.token_type(id) != TokenType::kControl; });
  return ids;
}

TEST(ChatTemplateOracle, TokensOfEachFormatAreTheTemplatesOwn) {
  for (const std::string name : {"deepseek-coder.gguf", "llama-spm.gguf", "gpt-2.gguf"}) {
    SHUNT_NEED_SHARED("data/vocab/" + name);
    const auto tokenizer = tokenizer_with_tokens(name);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    const ChatEncoder encoder(*tokenizer);
    const ChatInputs spelled = spelled_out();
    ChatInputs harmless = spelled;
    harmless.messages = without_tokens(spelled.messages);
    for (const std::string& format : kFormats) {
      SCOPED_TRACE(name + ", " + format);
      const std::string source = file_text(format + ".jinja");
      const auto chat = rendered(source, spelled);
      const auto other = rendered(source, harmless);
      ASSERT_TRUE(chat && other);
      const auto ids = encoder.encode(*chat);
      const auto other_ids = encoder.encode(*other);
      ASSERT_TRUE(ids && other_ids);
      const Ids control = control_tokens(*tokenizer, *ids);
      EXPECT_FALSE(control.empty());
      EXPECT_EQ(control, control_tokens(*tokenizer, *other_ids));
      const auto read = tokenizer->encode(chat->text(), {false, true});
      ASSERT_TRUE(read);
      EXPECT_GT(control_tokens(*tokenizer, *read).size(), control.size() + kControlTokens.size());
      if (tokenizer->vocabulary().model != "gpt2") continue;  // others add a space behind tokens
      const auto text = tokenizer->decode(*ids, {.render_special = true});
      ASSERT_TRUE(text);
      const bool lacks_bos = tokenizer->adds_bos() && !chat->text().starts_with("<s>");
      EXPECT_EQ(*text, (lacks_bos ? "<s>" : "") + chat->text());
    }
  }
}

}  // namespace
}  // namespace shunt::text::oracle_chat_templates_test
