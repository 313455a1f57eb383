// A number that tells models apart.
#pragma once

#include <cstdint>

#include "shunt/gguf.h"

namespace shunt {

/// A hash of a model's file: its architecture with all keys of it, its tokenizer, and name, type
/// and shape of each tensor. Of each tensor's data it covers the first, the middle and the last 256
/// bytes, so that a large file is not read whole. Byte order and division into parts do not change
/// it. The error of a file without an architecture.
Result<std::uint64_t> model_fingerprint(const gguf::File& file);

}  // namespace shunt
