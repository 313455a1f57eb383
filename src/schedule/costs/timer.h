// Timing a device by itself: its nodes and its copies, without a plan around them.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "base/clock.h"
#include "shunt/device.h"

namespace shunt {

/// Plain memory that short measurements use one after the other: the first touch of its pages takes
/// longer than they do. The largest buffer of each kind of memory is kept.
class SpareMemory {
 public:
  /// Allocates `bytes` bytes now, unless that many are kept.
  Status reserve(BufferType& type, std::size_t bytes);
  /// A buffer of at least `bytes` bytes. A new one holds zeros.
  Result<std::unique_ptr<Buffer>> take(BufferType& type, std::size_t bytes);
  void give_back(std::unique_ptr<Buffer> buffer);

 private:
  std::map<const BufferType*, std::unique_ptr<Buffer>> spare_;
};

/// How often something is run to time it.
struct RepeatLimits {
  int runs = 3;        ///< at least, after one that is not timed
  double seconds = 0;  ///< that the runs take together, about
  /// On the clock: after that one run that counts is enough.
  double deadline = std::numeric_limits<double>::infinity();
  std::function<double()> now = steady_seconds;
};

/// Seconds that a device takes for all nodes of a graph, as one segment with everything in its own
/// memory, weights in the form that it prefers: the median of several runs. The device's own
/// refusal or error if it can't.
Result<double> time_graph(Device& device, const Graph& graph, const RepeatLimits& limits,
                          SpareMemory& spare);

/// The same of one copy between the host's memory (pinned, if the device has such) and the
/// device's.
Result<double> time_copy(Device& device, std::size_t bytes, bool to_device,
                         const RepeatLimits& limits);

}  // namespace shunt
