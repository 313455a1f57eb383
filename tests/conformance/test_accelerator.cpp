// The accelerator made of the parts of backend_support. It computes with the ops' reference, and
// refuses results in types of blocks, as encoding decoded blocks again is not exact.
#include "conformance/suite.h"
#include "test_paths.h"

namespace shunt::test::test_accelerator_conformance {
namespace {

DeviceUnderTest accelerator() {
  DeviceUnderTest device{.label = "test_accelerator",
                         .device = "accel0",
                         .options = {},
                         .everything = false,
                         .exclusions = {}};
  device.options.backend_path = SHUNT_TEST_ACCELERATOR_PLUGINS;
  return device;
}

INSTANTIATE_TEST_SUITE_P(TestAccelerator, Conformance, ops_on({accelerator()}), conformance_name);

}  // namespace
}  // namespace shunt::test::test_accelerator_conformance
