/// \file
/// Tokenizers in the metadata of GGUF files.
///
/// \code
/// SHUNT_ASSIGN(const gguf::File file, gguf::File::open("model.gguf", {.metadata_only = true}));
/// SHUNT_ASSIGN(text::Vocabulary vocabulary, vocabulary_from_gguf(file));
/// SHUNT_ASSIGN(const auto tokenizer, text::Tokenizer::create(std::move(vocabulary)));
/// \endcode
#pragma once

#include "shunt/gguf.h"
#include "shunt/text.h"

namespace shunt {

/// The content of the keys tokenizer.ggml.*, of any kind of tokenizer; text::Tokenizer::create
/// judges it. NotFound without a tokenizer; BadFile for keys of the wrong type, arrays that don't
/// match and ids out of range. Errors name the file and the key.
Result<text::Vocabulary> vocabulary_from_gguf(const gguf::File& file);

/// Adds the keys tokenizer.ggml.*, from which vocabulary_from_gguf() reads the same vocabulary.
/// Scores are written for the kinds "llama" and "t5" only, merges for "gpt2" and "gemma4".
void add_vocabulary(gguf::Writer& writer, const text::Vocabulary& vocabulary);

}  // namespace shunt
