// How config.json says that rotary positions are made.
#pragma once

#include "convert/config.h"
#include "convert/file_keys.h"

namespace shunt {

/// Base and scaling of rope, in all layers or in those that see all tokens. Unsupported for an
/// unknown kind of scaling.
Status add_rope(const Config& config, FileKeys& keys);
/// The base in layers with windows.
Status add_window_rope(const Config& config, FileKeys& keys);
/// The elements of a head that rope turns.
Result<std::int64_t> turned_elements(const Config& config);
/// The elements of a head.
Result<std::int64_t> head_elements(const Config& config);

}  // namespace shunt
