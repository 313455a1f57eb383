// Finds tokens that are spelled out in text, before it is tokenized: the leftmost, the longest of
// those. A trie, so that thousands of them cost no more than a few.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shunt/text.h"

namespace shunt::text {

class SpecialTokens {
 public:
  explicit SpecialTokens(const std::vector<Token>& tokens);

  struct Found {
    std::size_t begin = 0;
    std::size_t size = 0;
    std::int32_t id = 0;
  };
  /// The first one in `text` at or after `from`. User-defined tokens always, control and unknown
  /// ones if `parse_special`.
  std::optional<Found> find(std::string_view text, std::size_t from, bool parse_special) const;

 private:
  struct Node {
    std::int32_t id = -1;  ///< the token that ends here
    bool always = false;   ///< it is user-defined
  };
  static std::uint64_t edge(std::size_t node, char byte) {
    return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  std::optional<Found> find_at(std::string_view text, std::size_t begin, bool parse_special) const;

  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::size_t> edges_;
  std::array<bool, 256> first_bytes_{};
};

}  // namespace shunt::text
