#include "backends/cann/broadcast.h"

namespace shunt::cann {

Aligned align(std::vector<View> whole, View part) {
  for (std::size_t d = part.rank(); d-- > 0;) {
    const std::int64_t size = part.size(d);
    if (size == 1 || size == whole.front().size(d)) continue;
    for (View& each : whole) each = each.split(d, size);
    part = part.with_dim(d + 1);
  }
  return {std::move(whole), std::move(part)};
}

}  // namespace shunt::cann
