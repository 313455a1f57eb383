// SentencePiece's normaliser: rules of characters, a space in front, no spaces at the ends and one
// where several are, U+2581 for spaces.
#pragma once

#include <string>
#include <string_view>

#include "text/charsmap.h"

namespace shunt::text {

struct UnigramNormalizer {
  Charsmap charsmap;
  bool add_space_prefix = true;
  bool remove_extra_whitespaces = true;

  /// `text` is valid UTF-8, and so is the result.
  std::string normalise(std::string_view text) const;
};

}  // namespace shunt::text
