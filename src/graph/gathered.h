// Weights of which a step reads a part: the slices whose numbers another tensor holds, such as the
// experts in use, or rows of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/storage_users.h"
#include "shunt/graph.h"

namespace shunt {

/// The slices of a weight along `dim`, its last dimension, whose numbers are in `ids`.
struct Gathered {
  NodeId ids = kNoNode;
  int dim = 0;
  explicit operator bool() const { return ids != kNoNode; }
};

/// The slices of a weight that all its users read, `users` being those of the graph.
/// Nothing if one of them reads all of it, or by other numbers, or if the numbers may change
/// between two of them.
Gathered gathered_of(const Graph& graph, NodeId weight, const StorageUsers& users);

/// The most bytes of a weight that are read at the dynamic dimensions' maximum: each number another
/// slice.
std::uint64_t gathered_bytes(const Graph& graph, NodeId weight, const Gathered& gathered);

/// The share of a source's elements that is read where the numbers in `ids` pick its slices along a
/// dimension.
double gathered_share(const Tensor& source, const Tensor& ids, int dim);

/// Which bytes of a weight a step needs. Allocates when it is made, and never again.
class GatheredSlices {
 public:
  struct Run {
    std::size_t offset = 0;  ///< from the start of the weight
    std::size_t bytes = 0;
  };

  /// The graph must outlive it.
  GatheredSlices(const Graph& graph, NodeId weight, const Gathered& gathered);

  /// Looks at the numbers as they are now, at the sizes of a run. Invalid, naming the value and
  /// where it is, for one that is not a slice's.
  Status find(const std::byte* ids, const DynamicDimValues& dynamic_dims);
  /// The runs that were found, in order, each byte once.
  std::span<const Run> runs() const { return runs_; }

 private:
  Status collect(const std::byte* ids, const DynamicDimValues& dynamic_dims);

  const Graph& graph_;
  NodeId weight_;
  Gathered gathered_;
  std::size_t stride_;
  std::vector<std::int64_t> numbers_;
  std::vector<Run> runs_;
};

}  // namespace shunt
