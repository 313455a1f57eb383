// The backend's entry point. A real one opens its vendor's library here and queries its devices. If
// there is none, note() returns the reason for users.
#include "backend_support/one_device_backend.h"
#include "backends/null/device.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"

namespace shunt::null {

namespace {

Result<std::unique_ptr<Backend>> create(const Options&) {
  return std::make_unique<OneDeviceBackend>("null", std::make_unique<NullDevice>());
}

}  // namespace

}  // namespace shunt::null

extern "C" const shunt::BackendEntry* SHUNT_BACKEND_ENTRY() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "null", shunt::null::create};
  return &entry;
}
