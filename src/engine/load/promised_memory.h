// Memory that is not allocated yet. It is enough to place a graph and to predict its plan's memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/load/homes.h"
#include "engine/model_state.h"

namespace shunt {

/// A buffer without end for each kind of memory. Reading and writing it is Invalid.
class PromisedMemory {
 public:
  /// Weights and caches of a step in the memory that they have, or will have, at their homes. As
  /// long as this lives.
  std::vector<LeafMemory> promise(const ModelState& model, const StepGraph& step,
                                  const Homes& homes);

 private:
  Address in(const BufferType& type);
  std::map<const BufferType*, std::unique_ptr<Buffer>> buffers_;
};

}  // namespace shunt
