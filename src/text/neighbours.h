// Which characters stand next to each other in tokens. Between two that never do, no token reaches
// across: a text may be cut there, and both sides become the same tokens as the whole.
#pragma once

#include <string_view>

#include "text/pair_table.h"
#include "text/utf8.h"

namespace shunt::text {

class Neighbours {
 public:
  /// `token` is valid UTF-8 and not empty.
  void add(std::string_view token) {
    char32_t before = utf8_code_point(token);
    for (token.remove_prefix(utf8_size(token)); !token.empty();
         token.remove_prefix(utf8_size(token))) {
      const char32_t character = utf8_code_point(token);
      pairs_.insert(before, character, {});
      before = character;
    }
  }
  bool may_cut(char32_t before, char32_t after) const {
    return pairs_.find(before, after) == nullptr;
  }

 private:
  PairTable pairs_;
};

}  // namespace shunt::text
