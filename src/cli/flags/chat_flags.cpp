#include "cli/flags/chat_flags.h"

#include <algorithm>
#include <array>

#include "cli/flags/text_files.h"
#include "cli/report/json.h"
#include "cli/terminal/output.h"
#include "shunt/chat_encoder.h"
#include "shunt/message.h"
#include "shunt/model_chat.h"
#include "shunt/text.h"
#include "shunt/vocabulary.h"

namespace shunt::cli {
namespace {

constexpr std::size_t kMostJsonBytes = std::size_t{1} << 26;
constexpr std::size_t kMostTemplateBytes = std::size_t{1} << 24;

/// Variables that other flags or the model set.
struct SetVariable {
  std::string_view name;
  std::string_view by;
};
constexpr std::string_view kByFile = "the model's file sets it";
constexpr std::array<SetVariable, 10> kSetVariables = {{
    {"messages", "--messages sets it"},
    {"tools", "--tools sets it"},
    {"add_generation_prompt", "the command sets it"},
    {"bos_token", kByFile},
    {"eos_token", kByFile},
    {"unk_token", kByFile},
    {"pad_token", kByFile},
    {"sep_token", kByFile},
    {"cls_token", kByFile},
    {"mask_token", kByFile},
}};

/// "KEY=JSON".
Result<std::pair<std::string, std::string>> parse_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid("expected KEY=JSON, such as enable_thinking=false, not \"{}\"", text);
  }
  const std::string key = text.substr(0, equals);
  const std::string json = text.substr(equals + 1);
  const auto* const set = std::ranges::find(kSetVariables, key, &SetVariable::name);
  if (set != kSetVariables.end()) return invalid("{} is no value to set: {}", key, set->by);
  if (Json::accept(json)) return std::pair(key, json);
  return invalid("\"{}\" is not JSON; a text is in quotes: {}='\"TEXT\"'", json, key);
}

std::string name_of(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

/// The text of a file that has a JSON array.
Result<std::string> read_array(const std::string& path, std::string_view content) {
  const bool is_input = path == kStandardStream;
  const std::string name = name_of(path);
  SHUNT_ASSIGN(std::string text,
               is_input ? read_standard_input(kMostJsonBytes, "waiting for JSON on standard input")
                        : read_whole_file(path, kMostJsonBytes));
  try {
    if (Json::parse(text).is_array()) return text;
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::kBadFile, "{}: invalid JSON at byte {}; expected an array of {}", name,
                error.byte, content);
  } catch (const Json::exception&) {
    return fail(ErrorCode::kBadFile, "{}: a number is too large; expected a JSON array of {}", name,
                content);
  }
  return fail(ErrorCode::kBadFile, "{}: expected a JSON array of {}", name, content);
}

/// Most templates write the content of each message. A call of tools may have none.
Status check_messages(const std::string& name, const std::string& text) {
  const Json messages = Json::parse(text);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (!message.is_object())
      return fail(ErrorCode::kBadFile, "{}: message {} is not a JSON object", name, i + 1);
    const bool has_content = message.contains("content") && !message["content"].is_null();
    if (has_content || message.contains("tool_calls")) continue;
    print_message(fmt::format("warning: {}: message {} has no content", name, i + 1));
  }
  return ok();
}

std::string message_json(std::string_view role, const std::string& content) {
  const Json message = {{"role", role}, {"content", text::sanitize_utf8(content).text}};
  return message.dump();
}

std::string messages_json(const std::optional<std::string>& system, const std::string& prompt) {
  const std::string before = system ? message_json("system", *system) + ", " : "";
  return "[" + before + message_json("user", prompt) + "]";
}

}  // namespace

void ChatFlags::declare(Arguments& arguments) {
  arguments.text("--system", "TEXT", "Put this system message before the prompt", system_);
  arguments.stream_input("--messages",
                         "Use the conversation of this file, a JSON array of messages with role "
                         "and content; -: standard input",
                         messages_);
  arguments.input("--tools", "Offer the tools of this file, a JSON array of descriptions", tools_);
  arguments.input("--chat-template",
                  "Use the chat template of this file, or the one of this name in the model's file "
                  "(default: the model's own)",
                  template_);
  arguments.each("--template-value", "KEY=JSON",
                 "Set a variable of the chat template, such as enable_thinking=false. Repeatable",
                 [this](const std::string& text) -> Status {
                   SHUNT_ASSIGN(auto value, parse_value(text));
                   values_.push_back(std::move(value));
                   return ok();
                 });
}

Status ChatFlags::check(bool has_chat) const {
  if (system_ && messages_) {
    return invalid("--system and --messages exclude each other; the file has all messages");
  }
  if (has_chat || messages_) return ok();
  const bool is_given = system_ || tools_ || template_ || !values_.empty();
  if (!is_given) return ok();
  return invalid(
      "--system, --tools, --chat-template and --template-value need --chat or --messages");
}

Result<ChatFlags::Source> ChatFlags::named_template(const gguf::File& file) const {
  SHUNT_ASSIGN(const auto templates, chat_templates_from_gguf(file));
  auto named = find_chat_template(templates, *template_);
  if (named) return Source{std::move(named->source), file.path()};
  auto text = read_whole_file(*template_, kMostTemplateBytes);
  if (text) return Source{std::move(*text), *template_};
  if (templates.empty()) return std::move(text.error());
  return fail(text.error().code(), "{}; in {} {}", text.error().message(), file.path(),
              named.error().message());
}

Result<ChatFlags::Source> ChatFlags::find_template(const gguf::File& file) const {
  if (template_) return named_template(file);
  SHUNT_ASSIGN(const auto templates, chat_templates_from_gguf(file));
  if (templates.empty()) {
    return fail(ErrorCode::kNotFound,
                "{}: the model has no chat template; use --chat-template FILE", file.path());
  }
  auto chosen = choose_chat_template(templates, tools_.has_value());
  if (!chosen) return std::move(chosen.error()).with_context(file.path());
  return Source{std::move(chosen->source), file.path()};
}

Result<text::ChatInputs> ChatFlags::inputs(const std::string& prompt,
                                           const text::ChatTemplate& chat) const {
  text::ChatInputs inputs;
  if (messages_) {
    SHUNT_ASSIGN(inputs.messages, read_array(*messages_, "messages"));
    SHUNT_TRY(check_messages(name_of(*messages_), inputs.messages));
  } else {
    inputs.messages = messages_json(system_, prompt);
  }
  if (tools_) {
    SHUNT_ASSIGN(inputs.tools, read_array(*tools_, "tools"));
    if (!chat.uses("tools")) print_message("warning: the chat template does not use tools");
  }
  inputs.values = values_;
  for (const auto& [key, value] : values_) {
    if (chat.uses(key)) continue;
    print_message(fmt::format("warning: the chat template does not use \"{}\"", key));
  }
  return inputs;
}

/// The result for another system message shows whether the template writes it.
void ChatFlags::warn_of_unwritten_system(const text::ChatTemplate& chat,
                                         text::ChatInputs conversation, const std::string& prompt,
                                         const std::string& rendered) const {
  conversation.messages = messages_json("x" + *system_ + "x", prompt);
  const auto other = chat.render(conversation);
  if (!other || other->text() != rendered) return;
  print_message("warning: the chat template does not write the text of --system");
}

Result<text::RenderedChat> ChatFlags::render(const gguf::File& file, const std::string& prompt,
                                             bool add_generation_prompt) const {
  SHUNT_ASSIGN(const Source source, find_template(file));
  const auto chat = text::ChatTemplate::create(source.text);
  if (!chat) return Error(chat.error()).with_context(source.origin);
  SHUNT_ASSIGN(text::ChatInputs conversation, inputs(prompt, *chat));
  conversation.add_generation_prompt = add_generation_prompt;
  SHUNT_ASSIGN(const text::Vocabulary vocabulary, vocabulary_from_gguf(file));
  text::name_special_tokens(vocabulary, conversation);
  auto rendered = chat->render(conversation);
  if (!rendered) return std::move(rendered.error()).with_context(source.origin);
  if (system_) warn_of_unwritten_system(*chat, std::move(conversation), prompt, rendered->text());
  return rendered;
}

}  // namespace shunt::cli
