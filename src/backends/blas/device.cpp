#include "backends/blas/device.h"

#include "backend_support/host_memory_facts.h"

namespace shunt::blas {

#include "kernel_list.inc"
#if defined(__x86_64__) || defined(__aarch64__)
constexpr int kPriority = -1;  // the CPU device has vector code: a library is seldom faster
#else
constexpr int kPriority = 0;
#endif

BlasDevice::BlasDevice(Context context) : HostDevice(kKernelFiles, std::move(context)) {}

DeviceInfo BlasDevice::info() const {
  DeviceInfo info;
  info.name = name();
  info.description = context().library->description();
  info.priority = kPriority;
  set_host_memory(info);
  return info;
}

Result<std::unique_ptr<Program>> BlasDevice::prepare(const SegmentView& segment) {
  SHUNT_TRY(reserve_scratch(*context().threads->pool, sizeof(Scratch)));
  return HostDevice::prepare(segment);
}

}  // namespace shunt::blas
