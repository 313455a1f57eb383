// Which of a device's forms a weight gets (Device::weight_forms()).
#pragma once

#include <string>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// Whether all nodes that use a leaf take it in that memory; else the first refusal, with the node.
/// No if it has no users, or if the memory has a layout other than plain and there is a view of the
/// leaf: others may read that.
Support taken_by_users(const Device& device, const Graph& graph, NodeId leaf,
                       const BufferType& memory);

/// A form that some user of the weight refuses.
struct DroppedForm {
  const BufferType* memory = nullptr;
  std::string reason;  ///< with the weight, the memory and the node
};

struct WeightChoice {
  BufferType* memory = nullptr;      ///< null: plain
  bool lossy = false;                ///< of the form
  std::vector<DroppedForm> dropped;  ///< cheaper forms
};

/// The cheapest form that all users of the weight take. Internal if the device offers memory that
/// it can't read itself.
Result<WeightChoice> choose_weight_form(Device& device, const Graph& graph, NodeId leaf,
                                        bool allow_lossy);

}  // namespace shunt
