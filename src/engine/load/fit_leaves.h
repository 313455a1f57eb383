// The leaves to be fitted: the weights and caches of a step, their form on each device, and the
// units that stay together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/load/fit_request.h"
#include "engine/load/homes.h"
#include "engine/model_state.h"

namespace shunt {

/// A leaf on a device where it is, or could be.
struct LeafOnDevice {
  Tensor tensor = {};
  std::optional<TranscodedWeight> transcoded = {};  ///< a weight that has another type there
  std::uint64_t bytes = 0;                          ///< that it takes
  bool can = false;                                 ///< the device computes all ops that use it
  bool too_large = false;                           ///< no buffer of the device could hold it
};

/// A weight or cache of the graph.
struct FitLeaf {
  NodeId id = 0;
  const gguf::TensorInfo* info = nullptr;  ///< null for a cache
  std::size_t cache = 0;                   ///< number of a cache
  DeviceIndex wanted = 0;                  ///< where placement would have it
  bool for_speed = false;                  ///< because that is faster, not because it may
  bool fixed = false;             ///< the user pinned it there, or it is loaded there and stays
  DeviceIndex there = kNoDevice;  ///< the device it is on already
  PerDevice<LeafOnDevice> by_device = {};

  bool is_cache() const { return info == nullptr; }
  const LeafOnDevice& on(DeviceIndex device) const { return by_device[device]; }
};

/// Leaves that go together: those of a layer, or one that is of none.
struct FitUnit {
  std::int64_t layer = -1;
  std::vector<std::size_t> leaves;
};

/// By node id. `wanted`: the step placed without regard to memory. `endless`: no leaf is too large
/// for a buffer, and weights are as if nothing had been loaded.
std::vector<FitLeaf> find_leaves(const ModelState& model, const FitRequest& request,
                                 const StepGraph& step, const Placement& wanted, bool endless);

/// In the order of the graph. A cache is of the layer whose weights come before it.
std::vector<FitUnit> find_units(const StepGraph& step, std::span<const FitLeaf> leaves);

/// `homes`: the device of each leaf.
Homes homes_of(std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes);
/// Weights that have another type there than in the file.
Transcoded transcoded_at(std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes);

}  // namespace shunt
