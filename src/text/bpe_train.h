// Learns the merges of a byte-level BPE tokenizer from the words of a text. Sennrich et al.,
// "Neural Machine Translation of Rare Words with Subword Units" (2016), on bytes as in GPT-2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::text {

/// A word of a text, and how often it stands there.
struct WordCount {
  std::string bytes;
  std::uint64_t count = 0;
};
/// Two neighbours that become one, by their bytes.
using LearnedMerge = std::pair<std::string, std::string>;

/// Merges the most frequent pair of neighbours repeatedly, until there are `tokens` different
/// tokens longer than a byte, or until no pair occurs twice. Of equally frequent pairs the one
/// whose left side, then whose right side comes first in the order of bytes is taken; "aaa" has the
/// pair "a a" twice. The same words give the same merges in any order. Time O(n log n) in the
/// number of symbols that merges touch.
std::vector<LearnedMerge> learn_merges(std::span<const WordCount> words, std::size_t tokens);

}  // namespace shunt::text
