// The flags of a conversation: its messages and tools, the chat template, and values for it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/arguments.h"
#include "shunt/chat_template.h"
#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt::cli {

class ChatFlags {
 public:
  void declare(Arguments& arguments);
  /// Invalid for flags that exclude each other. `has_chat`: whether there is a conversation without
  /// `--messages`; other flags need one.
  Status check(bool has_chat) const;
  /// The flag `--messages`, which excludes a prompt.
  const std::optional<std::string>& messages() const { return messages_; }

  /// A template, and the file that it is from.
  struct Source {
    std::string text;
    std::string origin;
  };
  /// The template that the flags and the model's file choose. NotFound, with the remedy, for a file
  /// without one.
  Result<Source> find_template(const gguf::File& file) const;
  /// The conversation as the template renders it: that of `--messages`, or a message with the
  /// prompt. Prints a line for tools, values and a system message that the template does not use,
  /// and for each message without content.
  Result<text::RenderedChat> render(const gguf::File& file, const std::string& prompt,
                                    bool add_generation_prompt) const;

 private:
  Result<Source> named_template(const gguf::File& file) const;
  Result<text::ChatInputs> inputs(const std::string& prompt, const text::ChatTemplate& chat) const;
  void warn_of_unwritten_system(const text::ChatTemplate& chat, text::ChatInputs conversation,
                                const std::string& prompt, const std::string& rendered) const;

  std::optional<std::string> system_;
  std::optional<std::string> messages_;
  std::optional<std::string> tools_;
  std::optional<std::string> template_;
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace shunt::cli
