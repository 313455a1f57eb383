// The accelerator of IBM Z, by its twin: both machines, each way of summing, and the older library.
// In strict mode, which objects to whatever the machine would silently compute nonsense with.
#include "conformance/suite.h"
#include "support/zdnn_twin.h"
#include "test_paths.h"

namespace shunt::test::zdnn_conformance {
namespace {

DeviceUnderTest twin(const std::string& label, const char* profile, const char* sums, bool old) {
  DeviceUnderTest device{
      .label = label, .device = "zdnn0", .options = {}, .everything = false, .exclusions = {}};
  device.options.threads = 2;
  device.options.libraries["zdnn"] = old ? SHUNT_TEST_ZDNN_TWIN_1_0 : SHUNT_TEST_ZDNN_TWIN;
  device.around = [=]() -> std::shared_ptr<void> {
    auto twin = std::make_shared<ZdnnTwin>(old);
    if (!twin->there()) return nullptr;
    twin->set("ZDNN_TWIN_PROFILE", profile);
    twin->set("ZDNN_TWIN_ACCUMULATE", sums);
    twin->set("ZDNN_TWIN_STRICT", "status");
    return twin;
  };
  return device;
}

INSTANTIATE_TEST_SUITE_P(
    Zdnn, Conformance,
    ops_on({twin("z17", "z17", "single", false), twin("z17_dlfloat_sums", "z17", "dlfloat", false),
            twin("z16", "z16", "double", false), twin("library_1_0", "z17", "single", true)}),
    conformance_name);

}  // namespace
}  // namespace shunt::test::zdnn_conformance
