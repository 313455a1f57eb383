// The backend's entry point. A real one opens its vendor's library here, asks it for devices, and
// says in plain words why it stays off if there is none.
#include "backends/null/device.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::null {

namespace {

class NullBackend final : public Backend {
 public:
  std::string_view name() const override { return "null"; }
  std::span<Device* const> devices() override { return devices_; }

 private:
  NullDevice device_;
  std::array<Device*, 1> devices_ = {&device_};
};

Result<std::unique_ptr<Backend>> create(const Options&) {
  return std::make_unique<NullBackend>();
}

}  // namespace

}  // namespace shunt::null

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "null", shunt::null::create};
  return &entry;
}
