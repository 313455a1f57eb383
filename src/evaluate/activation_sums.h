// Statistics of the activations that a graph's weights are multiplied with: sums of squares, by
// column of each matrix.
#pragma once

#include <map>
#include <vector>

#include "shunt/importance_matrix.h"
#include "shunt/plan.h"

namespace shunt {

/// Belongs to one thread at a time. The graph must outlive it.
class ActivationSums {
 public:
  /// Finds every matmul and matmul_id of a weight.
  explicit ActivationSums(const Graph& graph);

  /// Nodes to observe while a plan of the graph runs; in their order.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// Adds the data of one of them. `dynamic_dims` are those of the run. Nodes of one run come in
  /// order. Unsupported, naming a weight and the column, if it meets a value that is not finite.
  Status add(const Observed& observed, const DynamicDimValues& dynamic_dims);
  /// The sums, by weight. Weights whose activations are inputs of the graph, or stored
  /// in a cache, are left out, as nothing computes these.
  std::map<NodeId, ColumnSums> sums() const;

 private:
  /// An operand x, and the weights of one shape that it is multiplied with.
  struct Operand {
    std::vector<NodeId> weights;
    std::int64_t columns = 0;
    std::int64_t matrices2 = 1;  ///< dimensions 2 and 3 of the weights
    std::int64_t matrices3 = 1;
    NodeId x = 0;
    NodeId x_from = 0;     ///< the computed node that last wrote x's memory
    NodeId ids = kNoNode;  ///< of a matmul_id
    NodeId ids_from = kNoNode;
    ColumnSums sums;

    /// The node after which the data of x and ids is complete.
    NodeId last() const { return ids == kNoNode ? x_from : std::max(x_from, ids_from); }
  };

  void find_operand(NodeId node);
  NodeId writer_of(NodeId value, NodeId before) const;
  const std::byte* bytes_of(NodeId value, NodeId from, const Observed& observed) const;
  Status add_all(Operand& operand, const std::byte* x, const Sizes& sizes) const;
  Status add_gathered(Operand& operand, const std::byte* x, const Sizes& sizes,
                      const std::byte* ids, const Sizes& id_sizes) const;
  Status add_column(Operand& operand, const std::byte* column, std::int64_t matrix) const;

  const Graph& graph_;
  std::vector<Operand> operands_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, std::vector<std::byte>> held_;  // observed data that a later node needs, too
};

}  // namespace shunt
