#include "schedule/plan/inputs.h"

#include <algorithm>

#include "graph/per_node.h"
#include "schedule/plan/plan_errors.h"

namespace shunt {

namespace {

class InputLayout {
 public:
  InputLayout(const Graph& graph, const Placement& placement, const SegmentedGraph& cut)
      : graph_(graph),
        placement_(placement),
        cut_(cut),
        homes_(find_homes(graph, placement)),
        placed_(graph, false) {}

  Result<std::vector<InputPool>> run() {
    for (const CopyBatch& batch : cut_.batches) add_batch(batch);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).role != Role::kInput || placed_[id]) continue;
      add(id, request(id, homes_[id].type->size_of(graph_.node(id).result)), 0);
    }
    for (InputPool& pool : pools_) {
      const BufferType& type = *pool.home.type;
      auto layout = plan_memory(pool.group.requests, type.alignment(), type.max_size());
      if (!layout) {
        return in_device(std::move(layout.error()).with_context("inputs"), placement_.devices,
                         pool.home.device);
      }
      pool.group.layout = std::move(*layout);
    }
    return std::move(pools_);
  }

 private:
  bool same_home(NodeId a, NodeId b) const {
    return homes_[a].type == homes_[b].type && homes_[a].device == homes_[b].device;
  }

  InputPool& pool_of(NodeId id) {
    const auto same = std::ranges::find_if(pools_, [&](const InputPool& pool) {
      return pool.home.type == homes_[id].type && pool.home.device == homes_[id].device;
    });
    return same != pools_.end() ? *same : pools_.emplace_back(InputPool{.home = homes_[id]});
  }

  /// Its index in the pool of this input.
  std::size_t request(NodeId id, std::size_t bytes) {
    auto& requests = pool_of(id).group.requests;
    requests.push_back({bytes, 0, 0});
    return requests.size() - 1;
  }

  void add(NodeId id, std::size_t request, std::size_t offset) {
    pool_of(id).inputs.push_back({id, request, offset});
    placed_[id] = true;
  }

  void add_batch(const CopyBatch& batch) {
    const auto node = [&](std::size_t k) { return cut_.copies[batch.copies[k]].node; };
    if (!batch.lays_out) return;
    for (std::size_t k = 0; k < batch.copies.size(); ++k) {
      if (!same_home(node(k), node(0))) return;
    }
    const std::size_t all = request(node(0), batch.bytes);
    for (std::size_t k = 0; k < batch.copies.size(); ++k) add(node(k), all, batch.offsets[k]);
  }

  const Graph& graph_;
  const Placement& placement_;
  const SegmentedGraph& cut_;
  std::vector<Home> homes_;  // by node id
  PerNode<bool> placed_;     // in memory
  std::vector<InputPool> pools_;
};

}  // namespace

Result<std::vector<InputPool>> lay_out_inputs(const Graph& graph, const Placement& placement,
                                              const SegmentedGraph& cut) {
  return InputLayout(graph, placement, cut).run();
}

}  // namespace shunt
