/// \file
/// Chat templates in the metadata of GGUF files. Include it to hold a conversation with a model.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model.gguf", {.metadata_only = true}));
/// SHUNT_ASSIGN(const auto templates, chat_templates_from_gguf(file));
/// SHUNT_ASSIGN(const NamedChatTemplate chosen, choose_chat_template(templates));
/// SHUNT_ASSIGN(const auto chat, text::ChatTemplate::create(chosen.source));
/// \endcode
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/chat_template.h"
#include "shunt/gguf.h"

namespace shunt {

/// The name of the template under the key tokenizer.chat_template.
inline constexpr std::string_view kDefaultChatTemplate = "default";
/// The name of a template for conversations with tools.
inline constexpr std::string_view kToolChatTemplate = "tool_use";

/// A chat template of a file.
struct NamedChatTemplate {
  std::string name;    ///< "default", or NAME of the key tokenizer.chat_template.NAME
  std::string source;  ///< in the language Jinja; see text::ChatTemplate::create()
};

/// All chat templates of a file, the default one first; none if it has none. BadFile, with file and
/// key, for a value that is no text, a name that is there twice, or a name in the list
/// tokenizer.chat_templates that has no template.
Result<std::vector<NamedChatTemplate>> chat_templates_from_gguf(const gguf::File& file);

/// The template for a conversation, as the transformers package chooses it: "tool_use" if there are
/// tools and the file has such a template, else the default one. NotFound if there is none.
Result<NamedChatTemplate> choose_chat_template(std::span<const NamedChatTemplate> templates,
                                               bool has_tools = false);
/// The template of this name. NotFound, with the names that there are.
Result<NamedChatTemplate> find_chat_template(std::span<const NamedChatTemplate> templates,
                                             std::string_view name);

}  // namespace shunt
