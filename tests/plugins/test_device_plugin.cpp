// A plugin with a device that exists only in tests: its memory is out of the host's reach, and all
// it can do is matmul and add. With SHUNT_BACKEND_PATH it runs real models together with the CPU.
// There is one that takes weights of any type, and one that wants Q8_0 instead of F32 and Q4_0 (see
// tests/CMakeLists.txt).
#include "shunt/abi_token.h"
#include "shunt/registry.h"
#include "support/test_device.h"

namespace {

class TestBackend final : public shunt::Backend {
 public:
  std::string_view name() const override { return "test"; }
  std::span<shunt::Device* const> devices() override { return devices_; }

 private:
  shunt::test::TestDevice device_{
      {.name = "test0", .ops = {"matmul", "add"}, .wants = SHUNT_TEST_PLUGIN_WANTS}};
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
