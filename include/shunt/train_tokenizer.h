/// \file
/// Training a tokenizer: the vocabulary of a byte-level BPE tokenizer is learned from a text.
/// Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units" (2016), on bytes
/// as in GPT-2.
///
/// \code
/// SHUNT_ASSIGN(const text::Vocabulary vocabulary,
///              text::train_bpe(stories, {.vocabulary = 1024, .special = {"<|end|>"}}));
/// gguf::Writer writer;
/// add_vocabulary(writer, vocabulary);  // shunt/vocabulary.h
/// SHUNT_TRY(writer.write("tokenizer.gguf", {}));
/// \endcode
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"
#include "shunt/text.h"

namespace shunt::text {

/// The names that BpeTrainOptions::pre may have, one for each pre-tokenizer.
std::vector<std::string_view> pretokenizer_names();

struct BpeTrainOptions {
  std::size_t vocabulary = 0;  ///< tokens in all: special ones, 256 bytes, results of merges
  std::string pre = "gpt-2";   ///< how text is cut into words that merges don't cross
  std::vector<std::string> special =
      {};  ///< control tokens, cut out of the text before anything else
};

/// Invalid for a special token that is empty, stands there twice or is not valid UTF-8, and for
/// fewer tokens than these and 256 bytes; Unsupported for an unknown `pre`.
Status check_bpe_train_options(const BpeTrainOptions& options);

/// A vocabulary of the kind "gpt2": the special tokens, from id 0 on, then the 256 bytes in their
/// order, then the results of merges. The first special token begins and ends a sequence, and is
/// put in front of one. There are fewer tokens than asked for if the text has not enough pairs that
/// occur twice. Every text can be encoded. Errors as above, and Invalid for a text without words;
/// invalid UTF-8 is read as by sanitize_utf8().
Result<Vocabulary> train_bpe(std::string_view text, const BpeTrainOptions& options);

}  // namespace shunt::text
