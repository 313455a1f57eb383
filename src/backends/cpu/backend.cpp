// The CPU backend's entry point: one device.
#include "backends/cpu/device.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::cpu {

namespace {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(std::unique_ptr<CpuDevice> device)
      : device_(std::move(device)), devices_{device_.get()} {}
  std::string_view name() const override { return "cpu"; }
  std::span<Device* const> devices() override { return devices_; }

 private:
  std::unique_ptr<CpuDevice> device_;
  std::array<Device*, 1> devices_;
};

Result<std::unique_ptr<Backend>> create(const Options& options) {
  SHUNT_ASSIGN(auto device, CpuDevice::create(options));
  return std::make_unique<CpuBackend>(std::move(device));
}

}  // namespace

}  // namespace shunt::cpu

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "cpu", shunt::cpu::create};
  return &entry;
}
