#include "schedule/plan/node_bytes.h"

#include <array>

#include "base/to_size.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

/// A dimension with more than one place: how many, and how far apart in bytes.
struct Steps {
  std::int64_t count = 1;
  std::int64_t stride = 0;

  std::int64_t span() const { return (count - 1) * stride; }
};

/// Whether the steps of some dimensions, by ascending stride, are those of one.
bool is_one(std::span<const Steps> dimensions) {
  for (std::size_t i = 1; i < dimensions.size(); ++i) {
    const Steps& inner = dimensions[i - 1];
    if (dimensions[i].stride != inner.count * inner.stride) return false;
  }
  return true;
}

std::size_t cost_of(const CopyShape& shape) {
  return bytes_of(shape) + (shape.rows - 1) * kRowCost;
}

}  // namespace

std::size_t bytes_of(const Graph& graph, NodeId node) {
  return bytes_of(graph.node(node).result);
}

std::size_t actual_bytes_of(const Graph& graph, NodeId node, const DynamicDimValues& dynamic_dims) {
  const Tensor& tensor = graph.node(node).result;
  const DTypeTrait& type = trait(tensor.dtype);
  const auto block = static_cast<std::int64_t>(type.block_bytes);
  std::int64_t bytes = block;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const std::int64_t size = actual_size(tensor.shape[i], dynamic_dims);
    if (size == 0) return 0;
    bytes += (i == 0 ? size / type.block_elements - 1 : size - 1) * tensor.strides[i];
  }
  return to_size(bytes);
}

CopyShape copy_shape(const Tensor& tensor, const DynamicDimValues& dynamic_dims) {
  const DTypeTrait& type = trait(tensor.dtype);
  std::array<Steps, kMaxDims> all;  // by ascending stride
  std::size_t used = 0;
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    const std::int64_t size = actual_size(tensor.shape[i], dynamic_dims);
    if (size == 0) return {};
    const Steps steps = {i == 0 ? size / type.block_elements : size, tensor.strides[i]};
    if (steps.count <= 1 || steps.stride <= 0) continue;
    std::size_t at = used++;
    for (; at > 0 && all[at - 1].stride > steps.stride; --at) all[at] = all[at - 1];
    all[at] = steps;
  }
  const auto dimensions = std::span<const Steps>(all).first(used);
  // A row takes the dimensions before a bound; those behind it, as one, are the rows.
  auto row = static_cast<std::int64_t>(type.block_bytes);
  CopyShape cheapest;
  for (std::size_t bound = 0;; ++bound) {
    const auto outer = dimensions.subspan(bound);
    std::int64_t rows = 1;
    for (const Steps& steps : outer) rows *= steps.count;
    const std::int64_t pitch = outer.empty() ? row : outer.front().stride;
    if (is_one(outer) && pitch >= row) {
      const CopyShape shape = {to_size(rows), to_size(row), to_size(pitch), to_size(pitch)};
      // Of equal ones the last has the fewest rows.
      if (cheapest.rows == 0 || cost_of(shape) <= cost_of(cheapest)) cheapest = shape;
    }
    if (outer.empty()) return cheapest;
    row += outer.front().span();
  }
}

}  // namespace shunt
