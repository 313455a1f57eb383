/// \file
/// How the vectors of a text's tokens become one embedding.
#pragma once

#include <cstdint>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// How the vectors of a text's tokens become one.
enum class EmbeddingPooling : std::uint8_t {
  kNone,   ///< they stay as they are
  kMean,   ///< the mean
  kFirst,  ///< that of the first token (CLS)
  kLast,   ///< that of the last token
};

/// "none", "mean", "cls", "last".
std::string_view to_string(EmbeddingPooling pooling);
/// Invalid for another name, listing those known.
Result<EmbeddingPooling> pooling_from_name(std::string_view name);

}  // namespace shunt
