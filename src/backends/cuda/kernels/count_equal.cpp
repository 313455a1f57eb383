#include "backends/cuda/kernels/count_equal.h"

#include "backends/cuda/kernel.h"
#include "base/ceil_div.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class CountEqual final : public CudaKernel {
 public:
  const Op& op() const override { return count_equal_op(); }
  std::string_view module() const override { return "count_equal"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }
  std::size_t scratch(const NodeView& node, const CudaTarget&) const override {
    return static_cast<std::size_t>(parts(node)) * sizeof(gpu::i64);
  }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const auto wide = [&](std::size_t i) -> gpu::u64 {
      return node.view().source(i).dtype == DType::kI64 ? 1 : 0;
    };
    const gpu::CountEqualArgs params = {node.common(), node.source(0),           node.source(1),
                                        node.result(), {node.scratch().address}, wide(0),
                                        wide(1)};
    return {{.kernel = "count_equal_parts",
             .items = parts(node.view()),
             .parameters = bytes_of(params)},
            {.kernel = "count_equal", .items = 1, .parameters = bytes_of(params)}};
  }

 private:
  static std::int64_t parts(const NodeView& node) {
    return ceil_div(element_count(node.source(0).shape), gpu::kCountPart);
  }
};

}  // namespace

KernelList count_equal_kernels() {
  return list_kernels<CudaKernel, CountEqual>();
}

}  // namespace shunt::cuda
