#include "engine/load/pinned_ranges.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/aligned_bytes.h"
#include "shunt/device.h"
#include "shunt/ledger.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Bytes = std::span<const std::byte>;

/// In order; those that share a page are one.
std::vector<Bytes> merged(std::vector<Bytes> ranges) {
  std::ranges::sort(ranges, std::less<>(), [](Bytes range) { return range.data(); });
  const auto page_of = [](const std::byte* byte) {
    return reinterpret_cast<std::uintptr_t>(byte) / page_size();
  };
  std::vector<Bytes> result;
  for (const Bytes range : ranges) {
    if (range.empty()) continue;
    if (!result.empty() && page_of(range.data()) <= page_of(&result.back().back())) {
      const std::byte* const end = std::max(&result.back().back(), &range.back()) + 1;
      result.back() = {result.back().data(), end};
    } else {
      result.push_back(range);
    }
  }
  return result;
}

/// The ranges that are pinned for a device.
class DevicePins {
 public:
  /// Ranges that `before` has are not pinned again.
  DevicePins(Device& device, std::span<const Bytes> ranges, const PinnedRanges& before)
      : device_(device) {
    for (const Bytes range : ranges) {
      const auto known = before.find({&device, range.data(), range.size()});
      bytes_ += range.size();
      if (known != before.end()) {
        pinned_.insert(*known);
      } else {
        fresh_.push_back(range);
        fresh_bytes_ += range.size();
      }
    }
  }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t fresh_bytes() const { return fresh_bytes_; }

  /// All ranges, or none. OutOfMemory if the new ones are more than `most` bytes.
  Result<PinnedRanges> pin(std::uint64_t most) && {
    if (fresh_bytes_ > most) {
      // A device that can't pin returns Unsupported.
      SHUNT_ASSIGN(const auto probe, device_.pin_host(fresh_.front().first(1)));
      return fail(ErrorCode::kOutOfMemory, "at most {} may be pinned, half of the available memory",
                  size_text(most));
    }
    for (const Bytes range : fresh_) {
      SHUNT_ASSIGN(auto handle, device_.pin_host(range));
      pinned_.insert_or_assign({&device_, range.data(), range.size()}, std::move(handle));
    }
    return std::move(pinned_);
  }

 private:
  Device& device_;
  PinnedRanges pinned_;
  std::vector<Bytes> fresh_;
  std::uint64_t bytes_ = 0;
  std::uint64_t fresh_bytes_ = 0;
};

}  // namespace

PinnedRanges pin_ranges(const RangesByDevice& ranges, std::span<Device* const> devices,
                        const PinnedRanges& before, std::optional<std::uint64_t> available,
                        std::string_view content, std::vector<std::string>& notes) {
  PinnedRanges result;
  std::uint64_t most = available ? *available / 2 : std::numeric_limits<std::uint64_t>::max();
  for (Device* const device : devices) {
    const auto found = ranges.find(device);
    if (found == ranges.end()) continue;
    DevicePins pins(*device, merged(found->second), before);
    const std::uint64_t bytes = pins.bytes();
    const std::uint64_t fresh_bytes = pins.fresh_bytes();
    auto pinned = std::move(pins).pin(most);
    if (pinned) {
      most -= fresh_bytes;
      result.merge(*pinned);
      if (fresh_bytes == 0) continue;  // noted before
      notes.push_back(fmt::format(
          "{}: {} of {} in host memory are pinned, because steps copy them to the device",
          device->name(), size_text(bytes), content));
    } else if (pinned.error().code() != ErrorCode::kUnsupported) {
      notes.push_back(fmt::format(
          "{}: {} of {} in host memory are not pinned, so copies of them take longer: {}",
          device->name(), size_text(bytes), content, to_text(pinned.error())));
    }
  }
  return result;
}

}  // namespace shunt
