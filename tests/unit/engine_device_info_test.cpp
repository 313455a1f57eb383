// How often loading and steps ask devices for their facts, which may take reading files of /proc.
#include <gtest/gtest.h>

#include "support/engine_run.h"
#include "support/models.h"
#include "support/test_device.h"

namespace shunt::test::engine_device_info_test {
namespace {

/// Calls of info() of an accelerator and a CPU, while a model is loaded and writes eight tokens.
std::size_t calls(std::int64_t layers) {
  SynthOptions shape = tiny_shape();
  shape.layers = layers;
  const SynthModel file(shape);
  TestDevice device({.name = "test0"});
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  LoadOptions options;
  options.session = small_session();
  options.memory_margin = 0;
  options.rules_only = true;
  const auto run = run_engine(file.path(), {&device, &host}, options);
  EXPECT_TRUE(run) << run.error().message();
  EXPECT_GT(device.computed(), 0U);
  return device.infos() + host.infos();
}

TEST(DeviceInfo, IsAskedForAsOftenWhateverTheNumberOfLayers) {
  const std::size_t of_two = calls(2);
  EXPECT_GT(of_two, 0U);
  EXPECT_EQ(calls(6), of_two);
}

}  // namespace
}  // namespace shunt::test::engine_device_info_test
