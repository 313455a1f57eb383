// The device's memory: the host's, at whole pages. What leaves a segment lies there plain, so that
// who else reads host memory reads it where it lies; what stays in one, in the machine's layout.
#pragma once

#include "shunt/device.h"

namespace shunt::zdnn {

class ZdnnMemory final : public BufferType {
 public:
  std::string_view name() const override { return "zdnn"; }
  std::size_t alignment() const override { return 4096; }
  bool host_accessible() const override { return true; }
  std::span<const Layout> layouts() const override;
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
};

}  // namespace shunt::zdnn
