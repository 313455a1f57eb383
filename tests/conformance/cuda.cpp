// NVIDIA's GPUs, by the twin of the driver, with all its checks.
#include <array>

#include "conformance/suite.h"
#include "shunt/ops.h"
#include "support/cuda_twin.h"
#include "test_paths.h"

namespace shunt::test::cuda_conformance {
namespace {

DeviceUnderTest twin(const char* profile) {
  DeviceUnderTest device{
      .label = profile, .device = "cuda0", .options = {}, .everything = false, .exclusions = {}};
  device.options.threads = 2;
  device.options.libraries["cuda"] = SHUNT_TEST_CUDA_TWIN;
  device.around = [=]() -> std::shared_ptr<void> {
    auto twin = std::make_shared<CudaTwin>();
    if (!twin->there()) return nullptr;
    twin->set("CUDA_TWIN_PROFILE", profile);
    return twin;
  };
  return device;
}

/// Those that have kernels so far.
std::vector<const Op*> ops() {
  return {&add_op(),      &sub_op(),         &mul_op(),    &div_op(),  &get_rows_op(),
          &set_rows_op(), &rms_norm_op(),    &matmul_op(), &rope_op(), &paged_attention_op(),
          &swiglu_op(),   &geglu_quick_op(), &reglu_op(),  &geglu_op()};
}

INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, ops_on({twin("h200")}, ops()), conformance_name);

}  // namespace
}  // namespace shunt::test::cuda_conformance
