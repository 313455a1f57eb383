#include "backends/null/device.h"

#include "backends/null/stream.h"

namespace shunt::null {

#include "kernel_list.inc"

NullDevice::NullDevice() : table_(kKernelFiles) {}

DeviceInfo NullDevice::info() const {
  DeviceInfo info;
  info.name = name();
  info.description = "computes nothing; the skeleton of a backend";
  info.kind = DeviceKind::kNull;
  info.priority = -1;  // used only if it is named
  return info;
}

Result<std::unique_ptr<Stream>> NullDevice::open_stream() {
  return std::make_unique<NullStream>();
}

Result<std::unique_ptr<Program>> NullDevice::prepare(const SegmentView& segment) {
  return null::prepare(segment, table_, target_);
}

}  // namespace shunt::null
