#include "engine/embed/prompt_keys.h"
#include "shunt/embed_prompts.h"
#include "shunt/message.h"

namespace shunt {

Result<std::string> EmbedPrompts::text(std::string_view name) const {
  if (const auto found = texts.find(name); found != texts.end()) return found->second;
  std::string known;
  for (const auto& [each, prompt] : texts) known += (known.empty() ? "" : ", ") + each;
  return invalid("the model has no prompt \"{}\"; {}", name,
                 known.empty() ? "it has none" : "it has " + known);
}

Result<EmbedPrompts> read_embed_prompts(const gguf::File& file) {
  EmbedPrompts prompts;
  for (const gguf::KeyValue& entry : file.metadata()) {
    if (!entry.key.starts_with(kPromptKeys)) continue;
    SHUNT_ASSIGN(prompts.texts[entry.key.substr(kPromptKeys.size())], file.get_string(entry.key));
  }
  SHUNT_ASSIGN(prompts.usual, file.get_string_or(kDefaultPromptKey, ""));
  if (prompts.usual.empty() || prompts.texts.contains(prompts.usual)) return prompts;
  return fail(ErrorCode::kBadFile, "{}: {} is \"{}\", but the file has no prompt of this name",
              file.path(), kDefaultPromptKey, prompts.usual);
}

}  // namespace shunt
