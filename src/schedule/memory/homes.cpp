#include "schedule/memory/homes.h"

#include "device/device_set.h"
#include "graph/per_node.h"
#include "graph/storage_users.h"

namespace shunt {

namespace {

class HomeFinder {
 public:
  HomeFinder(const Graph& graph, const Placement& placement)
      : graph_(graph),
        decisions_(placement.decisions),
        devices_(placement.devices),
        users_(graph) {}

  std::vector<Home> find() const {
    std::vector<Home> homes(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_leaf()) {
        if (node.role == Role::kInput) {
          homes[id] = for_readers(id, {&input_memory(devices_), devices_.cpu()});
        }
      } else if (is_computed(node) && node.storage == id) {
        const int index = decisions_[id].device;
        const Home own = {&devices_[index]->memory(), index};
        homes[id] = index == devices_.cpu() ? for_readers(id, own) : own;
      }
    }
    return homes;
  }

 private:
  Home for_readers(NodeId id, const Home& otherwise) const {
    if (!otherwise.type->host_accessible()) return otherwise;
    for (const NodeId user : users_[id]) {
      const int reader = decisions_[user].device;
      if (reader == devices_.cpu() || devices_[reader]->can_read(*otherwise.type)) continue;
      BufferType* const end = host_end(*devices_[reader], graph_.node(id).result);
      if (end == nullptr || end->alignment() < otherwise.type->alignment()) continue;
      if (devices_.cpu_device().can_read(*end)) return {end, reader};
    }
    return otherwise;
  }

  const Graph& graph_;
  std::span<const Decision> decisions_;
  DeviceSet devices_;
  StorageUsers users_;
};

}  // namespace

std::vector<Home> find_homes(const Graph& graph, const Placement& placement) {
  return HomeFinder(graph, placement).find();
}

BufferType* host_end(Device& device, const Tensor& tensor) {
  for (BufferType* const type : {&device.memory(), device.staging_memory()}) {
    if (type == nullptr || !type->host_accessible()) continue;
    if (type->size_of(tensor) <= type->max_size()) return type;
  }
  return nullptr;
}

BufferType& input_memory(std::span<Device* const> devices) {
  if (devices.empty()) return host_memory();
  BufferType& memory = DeviceSpan<Device* const>(devices).of_cpu()->memory();
  return memory.host_accessible() ? memory : host_memory();
}

std::vector<const BufferType*> memory_types(const Graph& graph, const Placement& placement,
                                            std::span<const BufferType* const> leaf_types) {
  const DeviceSpan<Device* const> devices(placement.devices);
  std::vector<const BufferType*> types(graph.size(), nullptr);
  const std::vector<Home> homes = find_homes(graph, placement);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!leaf_types.empty() && leaf_types[id] != nullptr) {
      types[id] = leaf_types[id];
    } else if (homes[id].type != nullptr) {
      types[id] = homes[id].type;
    } else if (graph.node(id).is_leaf()) {
      types[id] = &devices[placement.decisions[id].device]->memory();
    }
  }
  return types;
}

}  // namespace shunt
