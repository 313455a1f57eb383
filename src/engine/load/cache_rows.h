// The rows of the KV cache that sequences need.
#pragma once

#include <cstdint>

namespace shunt {

/// Rows that a cache must have, so that `context` tokens fit however sequences divide them: each
/// has blocks of kCacheBlock rows.
std::int64_t cache_rows_needed(std::int64_t context, std::int64_t sequences);

}  // namespace shunt
