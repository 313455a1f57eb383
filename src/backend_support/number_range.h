// Finite numbers beyond the range of a device's format: saturation, and counters of the nodes that
// had such numbers.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// How numbers compare with the range of a format.
enum class NumberRange : std::uint8_t {
  kInside,
  kSaturated,  ///< some were finite and beyond, and are now the largest one of their sign
  kBeyond,
};
/// `saturates`: whether finite numbers beyond `largest` become that one. Infinities and NaNs stay
/// as they are, and are beyond.
NumberRange range_of(std::span<float> values, float largest, bool saturates);

/// Finite numbers beyond `largest` become that one of their sign; all others stay. True if there
/// were some.
bool limit(std::span<float> values, float largest);
bool limit(std::span<double> values, float largest);

/// Counts, by node, how often numbers were beyond the format. Thread-safe.
class RangeCounts {
 public:
  /// `format`: the name of the format, for messages.
  explicit RangeCounts(std::string format) : format_(std::move(format)) {}
  /// `saturated`: they became the largest one. Else the node was computed without the device.
  void count(const std::string& node, bool saturated);
  std::vector<DeviceWarning> warnings() const;

 private:
  const std::string format_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::uint64_t> counts_;
};

}  // namespace shunt
