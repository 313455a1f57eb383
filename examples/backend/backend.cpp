// A backend with one device, which adds in host memory. Its other nodes run on the CPU.
#include <shunt/abi_token.h>
#include <shunt/backend/host_memory_facts.h>
#include <shunt/backend/one_device_backend.h>
#include <shunt/registry.h>

#include "kernel.h"

namespace sample {

#include "kernel_list.inc"

class SampleDevice final : public shunt::HostDevice<Context, SampleKernel> {
 public:
  SampleDevice() : HostDevice(kKernelFiles, Context{}) {}
  std::string_view name() const override { return "sample0"; }
  shunt::DeviceInfo info() const override {
    shunt::DeviceInfo info;
    info.name = name();
    info.description = "a backend outside the tree";
    info.priority = -1;  // used only if it is named
    shunt::set_host_memory(info);
    return info;
  }
};

static shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options&) {
  return std::make_unique<shunt::OneDeviceBackend>("sample", std::make_unique<SampleDevice>());
}

}  // namespace sample

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "sample", sample::create};
  return &entry;
}
