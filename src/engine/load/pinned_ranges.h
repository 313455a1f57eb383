// Host memory that devices pin (Device::pin_host()), so that copies from it and to it need no copy
// in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/device_set.h"

namespace shunt {

/// Handles of Device::pin_host(), by device and range of host memory.
using PinnedRanges =
    std::map<std::tuple<const Device*, const std::byte*, std::size_t>, std::shared_ptr<const void>>;
using RangesByDevice = std::map<Device*, std::vector<std::span<const std::byte>>>;

/// Lets each device pin its ranges, if it can: all of them, or none. Ranges that share a page are
/// one. Those that `before` has are kept, and are not pinned again. `available`: bytes of host
/// memory that are left. At most half of them are pinned. None: there is no limit. `content`
/// ("weights") names the ranges in notes: which were pinned, and which were not, with the reason. A
/// device that can't pin at all gets no note.
PinnedRanges pin_ranges(const RangesByDevice& ranges, std::span<Device* const> devices,
                        const PinnedRanges& before, std::optional<std::uint64_t> available,
                        std::string_view content, std::vector<std::string>& notes);

}  // namespace shunt
