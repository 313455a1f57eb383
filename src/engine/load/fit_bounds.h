// Upper bounds of the use of devices. They are lowered until the result fits.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device_set.h"

namespace shunt {

/// By device of the model.
struct FitBounds {
  PerDevice<bool> used;                    ///< no plan is made for the others
  PerDevice<std::uint64_t> room;           ///< bytes of weights and caches
  PerDevice<std::uint64_t> most_streamed;  ///< bytes of weights that are sent there for one op
  bool overlap = false;                    ///< plans are made for steps_in_flight(); else for one
  std::int64_t lone_tokens = 0;            ///< FitRequest::lone_tokens
  std::uint64_t host_cache = 0;            ///< bytes of host memory for blocks of the cache

  /// Of values by device of the model, those of devices that are used.
  template <class Each>
  std::vector<Each> of_used(const PerDevice<Each>& all) const {
    std::vector<Each> some;
    for (const DeviceIndex d : all.indices()) {
      if (used[d]) some.push_back(all[d]);
    }
    return some;
  }
};

}  // namespace shunt
