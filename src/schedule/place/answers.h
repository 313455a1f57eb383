// The devices' answers for each node. A device that would compute it "if this source comes as that
// type" gets that type where the source is a weight that may be transcoded: see
// docs/internals/scheduler.md. So all other code sees only yes or no.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device_set.h"
#include "graph/per_node.h"
#include "graph/storage_users.h"
#include "shunt/plan.h"

namespace shunt {

/// Invalid for memory of a node that is not a leaf of the graph.
Status check_memory(const Graph& graph, std::span<const LeafMemory> memory);

class Answers {
 public:
  /// Calls Device::supports() for each device and computed node. `users`: those of the graph. The
  /// graph must outlive the answers. Memory in `options` must have passed check_memory().
  static Answers ask(const Graph& graph, std::span<Device* const> devices,
                     const PlaceOptions& options, const StorageUsers& users);

  DeviceIndices indices() const { return devices_.indices(); }
  /// Of a computed node: yes, or no with a reason. A yes may depend on weights: see same_type().
  const Support& of(NodeId id, DeviceIndex device) const { return on(device).answers[id]; }
  /// Makes a yes a no.
  void refuse(NodeId id, DeviceIndex device, Support answer) {
    devices_[device].answers[id] = std::move(answer);
  }
  /// The option that would turn a no into a yes; empty if there is none.
  std::string_view remedy(NodeId id, DeviceIndex device) const;
  /// The graph as a device would have it: the weights it asks for transcoded. Its answers are about
  /// that.
  const Graph& graph_on(DeviceIndex device) const;

  /// The conversion of a weight on a device, if it needs another type than the graph's; else null.
  const Conversion* conversion(NodeId leaf, DeviceIndex device) const;
  /// Whether a device that reads a leaf from where it is, on device `home`, finds the type that its
  /// answers are about. The CPU takes any.
  bool same_type(NodeId leaf, DeviceIndex device, DeviceIndex home) const;

 private:
  friend class Asker;
  struct OnDevice {
    PerNode<Support> answers;
    std::map<NodeId, std::string> remedies;    // by node
    std::map<NodeId, Conversion> conversions;  // by leaf
    std::unique_ptr<const Graph> graph;        // null: the original graph
  };
  const OnDevice& on(DeviceIndex device) const { return devices_[device]; }

  const Graph* graph_ = nullptr;
  PerDevice<OnDevice> devices_;
};

/// Weights that have another type on their device. Their decisions then state it. Only the CPU
/// reads them in their original type.
std::vector<Conversion> find_conversions(const Answers& answers, const Graph& graph,
                                         std::vector<Decision>& decisions);

}  // namespace shunt
