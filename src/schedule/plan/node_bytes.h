// The bytes that a copy of a node's result takes.
#pragma once

#include <cstddef>

#include "shunt/device.h"
#include "shunt/graph.h"

namespace shunt {

/// Bytes from the first to past the last element, at the dynamic dimensions' maximum.
std::size_t bytes_of(const Graph& graph, NodeId node);

/// The same at the actual sizes of a step.
std::size_t actual_bytes_of(const Graph& graph, NodeId node, const DynamicDimValues& dynamic_dims);

/// The overhead of a row of a copy, expressed in bytes: a call of a device, or an element of its
/// list of transfers. It is an estimate, not a measurement.
inline constexpr std::size_t kRowCost = 256;

/// The bytes of a tensor at the actual sizes of a step, as a copy between two places where it has
/// the same strides. Of all 2-D shapes that cover its elements, the cheapest one: its bytes, and
/// kRowCost for each row after the first. No rows if a size is 0.
CopyShape copy_shape(const Tensor& tensor, const DynamicDimValues& dynamic_dims);

/// The bytes that such a copy transfers.
inline std::size_t bytes_of(const CopyShape& shape) {
  return shape.rows * shape.bytes;
}

}  // namespace shunt
