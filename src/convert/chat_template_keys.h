// The chat templates of a folder as keys of a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "shunt/gguf.h"

namespace shunt {

/// Adds tokenizer.chat_template, and tokenizer.chat_template.NAME of those with other names.
/// BadFile, naming file and member, for one that is no text.
Status add_chat_templates(const std::string& folder, std::vector<gguf::KeyValue>& keys);

}  // namespace shunt
