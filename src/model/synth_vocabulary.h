// A made-up vocabulary of the kind "llama" (SentencePiece) for synthetic models.
#pragma once

#include <cstdint>

#include "shunt/gguf.h"

namespace shunt {

/// Three tokens without text, 256 bytes, and one for the space, which no bytes can stand for.
inline constexpr std::int64_t kSmallestVocabulary = 3 + 256 + 1;

/// The keys tokenizer.ggml.* of a vocabulary of `size` tokens, at least kSmallestVocabulary: <unk>,
/// <s>, </s>, the bytes, single characters, and pieces made of two earlier ones each, with falling
/// scores, so that encoding reaches them. Every text comes back from its tokens. It does not depend
/// on a seed.
void add_synth_vocabulary(gguf::Writer& writer, std::int64_t size);

}  // namespace shunt
