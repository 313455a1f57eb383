// A plugin with a device that exists only in tests: the host can't access its memory, and it
// supports only matmul and add. Its offload_op() accepts streamed weights for products. With
// SHUNT_BACKEND_PATH it runs real models together with the CPU. Its variants are in a table; each
// is a plugin in a folder of its own.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "plugins/variant.h"
#include "shunt/abi_token.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/test_device.h"

namespace {

using shunt::test::TestDevice;
using shunt::test::TestDeviceConfig;

/// It needs Q8_0 instead of F32 and Q4_0.
void want_q8_only(TestDeviceConfig& config) {
  using shunt::DType;
  config.wants_types = {{DType::kF32, DType::kQ8_0}, {DType::kQ4_0, DType::kQ8_0}};
  config.answer = [](const shunt::Graph& graph, shunt::NodeId id) {
    const shunt::Node& node = graph.node(id);
    const DType type = node.result.dtype;
    if (node.op != &shunt::add_op() || type == DType::kF32) return shunt::Support::yes();
    return shunt::Support::no(shunt::Refusal::kType,
                              fmt::format("test0 adds no {}", to_string(type)));
  };
}

/// Its sums are 1% too large.
void add_wrongly(TestDeviceConfig& config) {
  config.wrong["add"] = [](shunt::RefTensor& sum) {
    for (double& value : sum.data) value *= 1.01;
  };
}

/// It never returns from a launch.
void hang(TestDevice& device) {
  device.on_launch = [](shunt::NodeId) {
    std::fputs("test0 hangs\n", stderr);  // for tests that wait for it
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  };
}

struct Variant {
  std::string_view name;
  void (*configure)(TestDeviceConfig&) = [](TestDeviceConfig&) {};
  void (*prepare)(TestDevice&) = [](TestDevice&) {};
};
constexpr std::array kVariants = {
    Variant{.name = "test"},
    Variant{.name = "q8-only", .configure = want_q8_only},
    Variant{.name = "wrong", .configure = add_wrongly},
    // It computes every op, and refuses memory when it is first asked for some.
    Variant{.name = "stingy",
            .configure = [](TestDeviceConfig& config) { config.ops.clear(); },
            .prepare = [](TestDevice& device) { device.fail_at({.allocation = 1}); }},
    Variant{.name = "pooled",
            .configure = [](TestDeviceConfig& config) { config.host_memory = true; }},
    Variant{.name = "lost",
            .prepare = [](TestDevice& device) { device.fail_at({.any = 200, .for_good = true}); }},
    Variant{.name = "hanging", .prepare = hang},
};

class TestBackend final : public shunt::Backend {
 public:
  TestBackend() { shunt::test::find_variant(kVariants).prepare(device_); }
  std::string_view name() const override { return "test"; }
  std::span<shunt::Device* const> devices() override { return devices_; }

 private:
  static TestDeviceConfig config() {
    TestDeviceConfig config{.name = "test0", .ops = {"matmul", "add"}, .wants = {"matmul"}};
    shunt::test::find_variant(kVariants).configure(config);
    return config;
  }

  TestDevice device_{config()};
  std::array<shunt::Device*, 1> devices_ = {&device_};
};

shunt::Result<std::unique_ptr<shunt::Backend>> create(const shunt::Options&) {
  return std::make_unique<TestBackend>();
}

}  // namespace

const shunt::BackendEntry* shunt::test::plugin_entry() {
  static const BackendEntry entry = {SHUNT_ABI_TOKEN, "test", create};
  return &entry;
}
