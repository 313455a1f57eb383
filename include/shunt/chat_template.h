/// \file
/// Chat templates: from the messages of a conversation to the text that a model was trained on.
/// The template is in the model's file, in the language Jinja. Include it to render a conversation
/// without a model.
///
/// \code
/// SHUNT_ASSIGN(const auto chat, text::ChatTemplate::create(source));
/// text::ChatInputs inputs;
/// inputs.messages = R"([{"role": "user", "content": "Hello"}])";
/// inputs.add_generation_prompt = true;
/// SHUNT_ASSIGN(const text::RenderedChat rendered, chat.render(inputs));
/// std::cout << rendered.text();
/// \endcode
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/error.h"

namespace shunt::text {

/// Bounds of one rendering. A template beyond them is an error.
struct ChatTemplateLimits {
  /// Nodes of the template that are evaluated; 128 bytes of text count as one.
  std::uint64_t steps = 4'000'000;
  std::size_t depth = 400;                         ///< nested calls, blocks and operands
  std::size_t value_bytes = std::size_t{1} << 25;  ///< of each value in between
  std::size_t result_bytes = std::size_t{1} << 26;
};

/// The conversation, and all else that a template can use. JSON is UTF-8.
struct ChatInputs {
  std::string messages = "[]";  ///< JSON: an array of objects with `role` and `content`
  std::string tools;            ///< JSON: an array of descriptions of functions; empty is none
  bool add_generation_prompt = false;  ///< end with the beginning of an answer
  /// Other variables by name, each with its JSON: {"enable_thinking", "false"}.
  std::vector<std::pair<std::string, std::string>> values;
  std::string bos_token;  ///< the text of BOS, which templates call `bos_token`
  std::string eos_token;
  /// Texts of other special tokens by the names that templates use: {"pad_token", "<pad>"}. They
  /// are the template's own text. See name_special_tokens() (chat_encoder.h).
  std::vector<std::pair<std::string, std::string>> tokens;
  /// The time for `strftime_now`; empty is the local time of the system.
  std::function<std::tm()> clock;
};

/// A part of a rendered conversation.
struct ChatPiece {
  std::string text;
  /// Whether the template wrote it. Control tokens are read in such pieces only: a message that
  /// spells one out stays text.
  bool from_template = true;
};

/// A rendered conversation.
struct RenderedChat {
  /// In order. Neighbours have different origins, and none is empty.
  std::vector<ChatPiece> pieces;

  /// All pieces together.
  std::string text() const;
};

/// Const after create; a copy is a pointer. May be used from many threads.
class ChatTemplate {
 public:
  /// Invalid argument, with line and column, for a mistake in the template.
  static Result<ChatTemplate> create(std::string_view source);

  /// Invalid argument, with line and column, where the template fails, refuses the conversation
  /// (`raise_exception`) or exceeds a limit; also for invalid JSON.
  Result<RenderedChat> render(const ChatInputs& inputs,
                              const ChatTemplateLimits& limits = {}) const;

  /// Whether the template reads a variable of this name, such as "tools".
  bool uses(std::string_view variable) const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace shunt::text
