// The memory of a plan as a list of blocks, before any of them is allocated.
#pragma once

#include <string>
#include <vector>

#include "shunt/plan.h"

namespace shunt {

/// One allocation of a plan, or of each step in flight.
struct PlanBlock {
  BufferType* type = nullptr;
  std::size_t bytes = 0;
  std::string wanted = {};                                ///< its purpose, for errors
  int device = 0;                                         ///< whose ledger counts it
  int refused_by = 0;                                     ///< the device that an error names
  std::size_t MemoryUse::*use = &MemoryUse::activations;  ///< the purpose on its ledger
  bool pinned = false;                                    ///< staging memory of that device
  bool own = false;     ///< each step in flight has one of its own
  bool inputs = false;  ///< 0 at first; the next step starts with a copy
};

inline constexpr std::size_t kNoBlock = ~std::size_t{0};

/// The start of a tensor's bytes: in a block, or in the buffer that holds a leaf.
struct PlanAddress {
  std::size_t block = kNoBlock;
  Buffer* leaf = nullptr;  ///< null: it is in the block
  std::size_t offset = 0;
  explicit operator bool() const { return block != kNoBlock || leaf != nullptr; }
};

/// By device: the bytes of all blocks.
std::vector<MemoryUse> memory_use(std::span<const PlanBlock> blocks,
                                  std::span<Device* const> devices, std::size_t steps_in_flight);

}  // namespace shunt
