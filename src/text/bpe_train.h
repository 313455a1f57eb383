// Learns the vocabulary of a byte-level BPE tokenizer from a text. Sennrich et al., "Neural Machine
// Translation of Rare Words with Subword Units" (2016), on bytes as in GPT-2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shunt/error.h"
#include "shunt/text.h"

namespace shunt::text {

/// A word of a text, and how often it stands there.
struct WordCount {
  std::string bytes;
  std::uint64_t count = 0;
};
/// Two neighbours that become one, by their bytes.
using LearnedMerge = std::pair<std::string, std::string>;

/// Merges the pair of neighbours that is the most frequent one, again and again: until `tokens`
/// different tokens longer than a byte have come of it, or until no pair occurs twice. Of equally
/// frequent pairs the one whose left side, then whose right side comes first in the order of bytes
/// is taken; "aaa" has the pair "a a" twice. The same words give the same merges in whatever order
/// they come. Time O(n log n) in the number of symbols that merges touch.
std::vector<LearnedMerge> learn_merges(std::span<const WordCount> words, std::size_t tokens);

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
