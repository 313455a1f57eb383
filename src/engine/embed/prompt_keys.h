// The keys of prompts for embeddings, for the reader and the writer.
#pragma once

#include <string_view>

namespace shunt {

inline constexpr std::string_view kPromptKeys = "tokenizer.shunt.prompt.";  ///< then the name
inline constexpr std::string_view kDefaultPromptKey = "tokenizer.shunt.default_prompt";

}  // namespace shunt
