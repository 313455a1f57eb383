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
struct Picked {
  NodeId ids = kNoNode;
  int dim = 0;
  explicit operator bool() const { return ids != kNoNode; }
};

/// The slices of a weight that all its users read, `users` being those of the graph.
/// Nothing if one of them reads all of it, or by other numbers, or if the numbers may change
/// between two of them.
Picked picked_of(const Graph& graph, NodeId weight, const StorageUsers& users);

/// The most bytes of a weight that are read at the extents' maximum: each number another slice.
std::uint64_t picked_bytes(const Graph& graph, NodeId weight, const Picked& picked);

/// The share of a source's elements that is read where the numbers in `ids` pick its slices along a
/// dimension.
double picked_share(const Tensor& source, const Tensor& ids, int dim);

/// Which bytes of a weight a step needs. Allocates when it is made, and never again.
class PickedSlices {
 public:
  struct Run {
    std::size_t offset = 0;  ///< from the start of the weight
    std::size_t bytes = 0;
  };

  /// The graph must outlive it.
  PickedSlices(const Graph& graph, NodeId weight, const Picked& picked);

  /// Looks at the numbers as they are now, at the sizes of a run. Invalid, naming the value and
  /// where it is, for one that is not a slice's.
  Status find(const std::byte* ids, const ExtentValues& extents);
  /// The runs that were found, in order, each byte once.
  std::span<const Run> runs() const { return runs_; }

 private:
  Status collect(const std::byte* ids, const ExtentValues& extents);

  const Graph& graph_;
  NodeId weight_;
  Picked picked_;
  std::size_t stride_;
  std::vector<std::int64_t> numbers_;
  std::vector<Run> runs_;
};

}  // namespace shunt
