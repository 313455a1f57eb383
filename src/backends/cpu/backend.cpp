// The CPU backend's entry point: one device.
#include "backend_support/one_device_backend.h"
#include "backends/cpu/device.h"
#include "backends/cpu/options.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::cpu {

namespace {

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(auto device, CpuDevice::create(options));
  const std::string note = device->note();
  return std::make_unique<OneDeviceBackend>("cpu", std::move(device), note);
}

}  // namespace

}  // namespace shunt::cpu

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "cpu", shunt::cpu::create,
                                            shunt::cpu::option_table()};
  return &entry;
}
