// A tokenizer as a GGUF file's metadata.
#pragma once

#include "shunt/gguf.h"
#include "shunt/text.h"

namespace shunt {

/// Adds the keys tokenizer.ggml.*, from which vocabulary_from_gguf() reads the same vocabulary.
/// Scores are written for the kind "llama" only, merges for "gpt2".
void add_vocabulary(gguf::Writer& writer, const text::Vocabulary& vocabulary);

}  // namespace shunt
