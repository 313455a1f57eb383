#include "base/high_bandwidth_nodes.h"

#include <hwloc/memattrs.h>

#include <algorithm>
#include <string_view>

#include "base/machine_topology.h"

namespace shunt {

namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using NodeSet = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

std::string_view subtype(hwloc_obj_t node) {
  return node->subtype == nullptr ? std::string_view() : node->subtype;
}

/// Of reading from the node's own processors; 0 if that is not known.
hwloc_uint64_t bandwidth(hwloc_topology_t topology, hwloc_obj_t node) {
  hwloc_location from = {};
  from.type = HWLOC_LOCATION_TYPE_CPUSET;
  from.location.cpuset = node->cpuset;
  hwloc_uint64_t value = 0;
  const int found =
      hwloc_memattr_get_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, node, &from, 0, &value);
  return found == 0 ? value : 0;
}

std::vector<hwloc_obj_t> high_bandwidth_nodes(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> all;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    all.push_back(node);
  }
  std::vector<hwloc_obj_t> found;
  std::ranges::copy_if(all, std::back_inserter(found), [](hwloc_obj_t node) {
    return subtype(node) == "HBM" || subtype(node) == "MCDRAM";
  });
  const bool named =
      std::ranges::any_of(all, [](hwloc_obj_t node) { return subtype(node) == "DRAM"; });
  if (named || !found.empty()) return found;
  // Memory of another subtype, such as that of a GPU, is not compared.
  std::erase_if(all, [&](hwloc_obj_t node) {
    return !subtype(node).empty() || bandwidth(topology, node) == 0;
  });
  if (all.size() < 2) return found;
  const auto of = [&](hwloc_obj_t node) { return bandwidth(topology, node); };
  const hwloc_uint64_t least = of(*std::ranges::min_element(all, {}, of));
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](hwloc_obj_t node) { return of(node) / 2 >= least; });
  return found;
}

class NodesOfTopology final : public HighBandwidthNodes,
                              public std::enable_shared_from_this<NodesOfTopology> {
 public:
  NodesOfTopology(MachineTopology topology, NodeSet nodes)
      : topology_(std::move(topology)), nodes_(std::move(nodes)) {}

  std::vector<int> numbers() const override {
    std::vector<int> numbers;
    for (int number = -1; (number = hwloc_bitmap_next(nodes_.get(), number)) >= 0;) {
      numbers.push_back(number);
    }
    return numbers;
  }

  std::shared_ptr<std::byte> allocate(std::size_t bytes) const override {
    // Without STRICT: the nodes are preferred.
    void* const data = hwloc_alloc_membind(topology_.get(), bytes, nodes_.get(), HWLOC_MEMBIND_BIND,
                                           HWLOC_MEMBIND_BYNODESET);
    if (data == nullptr) return nullptr;
    return {static_cast<std::byte*>(data), [self = shared_from_this(), bytes](std::byte* memory) {
              hwloc_free(self->topology_.get(), memory, bytes);
            }};
  }

 private:
  MachineTopology topology_;
  NodeSet nodes_;
};

}  // namespace

std::shared_ptr<const HighBandwidthNodes> HighBandwidthNodes::find(
    const MachineDescription& machine) {
  MachineTopology topology = load_topology(machine);
  if (topology == nullptr) return nullptr;
  NodeSet nodes(hwloc_bitmap_alloc());
  for (hwloc_obj* const node : high_bandwidth_nodes(topology.get())) {
    hwloc_bitmap_set(nodes.get(), node->os_index);
  }
  if (hwloc_bitmap_iszero(nodes.get()) != 0) return nullptr;
  return std::make_shared<NodesOfTopology>(std::move(topology), std::move(nodes));
}

}  // namespace shunt
