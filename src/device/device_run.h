// Some nodes on one device, without a plan around them: to time them, or to look at their results.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// A buffer that begins with `start` and holds `rest` in every byte behind it.
Result<std::unique_ptr<Buffer>> filled_buffer(BufferType& type, std::size_t bytes, std::byte rest,
                                              std::span<const std::byte> start = {});

/// The kinds of memory, null where there is no address: SegmentView::memory.
std::vector<const BufferType*> types_of(std::span<const Address> addresses);

/// Computed nodes as one segment, each result in memory. Belongs to one thread at a time; the
/// device, the graph and the buffers must outlive it.
class DeviceRun {
 public:
  /// `addresses` by node id: of the nodes and of their sources. The device's own refusal or error
  /// if it can't.
  static Result<DeviceRun> create(Device& device, const Graph& graph, std::span<const NodeId> nodes,
                                  std::span<const Address> addresses);
  /// Runs them, and waits; no work is in flight afterwards, also after an error.
  Status run(const DynamicDimValues& dynamic_dims, const std::atomic<bool>* cancel = nullptr);

 private:
  DeviceRun() = default;
  // Members below use those above.
  std::unique_ptr<Program> program_;
  std::unique_ptr<Buffer> scratch_;
  std::unique_ptr<Binding> binding_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Event> done_;
};

}  // namespace shunt
