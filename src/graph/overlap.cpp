#include "graph/overlap.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace shunt {

namespace {

/// Elements (blocks) along a dimension.
std::int64_t steps(const Tensor& tensor, int dim) {
  return dim == 0 ? tensor.size(0) / trait(tensor.dtype).block_elements : tensor.size(dim);
}

/// Strides that are ever taken, the largest first, each once.
std::vector<std::int64_t> strides_taken(const Placed& a, const Placed& b) {
  std::vector<std::int64_t> strides;
  for (const Placed* each : {&a, &b}) {
    for (int dim = 0; dim < kMaxDims; ++dim) {
      if (steps(each->tensor, dim) > 1) strides.push_back(each->tensor.stride(dim));
    }
  }
  std::ranges::sort(strides, std::greater<>());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  return strides;
}

/// From where to where a tensor reaches along one of those strides.
struct Interval {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The tensor as a box in the grid that the strides span: an interval for each, and last one of
/// bytes. Empty if it is none: a stride is taken twice, or steps along one reach into the next.
std::vector<Interval> box_of(const Placed& placed, const std::vector<std::int64_t>& strides) {
  std::vector<Interval> box;
  std::int64_t rest = placed.offset;
  std::int64_t room = 0;  // the stride before; 0: there is none
  const auto add = [&](std::int64_t stride, std::int64_t count) {
    const Interval interval = {rest / stride, rest / stride + count - 1};
    rest %= stride;
    const bool fits = room == 0 || (room % stride == 0 && interval.last < room / stride);
    room = stride;
    box.push_back(interval);
    return fits;
  };
  for (const std::int64_t stride : strides) {
    if (stride <= 0) return {};
    std::int64_t count = 1;
    for (int dim = 0; dim < kMaxDims; ++dim) {
      if (steps(placed.tensor, dim) <= 1 || placed.tensor.stride(dim) != stride) continue;
      if (count > 1) return {};
      count = steps(placed.tensor, dim);
    }
    if (!add(stride, count)) return {};
  }
  if (!add(1, static_cast<std::int64_t>(trait(placed.tensor.dtype).block_bytes))) return {};
  return box;
}

bool meet(const Interval& a, const Interval& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

bool same_elements(const Placed& a, const Placed& b) {
  return a.offset == b.offset && a.tensor.dtype == b.tensor.dtype &&
         a.tensor.shape == b.tensor.shape && a.tensor.strides == b.tensor.strides;
}

bool overlap(const Placed& a, const Placed& b) {
  const std::int64_t a_span = byte_span(a.tensor);
  const std::int64_t b_span = byte_span(b.tensor);
  if (a_span == 0 || b_span == 0) return false;
  if (!meet({a.offset, a.offset + a_span - 1}, {b.offset, b.offset + b_span - 1})) return false;
  const std::vector<std::int64_t> strides = strides_taken(a, b);
  const std::vector<Interval> a_box = box_of(a, strides);
  const std::vector<Interval> b_box = box_of(b, strides);
  if (a_box.empty() || b_box.empty()) return true;
  return std::equal(a_box.begin(), a_box.end(), b_box.begin(), meet);
}

}  // namespace shunt
