/// \file
/// Prompts that an embedding model's file has for its texts, such as "query: ". `shunt convert`
/// takes them from a folder of sentence-transformers.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model.gguf"));
/// SHUNT_ASSIGN(const EmbedPrompts prompts, read_embed_prompts(file));
/// SHUNT_ASSIGN(const std::string prompt, prompts.text("query"));
/// SHUNT_ASSIGN(const auto embedder, Embedder::create(model, {.prompt = prompt}));
/// \endcode
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt {

struct EmbedPrompts {
  std::map<std::string, std::string, std::less<>> texts = {};  ///< by name
  std::string usual = {};  ///< the name of the one for texts without a choice; empty: none

  /// The prompt with a name. Invalid, listing those known, for another name.
  Result<std::string> text(std::string_view name) const;
};

/// The keys tokenizer.shunt.prompt.NAME and tokenizer.shunt.default_prompt. BadFile for values that
/// are no texts, or a default without a prompt.
Result<EmbedPrompts> read_embed_prompts(const gguf::File& file);

}  // namespace shunt
