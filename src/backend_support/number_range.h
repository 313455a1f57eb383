// Finite numbers that a device's format does not have: making them the largest one, and counting
// the nodes that met such numbers.
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

/// How numbers are, beside those of a format.
enum class NumberRange : std::uint8_t {
  kInside,
  kSaturated,  ///< some were finite and beyond, and are now the largest one of their sign
  kBeyond,
};
/// `saturates`: whether finite numbers beyond `largest` become that one. Infinite ones, and what is
/// no number, stay what they are, and are beyond.
NumberRange range_of(std::span<float> values, float largest, bool saturates);

/// Finite numbers beyond `largest` become that one of their sign; all others stay. True if there
/// were some.
bool limit(std::span<float> values, float largest);
bool limit(std::span<double> values, float largest);

/// How often which node met numbers that the format does not have. From any thread.
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
