// A plugin with test accelerators. Of these, accel0, accel6 and accel7 compute everything, and each
// of the others some ops of a model. Devices accel1, accel6 and accel7 have threads; the queues of
// the others are in worlds, each with an order of its own. Launches on accel6 and accel7 take a
// millisecond each, in which they use no core: steps overlap on a busy machine, too.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "plugins/variant.h"
#include "shunt/abi_token.h"
#include "shunt/registry.h"
#include "support/test_accelerator.h"

namespace {

using shunt::test::TestAccelerator;
using shunt::test::TestWorld;

class TestBackend final : public shunt::Backend {
 public:
  TestBackend() {
    for (std::uint64_t number = 0; number < 8; ++number) {
      worlds_.push_back(std::make_unique<TestWorld>(number));
      shunt::test::TestAcceleratorConfig config{.name = "accel" + std::to_string(number)};
      if (number != 0 && number < 6) config.ops = {"matmul", "swiglu", "add", "rms_norm", "mul"};
      if (number != 1 && number < 6) config.world = worlds_.back().get();
      accelerators_.push_back(std::make_unique<TestAccelerator>(std::move(config)));
      devices_.push_back(accelerators_.back().get());
      if (number < 6) continue;
      accelerators_.back()->on_launch = [](shunt::NodeId) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return shunt::ok();
      };
    }
  }
  std::string_view name() const override { return "accelerator"; }
  std::span<shunt::Device* const> devices() override { return devices_; }

 private:
  std::vector<std::unique_ptr<TestWorld>> worlds_;
  std::vector<std::unique_ptr<TestAccelerator>> accelerators_;
  std::vector<shunt::Device*> devices_;
};

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options&) {
  return std::make_unique<TestBackend>();
}

}  // namespace

const shunt::BackendEntry* shunt::test::plugin_entry() {
  static const BackendEntry entry = {SHUNT_ABI_TOKEN, "accelerator", create};
  return &entry;
}
