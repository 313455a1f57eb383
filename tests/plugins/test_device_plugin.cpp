// A plugin with a device that exists only in tests: its memory is out of the host's reach, and all
// it can do is matmul and add; it wants weights to be sent for products. With SHUNT_BACKEND_PATH it
// runs real models together with the CPU.
#include "shunt/abi_token.h"
#include "shunt/registry.h"
#include "support/test_device.h"

namespace {

class TestBackend final : public shunt::Backend {
 public:
  std::string_view name() const override { return "test"; }
  std::span<shunt::Device* const> devices() override { return devices_; }

 private:
  shunt::test::TestDevice device_{{.name = "test0", .ops = {"matmul", "add"}, .wants = {"matmul"}}};
  std::array<shunt::Device*, 1> devices_ = {&device_};
};

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options&) {
  return std::make_unique<TestBackend>();
}

}  // namespace

extern "C" const shunt::BackendEntry* shunt_backend() {
  static const shunt::BackendEntry entry = {SHUNT_ABI_TOKEN, "test", create};
  return &entry;
}
