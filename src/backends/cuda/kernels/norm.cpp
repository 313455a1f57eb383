#include "backends/cuda/kernels/norm.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/norm.h"

namespace shunt::cuda {

namespace {

class Norm final : public CudaKernel {
 public:
  const Op& op() const override { return norm_op(); }
  std::string_view module() const override { return "norm"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::NormArgs params = {.common = node.common(),
                                  .x = node.source(0),
                                  .y = node.result(),
                                  .groups = 0,
                                  .eps = view.params<NormParams>().eps};
    return {{.kernel = "norm_" + type_suffix({view.source(0).dtype}),
             .items = row_count(view.result()),
             .threads = threads_for_row(view.result()),
             .parameters = bytes_of(params)}};
  }
};

class GroupNorm final : public CudaKernel {
 public:
  const Op& op() const override { return group_norm_op(); }
  std::string_view module() const override { return "norm"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const auto& given = view.params<GroupNormParams>();
    const gpu::NormArgs params = {.common = node.common(),
                                  .x = node.source(0),
                                  .y = node.result(),
                                  .groups = static_cast<gpu::u64>(given.groups),
                                  .eps = given.eps};
    return {{.kernel = "group_norm_" + type_suffix({view.source(0).dtype}),
             .items = given.groups * view.result().size(3),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList norm_kernels() {
  return list_kernels<CudaKernel, Norm, GroupNorm>();
}

}  // namespace shunt::cuda
