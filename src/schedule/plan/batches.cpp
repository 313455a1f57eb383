#include "schedule/plan/batches.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "device/device_set.h"

namespace shunt {

namespace {

class BatchFinder {
 public:
  BatchFinder(const Graph& graph, const Placement& placement,
              std::span<const BufferType* const> types, SegmentedGraph& cut)
      : graph_(graph), devices_(placement.devices), types_(types), cut_(cut) {}

  void run() {
    std::vector<std::size_t> order;  // old indices of copies in their new order
    for (std::size_t first = 0; first < cut_.copies.size();) {
      std::size_t end = first;
      while (end < cut_.copies.size() && same_segment(first, end)) ++end;
      add_segment(first, end, order);
      first = end;
    }
    reorder(order);
  }

 private:
  /// Where a copy starts and ends. Copies of different keys never meet.
  using Key = std::pair<const BufferType*, int>;

  bool same_segment(std::size_t a, std::size_t b) const {
    return cut_.copies[a].segment == cut_.copies[b].segment;
  }

  bool may_join(const Copy& copy) const {
    return graph_.node(copy.node).role == Role::kInput && !copy.gathered &&
           !devices_.is_cpu(copy.to) && types_[copy.node]->host_accessible() &&
           slot_bytes(copy) <= kMostBatched;
  }

  /// The same for all destinations of a tensor, so that two batches of the same tensors have the
  /// same offsets.
  std::size_t slot_bytes(const Copy& copy) const {
    const BufferType& from = *types_[copy.node];
    const Tensor& tensor = graph_.node(copy.node).result;
    std::size_t alignment = from.alignment();
    std::size_t bytes = from.size_of(tensor);
    for (Device* device : devices_) {
      alignment = std::max(alignment, device->memory().alignment());
      bytes = std::max(bytes, device->memory().size_of(tensor));
    }
    return (bytes + alignment - 1) / alignment * alignment;
  }

  /// Appends the copies of a segment, those of a batch where the first of them was.
  void add_segment(std::size_t first, std::size_t end, std::vector<std::size_t>& order) {
    std::map<Key, std::vector<std::size_t>> groups;
    for (std::size_t i = first; i < end; ++i) {
      const Copy& copy = cut_.copies[i];
      if (may_join(copy)) groups[key_of(copy)].push_back(i);
    }
    for (std::size_t i = first; i < end; ++i) {
      const auto group = groups.find(key_of(cut_.copies[i]));
      if (!may_join(cut_.copies[i])) {
        order.push_back(i);
      } else if (i == group->second.front()) {
        add_group(group->first, group->second, order);
      }
    }
  }

  Key key_of(const Copy& copy) const { return {types_[copy.node], copy.to}; }

  void add_group(const Key& key, std::vector<std::size_t> group, std::vector<std::size_t>& order) {
    std::ranges::sort(group, {}, [&](std::size_t i) {
      return std::tuple(slot_bytes(cut_.copies[i]), cut_.copies[i].node, i);
    });
    CopyBatch batch;
    for (const std::size_t i : group) {
      batch.copies.push_back(order.size());
      batch.offsets.push_back(batch.bytes);
      batch.bytes += slot_bytes(cut_.copies[i]);
      order.push_back(i);
    }
    const std::size_t most =
        std::min(key.first->max_size(), devices_[key.second]->memory().max_size());
    if (group.size() < 2 || batch.bytes > most) return;
    const auto node = [&](std::size_t k) { return cut_.copies[group[k]].node; };
    for (std::size_t k = 0; k < group.size(); ++k) {
      cut_.copies[group[k]].batch = cut_.batches.size();
      if (on_host_.contains(node(k))) batch.lays_out = false;
    }
    for (std::size_t k = 0; k < group.size() && batch.lays_out; ++k) {
      on_host_[node(k)] = {cut_.batches.size(), batch.offsets[k]};
    }
    cut_.batches.push_back(std::move(batch));
  }

  /// Whether two copies that follow each other are adjacent on both sides.
  bool are_adjacent(const Copy& before, const Copy& copy) const {
    if (copy.batch == kNoBatch || copy.batch != before.batch) return false;
    const auto a = on_host_.find(before.node);
    const auto b = on_host_.find(copy.node);
    return a != on_host_.end() && b != on_host_.end() && a->second.batch == b->second.batch &&
           a->second.offset + slot_bytes(before) == b->second.offset;
  }

  void reorder(std::span<const std::size_t> order) {
    std::vector<Copy> copies;
    std::vector<std::size_t> moved_to(order.size());
    for (const std::size_t old : order) {
      moved_to[old] = copies.size();
      copies.push_back(cut_.copies[old]);
    }
    cut_.copies = std::move(copies);
    for (auto& of_segment : cut_.uses) {
      for (SegmentedGraph::Use& use : of_segment) use.copy = moved_to[use.copy];
    }
    for (Segment& segment : cut_.segments) segment.transfers.clear();
    for (std::size_t i = 0; i < cut_.copies.size(); ++i) {
      const Copy& copy = cut_.copies[i];
      const bool merged = i > 0 && are_adjacent(cut_.copies[i - 1], copy);
      if (copy.segment == cut_.segments.size()) continue;  // of results: no segment's
      cut_.segments[copy.segment].transfers.push_back({copy.node, copy.to, copy.bytes, merged});
    }
  }

  const Graph& graph_;
  DeviceSet devices_;
  std::span<const BufferType* const> types_;
  SegmentedGraph& cut_;
  struct HostPlace {
    std::size_t batch = kNoBatch;
    std::size_t offset = 0;
  };
  std::map<NodeId, HostPlace> on_host_;  // of inputs of batches that lay out theirs
};

}  // namespace

void find_batches(const Graph& graph, const Placement& placement,
                  std::span<const BufferType* const> types, SegmentedGraph& cut) {
  BatchFinder(graph, placement, types, cut).run();
}

}  // namespace shunt
