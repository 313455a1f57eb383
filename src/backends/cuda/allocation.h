// Allocations of a device's memory: each kind has its functions of the driver.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/driver.h"
#include "backends/cuda/options.h"

namespace shunt::cuda {

/// Where memory is allocated, and who else has access to it.
struct MemoryOwner {
  std::shared_ptr<Context> context;
  std::vector<DeviceNumber> peers;  ///< devices that copy from it directly
};

/// Freed when destroyed; not freed once its device is lost.
class Allocation {
 public:
  Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  virtual ~Allocation() = default;
  DevicePointer address() const { return address_; }

 protected:
  DevicePointer address_ = 0;
};

/// Why a device of this driver can't have memory of a kind; Ok if it can.
Status check_memory_kind(MemoryKind kind, const Context& context);
/// kAuto becomes the kind that suits the device.
MemoryKind choose_memory_kind(MemoryKind kind, const Context& context);

/// OutOfMemory if there is none left. `bytes` is not 0, and `kind` is not kAuto.
Result<std::unique_ptr<Allocation>> allocate(MemoryKind kind, const MemoryOwner& owner,
                                             std::size_t bytes);

}  // namespace shunt::cuda
