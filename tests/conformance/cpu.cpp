// The CPU takes everything, at every vector level that this machine has.
#include "conformance/suite.h"

namespace shunt::test {
namespace {

DeviceUnderTest at_level(const std::string& label, const std::string& level) {
  DeviceUnderTest device{
      .label = label, .device = "cpu0", .options = {}, .everything = true, .exclusions = {}};
  device.options.threads = 2;
  device.options.cpu_level = level;
  return device;
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, Conformance,
    ::testing::Combine(::testing::Values(at_level("scalar", "scalar"), at_level("sse4", "sse4"),
                                         at_level("avx2", "avx2"), at_level("best", "")),
                       ::testing::ValuesIn(all_ops().begin(), all_ops().end())),
    conformance_name);

}  // namespace
}  // namespace shunt::test
