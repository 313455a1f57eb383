// A graph, placed and compiled for some devices, with values for its leaves, for tests of many
// devices.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "graph/op.h"
#include "shunt/costs.h"
#include "shunt/plan.h"

namespace shunt::test {

struct GraphRunOptions {
  std::span<const NodeId> observe = {};
  int steps_in_flight = 1;
  /// Each node runs on the first device that can, whatever the rules of placement say.
  bool by_ability = false;
  const CostModel* costs = nullptr;  ///< null: by the rules alone
  bool weights_on_host = false;      ///< whatever the rules say
  std::int64_t stream_rows = PlaceOptions{}.stream_rows;
  Trace* trace = nullptr;
  /// The memory of a weight, asked of its device or not; if there is no answer (null), the device's
  /// own.
  std::function<BufferType*(Device&, const Graph&, NodeId)> weight_memory = {};
};

/// The memory that loading gives a weight on a device; null: plain.
BufferType* chosen_memory(Device& device, const Graph& graph, NodeId leaf, bool lossy = false);
/// The same, if that is a lossy form; else null.
BufferType* lossy_memory(Device& device, const Graph& graph, NodeId leaf);

class GraphRun {
 public:
  /// `leaves`: values of every weight, cache and input, by node id. Weights and caches get memory
  /// on the device that placement chooses for them.
  static Result<std::unique_ptr<GraphRun>> create(std::shared_ptr<const Graph> graph,
                                                  std::span<Device* const> devices,
                                                  const std::map<NodeId, RefTensor>& leaves,
                                                  const GraphRunOptions& options = {});
  /// Fills inputs again (with values of another size, where dynamic dimensions changed).
  Status set_inputs(const std::map<NodeId, RefTensor>& leaves);
  Plan& plan() { return *plan_; }
  /// An output's values at the sizes of `dynamic_dims`.
  Result<RefTensor> output(NodeId node, const DynamicDimValues& dynamic_dims) const;
  Result<RefTensor> output(NodeId node) const { return output(node, graph_->max_dynamic_dims()); }
  /// The address of a weight or cache.
  Address address(NodeId node) const;
  /// The current content of a weight or cache.
  Result<RefTensor> leaf(NodeId node) const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<LeafMemory> memory_;
  std::unique_ptr<Plan> plan_;
};

/// A placement where each node runs on the first device that can, and a cache is where it is
/// written.
Result<Placement> place_by_ability(const Graph& graph, std::span<Device* const> devices);

/// All that makes up a graph, as text: equal texts, equal graphs.
std::string dump(const Graph& graph);

}  // namespace shunt::test
