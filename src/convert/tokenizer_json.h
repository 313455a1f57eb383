// tokenizer.json, of the library "tokenizers".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "convert/folder_vocabulary.h"

namespace shunt {

/// BadFile or Unsupported, naming `name` and the place. The embedding has `rows`.
Result<FolderVocabulary> parse_tokenizer_json(std::string_view text, const std::string& name,
                                              std::string_view architecture, std::int64_t rows);
/// The same for a file.
Result<FolderVocabulary> read_tokenizer_json(const std::string& path, std::string_view architecture,
                                             std::int64_t rows);
/// Adds the added tokens of a tokenizer.json to a vocabulary from another file.
Status add_added_tokens(const std::string& path, FolderVocabulary& vocabulary);

}  // namespace shunt
