#include "backends/cuda/kernels/cross_entropy.h"

#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class CrossEntropyLoss final : public CudaKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_op(); }
  std::string_view module() const override { return "cross_entropy"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    return static_cast<std::size_t>(row_count(node.source(0))) * sizeof(double);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& logits = node.view().source(0);
    const gpu::CrossEntropyArgs params = {.common = node.common(),
                                          .logits = node.source(0),
                                          .labels = node.source(1),
                                          .losses = {node.scratch().address},
                                          .loss = node.result()};
    return {{.kernel = "cross_entropy_rows",
             .items = row_count(logits),
             .threads = threads_for_row(logits),
             .parameters = bytes_of(params)},
            {.kernel = "cross_entropy_sum", .items = 1, .parameters = bytes_of(params)}};
  }
};

class CrossEntropyLossBack final : public CudaKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_back_op(); }
  std::string_view module() const override { return "cross_entropy"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const gpu::CrossEntropyBackArgs params = {node.common(), node.source(0), node.source(1),
                                              node.source(2), node.result()};
    return {{.kernel = "cross_entropy_back",
             .items = row_count(node.view().result()),
             .threads = threads_for_row(node.view().result()),
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList cross_entropy_kernels() {
  return list_kernels<CudaKernel, CrossEntropyLoss, CrossEntropyLossBack>();
}

}  // namespace shunt::cuda
