// A plugin with a device that exists only in tests: its memory is out of the host's reach, and all
// it can do is matmul and add; it wants weights to be sent for products. With SHUNT_BACKEND_PATH it
// runs real models together with the CPU. Another one, in a folder of its own, has a wrong kernel:
// its sums are 1% too large. One wants Q8_0 instead of F32 and Q4_0, one can do everything but
// refuses memory when it is first asked for some, one says that its memory is the host's, one is
// lost after some calls, and one never comes back (tests/CMakeLists.txt).
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "shunt/abi_token.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/test_device.h"

namespace {

class TestBackend final : public shunt::Backend {
 public:
#ifdef SHUNT_TEST_LOST_AT
  TestBackend() {
    device_.fail_at({.any = SHUNT_TEST_LOST_AT, .for_good = true});
  }
#endif
#ifdef SHUNT_TEST_PLUGIN_STINGY
  TestBackend() {
    device_.fail_at({.allocation = 1});
  }
#endif
#ifdef SHUNT_TEST_PLUGIN_HANGS
  TestBackend() {
    device_.on_launch = [](shunt::NodeId) {
      std::fputs("test0 hangs\n", stderr);  // for who waits for that
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    };
  }
#endif
  std::string_view name() const override {
    return "test";
  }
  std::span<shunt::Device* const> devices() override {
    return devices_;
  }

 private:
  static shunt::test::TestDeviceConfig config() {
    shunt::test::TestDeviceConfig config{
        .name = "test0", .ops = {"matmul", "add"}, .wants = {"matmul"}};
#ifdef SHUNT_TEST_PLUGIN_Q8_ONLY
    using shunt::DType;
    config.wants_types = {{DType::kF32, DType::kQ8_0}, {DType::kQ4_0, DType::kQ8_0}};
    config.answer = [](const shunt::Graph& graph, shunt::NodeId id) {
      const shunt::Node& node = graph.node(id);
      const DType type = node.result.dtype;
      if (node.op != &shunt::add_op() || type == DType::kF32) return shunt::Support::yes();
      return shunt::Support::no(shunt::Refusal::kType,
                                fmt::format("test0 adds no {}", to_string(type)));
    };
#endif
#ifdef SHUNT_TEST_PLUGIN_STINGY
    config.ops.clear();
#endif
#ifdef SHUNT_TEST_PLUGIN_POOLED
    config.host_memory = true;
#endif
#ifdef SHUNT_TEST_PLUGIN_WRONG
    config.wrong["add"] = [](shunt::RefTensor& sum) {
      for (double& value : sum.data) value *= 1.01;
    };
#endif
    return config;
  }

  shunt::test::TestDevice device_{config()};
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
