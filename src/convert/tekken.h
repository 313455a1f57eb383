// tekken.json, Mistral's vocabulary of ranked bytes.
#pragma once

#include <string>

#include "convert/folder_vocabulary.h"

namespace shunt {

/// BadFile or Unsupported, naming file and place.
Result<FolderVocabulary> read_tekken(const std::string& path);

}  // namespace shunt
