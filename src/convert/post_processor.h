// The tokens that a tokenizer.json adds around a text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "convert/folder_vocabulary.h"

namespace shunt {

/// Reads "post_processor" for a vocabulary whose tokens are there. BadFile or Unsupported, naming
/// `path` and the place.
Status read_post_processor(const nlohmann::json& tokenizer, const std::string& path,
                           FolderVocabulary& vocabulary);

}  // namespace shunt
