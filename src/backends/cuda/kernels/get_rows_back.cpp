#include "backends/cuda/kernels/get_rows_back.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

class GetRowsBack final : public CudaKernel {
 public:
  const Op& op() const override { return get_rows_back_op(); }
  std::string_view module() const override { return "get_rows_back"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const Tensor& y = node.view().result();
    const gpu::GetRowsBackArgs params = {node.common(), node.source(0), node.ids(1), node.result()};
    // A thread or a lane has a column. A table without rows has no warp that could report an id.
    constexpr std::int64_t kFew = 32;
    constexpr unsigned kThreads = 256;
    if (y.size(0) <= kFew && y.size(1) > 0) {
      return {{.kernel = "get_rows_back_few",
               .items = y.size(1),
               .per_block = kThreads / 32,
               .threads = kThreads,
               .parameters = bytes_of(params)}};
    }
    const std::int64_t elements = element_count(y.shape);
    return {{.kernel = "get_rows_back_clear",
             .items = elements,
             .per_block = 256,
             .parameters = bytes_of(params)},
            {.kernel = "get_rows_back_add",
             .items = y.size(0),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }
};

}  // namespace

KernelList get_rows_back_kernels() {
  return list_kernels<CudaKernel, GetRowsBack>();
}

}  // namespace shunt::cuda
