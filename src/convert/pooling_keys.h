// How the vectors of a text's tokens become one, as a key of a file.
#pragma once

#include <cstdint>
#include <string_view>

#include "shunt/pooling.h"

namespace shunt {

inline constexpr std::string_view kPoolingKey = "pooling_type";
/// Of older files.
inline constexpr std::string_view kClassifierPoolingKey = "classifier.pooling_type";

/// The number of a kind in the file format.
constexpr std::int64_t pooling_number(EmbeddingPooling pooling) {
  switch (pooling) {
    case EmbeddingPooling::kNone:
      return 0;
    case EmbeddingPooling::kMean:
      return 1;
    case EmbeddingPooling::kFirst:
      return 2;
    case EmbeddingPooling::kLast:
      return 3;
  }
  return 0;
}

}  // namespace shunt
