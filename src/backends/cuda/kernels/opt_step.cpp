#include "backends/cuda/kernels/opt_step.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

/// A launch over the elements of the result.
LaunchPlan step_launch(const BoundNode& node, std::string kernel,
                       std::vector<std::byte> parameters) {
  return {.kernel = std::move(kernel),
          .items = element_count(node.view().result().shape),
          .per_block = 256,
          .parameters = std::move(parameters)};
}

class OptStepAdamw final : public CudaKernel {
 public:
  const Op& op() const override { return opt_step_adamw_op(); }
  std::string_view module() const override { return "opt_step"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView&, const CudaTarget&) const override {
    return sizeof(gpu::AdamwNumbers);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& given = node.view().params<AdamwParams>();
    const gpu::AdamwArgs params = {.common = node.common(),
                                   .w = node.result(),
                                   .m = node.source(1),
                                   .v = node.source(2),
                                   .rate = node.source(3),
                                   .step = node.source(4),
                                   .numbers = {node.scratch().address},
                                   .beta1 = given.beta1,
                                   .beta2 = given.beta2,
                                   .eps = given.eps,
                                   .weight_decay = given.weight_decay};
    return {{.kernel = "adamw_prepare", .items = 1, .threads = 32, .parameters = bytes_of(params)},
            step_launch(node, "adamw", bytes_of(params))};
  }
};

class OptStepSgd final : public CudaKernel {
 public:
  const Op& op() const override { return opt_step_sgd_op(); }
  std::string_view module() const override { return "opt_step"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::SgdArgs params = {.common = node.common(),
                                 .w = node.result(),
                                 .gradient = node.source(1),
                                 .rate = node.source(2),
                                 .weight_decay = node.view().params<SgdParams>().weight_decay};
    return {step_launch(node, "sgd", bytes_of(params))};
  }
};

class UpdateMoment final : public CudaKernel {
 public:
  const Op& op() const override { return update_moment_op(); }
  std::string_view module() const override { return "opt_step"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto& given = node.view().params<UpdateMomentParams>();
    const gpu::UpdateMomentArgs params = {
        .common = node.common(),
        .m = node.result(),
        .x = node.source(1),
        .beta = given.beta,
        .rest = static_cast<float>(1 - static_cast<double>(given.beta)),
        .squared = given.power == 2 ? 1U : 0U};
    return {step_launch(node, "update_moment", bytes_of(params))};
  }
};

}  // namespace

KernelList opt_step_kernels() {
  return list_kernels<CudaKernel, OptStepAdamw, OptStepSgd, UpdateMoment>();
}

}  // namespace shunt::cuda
