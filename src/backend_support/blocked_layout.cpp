#include "backend_support/blocked_layout.h"

#include <array>
#include <utility>

namespace shunt {

namespace {

/// Whether a tensor has the same bytes in the layout as another one.
bool same_blocks(const Tensor& view, const Tensor& owner, std::int64_t block_columns) {
  const Shape& a = view.shape;
  const Shape& b = owner.shape;
  if (a[1] != b[1]) return false;
  const bool fixed = a[2].is_fixed() && a[3].is_fixed();
  if (is_contiguous(view) && a[0] == b[0]) {
    return a == b || (fixed && b[2].is_fixed() && b[3].is_fixed() &&
                      a[2].max * a[3].max == b[2].max * b[3].max);
  }
  const std::int64_t columns = a[0].max;
  if (!fixed || !a[0].is_fixed() || !b[0].is_fixed() || b[2] != Dim(1) || b[3] != Dim(1) ||
      columns % block_columns != 0 || columns * a[2].max * a[3].max != b[0].max) {
    return false;
  }
  const std::array<std::int64_t, kMaxDims> strides = {owner.strides[0], owner.strides[1],
                                                      columns * owner.strides[0],
                                                      columns * a[2].max * owner.strides[0]};
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    if (a[i] != Dim(1) && view.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

SourcePlace place_in_blocks(const Node& view, const Node& owner, std::int64_t block_columns) {
  if (view.offset != 0 || view.result.dtype != owner.result.dtype) return SourcePlace::kOutside;
  Tensor tensor = view.result;
  if (same_blocks(tensor, owner.result, block_columns)) return SourcePlace::kInLayout;
  std::swap(tensor.shape[0], tensor.shape[1]);
  std::swap(tensor.strides[0], tensor.strides[1]);
  return same_blocks(tensor, owner.result, block_columns) ? SourcePlace::kTurned
                                                          : SourcePlace::kOutside;
}

}  // namespace shunt
