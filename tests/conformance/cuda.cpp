// NVIDIA's GPUs, by the twin of the driver, with all its checks.
#include "conformance/suite.h"
#include "shunt/ops.h"
#include "support/cuda_twin.h"
#include "support/sanitized.h"
#include "test_paths.h"

namespace shunt::test::cuda_conformance {
namespace {

/// `seed`: of the order of the twin's work; 0: in order, on several threads.
DeviceUnderTest twin(const char* profile, std::size_t every, const char* seed = "0") {
  DeviceUnderTest device{.label = profile,
                         .device = "cuda0",
                         .options = {},
                         .everything = true,
                         .exclusions = {{"custom", "", "a function of the host"}},
                         .every = every};
  if (kSanitized)
    device.exclusions.push_back({"cpy", "IQ3", "the search of a codebook takes seconds a case"});
  else
    device.exclusions.push_back({"cpy", "IQ", "the search of a codebook takes long", true, 20});
  device.options.threads = 2;
  device.options.libraries["cuda"] = SHUNT_TEST_CUDA_TWIN;
  device.around = [=]() -> std::shared_ptr<void> {
    auto twin = std::make_shared<CudaTwin>();
    if (!twin->there()) return nullptr;
    twin->set("CUDA_TWIN_PROFILE", profile);
    twin->set("CUDA_TWIN_ORDER", seed);
    return twin;
  };
  return device;
}

/// One profile in full, and samples of those with other limits, or memory of the host, in other
/// orders of work.
/// `./dev ci --full` has all cases of all.
std::vector<DeviceUnderTest> devices() {
  if (kSanitized) return {twin("h200", 37), twin("orin", 397)};
  return {twin("h200", 1), twin("p40", 17, "1"), twin("t4", 17, "2"), twin("a100", 17, "3"),
          twin("orin", 17)};
}

INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, ops_on(devices()), conformance_name);

}  // namespace
}  // namespace shunt::test::cuda_conformance
