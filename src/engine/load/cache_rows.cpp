#include "engine/load/cache_rows.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "model/definition.h"

namespace shunt {

/// The most blocks are begun where all sequences but one have a single token.
std::int64_t cache_rows_needed(std::int64_t context, std::int64_t sequences) {
  if (sequences == 1) return context;
  const std::int64_t short_ones = std::min(sequences, context) - 1;
  return (short_ones + ceil_div(context - short_ones, kCacheBlock)) * kCacheBlock;
}

}  // namespace shunt
