// The device's memory. A real backend allocates with its vendor's library here; this one has none
// to give.
#pragma once

#include "shunt/device.h"

namespace shunt::null {

class NullMemory final : public BufferType {
 public:
  std::string_view name() const override { return "null"; }
  std::size_t alignment() const override { return 64; }
  std::size_t max_size() const override { return 0; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
};

}  // namespace shunt::null
