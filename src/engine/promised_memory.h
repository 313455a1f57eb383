// Memory that is not there yet: enough to place a graph, and to tell what its plan will take.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// A buffer without end for each device, of the type of its memory. Reading and writing it is
/// Invalid.
class PromisedMemory {
 public:
  explicit PromisedMemory(std::span<Device* const> devices);
  Address on(int device) const { return {buffers_[static_cast<std::size_t>(device)].get(), 0}; }

 private:
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace shunt
