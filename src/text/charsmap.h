// The compiled rules of a SentencePiece normaliser: which characters become which text. Four bytes
// have the size of a trie in bytes; the trie and the texts, each with a zero behind it, follow. The
// trie is a "double array" as github.com/s-yata/darts-clone builds it; all is little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shunt/error.h"

namespace shunt::text {

class Charsmap {
 public:
  static constexpr std::size_t kMostBytes = 256;

  /// No rules.
  Charsmap() = default;
  /// Invalid argument, with the place, if a walk of the trie could go in a circle or take more than
  /// kMostBytes steps, or finds a text that is not there or longer than that.
  static Result<Charsmap> parse(std::string_view bytes);

  struct Replacement {
    std::string_view text;
    std::size_t consumed = 0;  ///< bytes that it stands for; 0 if no rule applies
  };
  /// The rule for most bytes at the start of `text`.
  Replacement find(std::string_view text) const;

 private:
  Status check() const;
  Status check_value(std::uint32_t node) const;
  /// The node that `label` leads to; kNoNode if none.
  std::uint32_t child(std::uint32_t node, std::uint32_t label) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace shunt::text
