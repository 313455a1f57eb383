// The memory that a choice of homes takes on each device, before anything is allocated, by the
// layouts of the later allocations.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/load/fit_bounds.h"
#include "engine/load/fit_leaves.h"
#include "shunt/ledger.h"

namespace shunt {

/// Bytes to be allocated on a device, in addition to those in use.
struct DeviceBytes {
  std::uint64_t weights = 0;
  std::uint64_t mapped = 0;  ///< used in place in the file, so not allocated
  std::uint64_t cache = 0;
  std::uint64_t host_cache = 0;  ///< blocks of the cache of devices
  std::uint64_t activations = 0;
  std::uint64_t inputs = 0;
  std::uint64_t staging = 0;
  std::uint64_t streamed = 0;  ///< of activations: the most weights that are sent there for one op
  std::uint64_t must_stream = 0;  ///< the same for ops that the user pinned there
  std::uint64_t pinned = 0;       ///< of inputs and staging: host memory, not the device's

  std::uint64_t allocated() const {
    return weights + cache + host_cache + activations + inputs + staging;
  }
  std::uint64_t own() const { return allocated() - pinned; }
};
void add_to(Ledger& ledger, const std::string& device, const DeviceBytes& takes);

/// Of the weights and caches, and of the plans of all steps, by device of the model. `homes`: by
/// leaf. OutOfMemory, with the device if it is one's, where no buffers can be as large as they must
/// be; `takes` then has the results up to there.
Status predict_fit(const ModelState& model, std::span<const std::shared_ptr<const StepGraph>> steps,
                   std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes,
                   const FitBounds& bounds, PerDevice<DeviceBytes>& takes);

}  // namespace shunt
