// Which kind of memory each tensor of a plan is allocated in.
#pragma once

#include <span>
#include <vector>

#include "shunt/plan.h"

namespace shunt {

/// The memory type of a tensor, and the device whose ledger counts it.
struct Home {
  BufferType* type = nullptr;  ///< null: the plan allocates nothing for it
  int device = 0;              ///< index into Placement::devices
};

/// By node id, for inputs and computed tensors that own memory. A tensor that the host fills or the
/// CPU computes, and that another device reads by a copy, is in memory that this device copies
/// from fastest (host_end()); the first such reader counts. All other tensors are in the memory of
/// the device that computes them, and inputs in that of the CPU.
std::vector<Home> find_homes(const Graph& graph, const Placement& placement);

/// The memory for the host's end of a copy of `tensor` to or from a device. It is the device's own
/// memory if the host can access it, so that there is nothing to copy; else its staging (pinned)
/// memory. Null if it has neither, or if its largest buffer is smaller than the tensor.
BufferType* host_end(Device& device, const Tensor& tensor);

/// Memory of the CPU, the last device, for inputs and staging that are in the memory of no other
/// device; host_memory() if the host can't access the CPU's.
BufferType& input_memory(std::span<Device* const> devices);

/// By node id, the memory type of each tensor that owns memory: `leaf_types` of leaves where it is
/// not null, else that of find_homes(), and for other weights and caches that of their device.
std::vector<const BufferType*> memory_types(const Graph& graph, const Placement& placement,
                                            std::span<const BufferType* const> leaf_types = {});

}  // namespace shunt
