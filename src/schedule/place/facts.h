// The facts that placement starts from: which device can compute which node, the users of each
// memory, and the memory of leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device_set.h"
#include "graph/per_node.h"
#include "graph/storage_users.h"
#include "schedule/place/answers.h"
#include "shunt/plan.h"

namespace shunt {

/// By node id: the kind of memory of a leaf; null for all other nodes.
std::vector<const BufferType*> memory_of_leaves(const Graph& graph,
                                                std::span<const LeafMemory> memory);

/// Bytes of a node's weights that must be sent to a device because it can't read them where they
/// are. `memory`: by node id the memory of leaves. A leaf without memory will be placed where it is
/// used.
std::uint64_t bytes_to_send(const Graph& graph, NodeId node, Device& device,
                            std::span<const BufferType* const> memory);

class PlaceFacts {
 public:
  /// Calls Device::supports() once for each device and computed node. An accelerator that can't
  /// hold the weights that would have to be sent there refuses, for its memory. Invalid without a
  /// CPU at the end, and for memory, limits or exclusions of nodes or devices that do not exist.
  /// Unsupported if the CPU can't compute a node.
  static Result<PlaceFacts> create(const Graph& graph, std::span<Device* const> devices,
                                   const PlaceOptions& options);

  const Graph& graph() const { return *graph_; }
  const DeviceSet& devices() const { return devices_; }
  Device& device(DeviceIndex index) const { return *devices_[index]; }
  const DeviceInfo& info(DeviceIndex index) const { return infos_[index]; }
  const std::string& name(DeviceIndex index) const { return info(index).name; }
  DeviceIndex cpu() const { return devices_.cpu(); }
  IndexRange<DeviceIndex> accelerators() const { return devices_.accelerators(); }

  /// By device; of computed nodes only.
  const Answers& answers() const { return answers_; }
  const Support& answer(NodeId id, DeviceIndex index) const { return answers_.of(id, index); }
  bool can(DeviceIndex index, NodeId id) const { return static_cast<bool>(answer(id, index)); }
  /// Turns a yes into a no; a no keeps its own reason.
  void refuse(NodeId id, DeviceIndex index, Refusal refusal, std::string reason);
  /// Whether a device can compute a node and all that later writes into the same memory.
  bool can_own(DeviceIndex index, NodeId id) const;

  /// The weights that a node reads, through views or not.
  std::vector<NodeId> weights_of(NodeId id) const;
  /// Computed nodes that read or write this owner's memory; and those that write it.
  std::span<const NodeId> users(NodeId owner) const { return users_[owner]; }
  const StorageUsers& users() const { return users_; }
  const std::vector<NodeId>& writers(NodeId owner) const { return writers_[owner]; }

  /// Whether weights may be sent to accelerators for speed.
  bool streams() const { return streams_; }
  /// Bytes of weights that must be sent to a device for a node.
  std::uint64_t bytes_to_send(NodeId id, DeviceIndex index) const {
    return shunt::bytes_to_send(*graph_, id, device(index), memory_);
  }

  /// The memory that a leaf has already; null if it has none yet.
  const BufferType* memory_of(NodeId leaf) const { return memory_[leaf]; }
  /// The memory that holds an owner's bytes if it is on that device.
  const BufferType& memory_if_on(NodeId owner, DeviceIndex index) const;

 private:
  PlaceFacts() = default;
  /// Turns every yes that is excluded into a no.
  Status exclude(std::span<const Exclusion> exclusions);

  const Graph* graph_ = nullptr;
  DeviceSet devices_;
  PerDevice<DeviceInfo> infos_;
  Answers answers_;
  StorageUsers users_;
  PerNode<std::vector<NodeId>> writers_;  // by owner of memory
  PerNode<const BufferType*> memory_;     // by leaf
  bool streams_ = true;
};

}  // namespace shunt
