// tokenizer.model: a vocabulary of SentencePiece, in protocol buffers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "convert/folder_vocabulary.h"

namespace shunt {

/// BadFile, naming `name` and the byte, for another content; Unsupported for a model of words or
/// characters.
Result<FolderVocabulary> parse_sentencepiece(std::span<const std::byte> bytes,
                                             const std::string& name);

}  // namespace shunt
