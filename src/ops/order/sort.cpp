#include "ops/order/sort.h"

#include <cmath>

#include "ops/common/loops.h"

namespace shunt {

namespace {

/// Whether a number is placed before another one, regardless of their indices.
bool precedes(double a, double b, SortOrder order) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return order == SortOrder::kAscending ? a < b : a > b;
}

}  // namespace

std::string_view to_string(SortOrder order) {
  return order == SortOrder::kAscending ? "ascending" : "descending";
}

/// The place of an element is the number of those before it.
void reference_order(const RefTensor& x, SortOrder order, RefTensor& result) {
  for_each_row(x.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
    for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
      const double each = x.at(i, i1, i2, i3);
      std::int64_t place = 0;
      for (std::int64_t j = 0; j < x.sizes[0]; ++j) {
        const double other = x.at(j, i1, i2, i3);
        if (precedes(other, each, order) || (j < i && !precedes(each, other, order))) ++place;
      }
      if (place < result.sizes[0]) result.at(place, i1, i2, i3) = static_cast<double>(i);
    }
  });
}

}  // namespace shunt
