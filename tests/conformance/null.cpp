// The null device refuses everything, and gives a reason each time.
#include "conformance/suite.h"

namespace shunt::test::null_conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Null, Conformance,
                         ops_on({{.label = "null",
                                  .device = "null0",
                                  .options = {},
                                  .everything = false,
                                  .exclusions = {}}}),
                         conformance_name);

}  // namespace
}  // namespace shunt::test::null_conformance
