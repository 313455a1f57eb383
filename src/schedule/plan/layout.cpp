#include "schedule/plan/layout.h"

#include <fmt/format.h>

#include <map>

#include "base/to_size.h"
#include "device/device_set.h"
#include "schedule/plan/node_bytes.h"

namespace shunt {

namespace {

class LayoutMaker {
 public:
  LayoutMaker(const Graph& graph, const Placement& placement, const Allocation& allocation)
      : graph_(graph), placement_(placement), allocation_(allocation) {}

  PlanLayout run(const SegmentedGraph& cut, std::span<const Address> leaves,
                 std::span<const CopyRoute> routes, std::span<const InputPool> inputs) {
    layout_.of_node.resize(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (leaves[id]) layout_.of_node[id] = {kNoBlock, leaves[id].buffer, leaves[id].offset};
    }
    for (const PlanPool& pool : allocation_.pools) add_shared(pool);
    for (const InputPool& pool : inputs) add_inputs(pool);
    add_staging(cut, routes);
    for (std::size_t i = 0; i < allocation_.pools.size(); ++i) {
      first_[i].own = layout_.blocks.size();
      add_group(allocation_.pools[i], allocation_.pools[i].own, "a step in flight", true);
    }
    place_nodes();
    for (const Slot& slot : allocation_.of_copy) layout_.of_copy.push_back(place_of(slot));
    for (const Slot& slot : allocation_.of_scratch) {
      layout_.of_scratch.push_back(slot ? place_of(slot) : PlanAddress());
    }
    return std::move(layout_);
  }

 private:
  /// Of a pool: its first blocks, and the one of its tensors without bytes.
  struct FirstBlocks {
    std::size_t shared = 0;
    std::size_t own = 0;
    std::size_t empty = kNoBlock;
  };

  static PlanBlock block_of(const PlanPool& pool, std::size_t bytes, std::string_view purpose) {
    return {.type = pool.type,
            .bytes = bytes,
            .wanted = fmt::format("{} bytes for {}", bytes, purpose),
            .device = pool.device,
            .refused_by = pool.device,
            .use = pool.staging ? &MemoryUse::staging : &MemoryUse::activations,
            .pinned = pool.staging};
  }

  std::size_t add(const PlanBlock& block) {
    layout_.blocks.push_back(block);
    return layout_.blocks.size() - 1;
  }

  void add_group(const PlanPool& pool, const RequestGroup& group, std::string_view purpose,
                 bool own) {
    for (const std::size_t bytes : group.layout.block_bytes) {
      PlanBlock block = block_of(pool, bytes, purpose);
      block.own = own;
      add(block);
    }
  }

  void add_shared(const PlanPool& pool) {
    const std::string_view purpose = pool.staging ? "host ends of copies" : "results";
    FirstBlocks& first = first_.emplace_back();
    if (pool.shared.only_empty() || pool.own.only_empty()) {
      first.empty = add(block_of(pool, 0, purpose));
    }
    first.shared = layout_.blocks.size();
    add_group(pool, pool.shared, purpose, false);
  }

  PlanBlock host_block(const Home& home, std::size_t bytes) const {
    const BufferType* const pinned = device_at(placement_.devices, home.device).staging_memory();
    return {.type = home.type,
            .bytes = bytes,
            .device = home.device,
            .refused_by = home.device,
            .pinned = home.type == pinned,
            .own = true};
  }

  void add_inputs(const InputPool& pool) {
    const std::size_t first = layout_.blocks.size();
    std::vector<std::size_t> sizes = pool.group.layout.block_bytes;
    if (sizes.empty()) sizes.push_back(0);
    for (const std::size_t bytes : sizes) {
      PlanBlock block = host_block(pool.home, bytes);
      block.wanted = fmt::format("{} bytes for inputs", bytes);
      block.use = &MemoryUse::inputs;
      block.inputs = true;
      add(block);
    }
    for (const InputPool::Input& input : pool.inputs) {
      const MemoryPlace& place = pool.group.layout.places[input.request];
      layout_.of_node[input.node] = {first + place.block, nullptr, place.offset + input.offset};
    }
  }

  /// If there is no room, the error names the destination of the largest copy: less work there
  /// needs less staging memory.
  void add_staging(const SegmentedGraph& cut, std::span<const CopyRoute> routes) {
    layout_.staging.resize(cut.copies.size());
    std::map<std::pair<const BufferType*, int>, std::size_t> blocks;
    for (std::size_t i = 0; i < cut.copies.size(); ++i) {
      if (routes[i].kind != RouteKind::kThroughHost) continue;
      const std::size_t bytes = bytes_of(graph_, cut.copies[i].node);
      const Home& home = routes[i].staging;
      const auto [known, first] =
          blocks.try_emplace({home.type, home.device}, layout_.blocks.size());
      if (first) add({});
      PlanBlock& block = layout_.blocks[known->second];
      if (first || bytes > block.bytes) {
        block = host_block(home, bytes);
        block.wanted = "staging";
        block.use = &MemoryUse::staging;
        block.refused_by = cut.copies[i].to;
      }
      layout_.staging[i].block = known->second;
    }
  }

  PlanAddress place_of(const Slot& slot) const {
    const PlanPool& pool = allocation_.pools[slot.pool];
    const FirstBlocks& first = first_[slot.pool];
    const MemoryLayout& layout = (slot.own ? pool.own : pool.shared).layout;
    if (layout.block_bytes.empty()) return {first.empty, nullptr, 0};
    const MemoryPlace& place = layout.places[slot.index];
    return {(slot.own ? first.own : first.shared) + place.block, nullptr,
            place.offset + slot.offset};
  }

  void place_nodes() {
    std::vector<PlanAddress>& places = layout_.of_node;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (allocation_.of_node[id]) {
        places[id] = place_of(allocation_.of_node[id]);
      } else if (node.storage != id && places[node.storage]) {
        places[id] = places[node.storage];
        places[id].offset += to_size(node.offset);
      }
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  const Allocation& allocation_;
  std::vector<FirstBlocks> first_;  // by pool
  PlanLayout layout_;
};

}  // namespace

PlanLayout make_layout(const Graph& graph, const Placement& placement, const SegmentedGraph& cut,
                       std::span<const Address> leaves, std::span<const CopyRoute> routes,
                       std::span<const InputPool> inputs, const Allocation& allocation) {
  return LayoutMaker(graph, placement, allocation).run(cut, leaves, routes, inputs);
}

}  // namespace shunt
