// An entry of a list of merges: two parts with a space between.
#pragma once

#include <string_view>

#include "shunt/message.h"

namespace shunt::text {

struct MergeParts {
  std::string_view left, right;
};

/// Invalid argument, with the number of the merge, for anything else.
inline Result<MergeParts> split_merge(std::string_view merge, std::size_t rank) {
  const std::size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos) {
    return invalid("merge {} is \"{}\" and not two parts with a space between", rank, merge);
  }
  return MergeParts{merge.substr(0, space), merge.substr(space + 1)};
}

}  // namespace shunt::text
