// BLAS libraries: that of the tests, which is always there, and those of the system, which are
// skipped where they are not.
#include "conformance/suite.h"
#include "test_paths.h"

namespace shunt::test::blas_conformance {
namespace {

DeviceUnderTest library(const std::string& label, const std::string& path) {
  DeviceUnderTest device{
      .label = label, .device = "blas0", .options = {}, .everything = false, .exclusions = {}};
  device.options.threads = 2;
  device.options.libraries["blas"] = path;
  return device;
}

/// The ops that it takes; of all others it refuses all cases, which one library shows.
std::vector<const Op*> products() {
  std::vector<const Op*> found;
  for (const Op* op : all_ops()) {
    const std::string_view name = op->info().name;
    if (name.starts_with("matmul") || name == "out_prod") found.push_back(op);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Blas, Conformance, ops_on({library("test", SHUNT_TEST_BLAS)}),
                         conformance_name);
INSTANTIATE_TEST_SUITE_P(BlasOfTheSystem, Conformance,
                         ops_on({library("openblas", "libopenblas.so.0"),
                                 library("libblas", "libblas.so.3")},
                                products()),
                         conformance_name);

}  // namespace
}  // namespace shunt::test::blas_conformance
