// Options of the CPU backend.
#include "support/option_values.h"

namespace shunt::test::cpu_options_test {
namespace {

TEST(CpuOptions, FuseIsOnOrOff) {
  expect_option("cpu", "fuse", {"SHUNT_CPU_FUSE"}, {"on", "off"}, "0");
}

}  // namespace
}  // namespace shunt::test::cpu_options_test
