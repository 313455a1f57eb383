// How config.json describes Gemma 4.
#pragma once

#include "convert/config.h"
#include "convert/file_keys.h"

namespace shunt {

/// Heads and feed-forward parts whose sizes differ by layer, and the factors of rope.
Status add_gemma4(const Config& config, FileKeys& keys);

}  // namespace shunt
