// The work of a node, independent of the device.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

/// At the dynamic dimensions' maximum.
struct Work {
  double operations = 0;
  double bytes = 0;  ///< read and written
};

/// Of a computed node. Bytes that an op need not touch are not counted:
///  1. Where it writes into its first source, the content of that source.
///  2. Where the op says that numbers pick slices, those that can't be gathered: of n slices and m
///     numbers, at most m are.
///  3. Where a source of integers says which rows it picks otherwise, those of other sources that
///     it can't have gathered: an operation uses at most one element of a source.
Work work_of(const Graph& graph, NodeId node);

/// The type that decides how fast a computed node is: that of weights, or of a cache.
DType deciding_type(const Graph& graph, NodeId node);

/// The op whose measured costs are used for an op without costs of its own: "matmul" for
/// "matmul_id"; else the op itself.
std::string_view op_with_same_costs(std::string_view op);

/// Bytes of that number of elements of a type, as if they were contiguous.
double bytes_of(DType dtype, double elements);

}  // namespace shunt
