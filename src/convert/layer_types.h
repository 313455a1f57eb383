// The kinds of layers that config.json lists.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "convert/config.h"
#include "convert/file_keys.h"

namespace shunt {

/// A text for each layer; none: config.json has no list.
inline Result<std::vector<std::string>> layer_types(const Config& config, const FileKeys& keys) {
  const auto layers =
      static_cast<std::size_t>(std::max<std::int64_t>(keys.count_of("block_count"), 0));
  return config.texts("layer_types|layers_block_type", layers);
}

}  // namespace shunt
