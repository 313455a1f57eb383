// How often loading and steps ask devices for their facts. Free memory is read from files of /proc
// and /sys.
#include <gtest/gtest.h>

#include "support/engine_run.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_device_info_test {
namespace {

struct Calls {
  std::size_t info = 0;
  std::size_t memory_free = 0;
};

/// Calls for an accelerator and a CPU, while a model is loaded and writes eight tokens.
Calls calls(std::int64_t layers) {
  SynthOptions shape = tiny_shape();
  shape.layers = layers;
  const SynthModel file(shape);
  TestDevice device({.name = "test0"});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  options.placement.rules_only = true;
  const auto run = run_engine(file.path(), {&device, &host}, options);
  EXPECT_TRUE(run) << run.error().message();
  EXPECT_GT(device.computed(), 0U);
  return {device.infos() + host.infos(), device.memory_frees() + host.memory_frees()};
}

TEST(DeviceInfo, QueryCountDoesNotDependOnTheNumberOfLayers) {
  const std::size_t of_two = calls(2).info;
  EXPECT_GT(of_two, 0U);
  EXPECT_EQ(calls(6).info, of_two);
}

TEST(DeviceInfo, FreeMemoryQueriesDoNotDependOnTheNumberOfLayers) {
  const std::size_t of_two = calls(2).memory_free;
  EXPECT_GT(of_two, 0U);
  EXPECT_EQ(calls(6).memory_free, of_two);
}

}  // namespace
}  // namespace shunt::test::engine_device_info_test
