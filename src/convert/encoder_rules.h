// How config.json describes encoders.
#pragma once

#include "convert/config.h"
#include "convert/file_keys.h"

namespace shunt {

/// Tokens that see those after them, the number of their types, and how classifiers pool.
Status add_encoder(const Config& config, FileKeys& keys);
/// The context of models that do not use their first two positions.
Status add_positions(const Config& config, FileKeys& keys);

}  // namespace shunt
