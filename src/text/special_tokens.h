// Finds tokens that are spelled out in text, before it is tokenized: the leftmost, the longest of
// those. A trie, so that thousands of them cost no more than a few.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/text.h"
#include "text/byte_trie.h"

namespace shunt::text {

class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  struct Found {
    std::size_t begin = 0;
    std::size_t size = 0;  ///< with the white space that the token takes
    std::int32_t id = 0;
    std::size_t text_begin = 0;  ///< the token's own text, without that white space
    std::size_t text_end = 0;
  };
  /// The first one in `text` at or after `from`. User-defined tokens always, control and unknown
  /// ones if `parse_special`.
  std::optional<Found> find(std::string_view text, std::size_t from, bool parse_special) const {
    return find(text, from, parse_special, from);
  }
  /// The same for a token that may take white space from `free` on, which is not above `from`.
  /// Control and unknown tokens end at `own_end` or before; one that does goes before a longer
  /// user-defined one that does not.
  std::optional<Found> find(std::string_view text, std::size_t from, bool parse_special,
                            std::size_t free, std::size_t own_end = std::string_view::npos) const;

 private:
  std::optional<Found> find_at(std::string_view text, std::size_t begin, bool parse_special,
                               std::size_t own_end) const;
  void take_white_space(std::string_view text, std::size_t free, Found& found) const;
  const Token& token(std::int32_t id) const { return tokens_[static_cast<std::size_t>(id)]; }

  const std::vector<Token>& tokens_;  ///< outlive this
  std::deque<std::string> texts_;     ///< of tokens that text spells with spaces for U+2581
  ByteTrie trie_;
  std::array<bool, 256> first_bytes_{};
};

}  // namespace shunt::text
