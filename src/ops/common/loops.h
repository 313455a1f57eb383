// The loops of plain references.
#pragma once

#include "graph/op.h"

namespace shunt {

/// Calls f(i1, i2, i3) for each row.
template <class F>
void for_each_row(const Sizes& sizes, F f) {
  for (std::int64_t i3 = 0; i3 < sizes[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < sizes[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < sizes[1]; ++i1) f(i1, i2, i3);
    }
  }
}

/// Calls f({i0, i1, i2, i3}) for each element.
template <class F>
void for_each_element(const Sizes& sizes, F f) {
  for_each_row(sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
    for (std::int64_t i0 = 0; i0 < sizes[0]; ++i0) f(Sizes{i0, i1, i2, i3});
  });
}

inline double at(const RefTensor& tensor, const Sizes& i) {
  return tensor.at(i[0], i[1], i[2], i[3]);
}
inline double& at(RefTensor& tensor, const Sizes& i) {
  return tensor.at(i[0], i[1], i[2], i[3]);
}

}  // namespace shunt
