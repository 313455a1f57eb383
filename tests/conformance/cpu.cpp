// The CPU takes everything, at every vector level that this machine has (best: NEON on aarch64).
#include "conformance/suite.h"

namespace shunt::test::cpu_conformance {
namespace {

DeviceUnderTest at_level(const std::string& label, const std::string& level) {
  DeviceUnderTest device{
      .label = label, .device = "cpu0", .options = {}, .everything = true, .exclusions = {}};
  device.options.threads = 2;
  device.options.backend_options["cpu"]["level"] = level;
  return device;
}

INSTANTIATE_TEST_SUITE_P(Cpu, Conformance,
                         ops_on({at_level("scalar", "scalar"), at_level("sse4", "sse4"),
                                 at_level("avx2", "avx2"), at_level("best", "best")}),
                         conformance_name);

/// Where AVX2 has AVX-VNNI; there only products differ from those at avx2.
std::vector<DeviceUnderTest> with_avx_vnni() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("avxvnni")) {
    return {at_level("avx2_vnni", "avx2_vnni")};
  }
#endif
  return {};
}
std::vector<const Op*> products() {
  std::vector<const Op*> found;
  for (const Op* op : all_ops()) {
    if (op->info().name.starts_with("matmul")) found.push_back(op);
  }
  return found;
}
INSTANTIATE_TEST_SUITE_P(CpuAvxVnni, Conformance, ops_on(with_avx_vnni(), products()),
                         conformance_name);

}  // namespace
}  // namespace shunt::test::cpu_conformance
