// The tokenizer of a folder as keys of a GGUF file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/config.h"
#include "shunt/gguf.h"

namespace shunt {

/// The keys tokenizer.*, of the tokenizer and its settings in a folder; none, with a note, for a
/// folder without one. NotFound, BadFile or Unsupported, each naming file and place. `size` is the
/// number of rows of the embedding.
Result<std::vector<gguf::KeyValue>> tokenizer_keys(const std::string& folder, const Config& config,
                                                   std::string_view architecture, std::int64_t size,
                                                   std::vector<std::string>& notes);

}  // namespace shunt
