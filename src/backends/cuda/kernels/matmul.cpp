#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/params.h"
#include "shunt/ops/matrix.h"

namespace shunt::cuda {

namespace {

constexpr std::int64_t kColumns = 8;  // as in matmul.cu
constexpr unsigned kMatmulThreads = 128;

class Matmul final : public CudaKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  std::string_view module() const override { return "matmul"; }
  Support supports(const NodeView& node, const CudaTarget&) const override {
    return expect_types("weights", node.source(0).dtype,
                        {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                         DType::kIQ4_NL, DType::kQ4_K, DType::kQ6_K});
  }

  LaunchPlan plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const Tensor& y = view.result();
    const gpu::MatmulParams params = {node.common(), node.source(0), node.source(1), node.result()};
    return {.kernel = "matmul_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
            .items = y.size(0) * ((y.size(1) + kColumns - 1) / kColumns) * y.size(2) * y.size(3),
            .per_block = kMatmulThreads / 32,
            .threads = kMatmulThreads,
            .parameters = bytes_of(params)};
  }
};

}  // namespace

KernelList matmul_kernels() {
  return list_kernels<CudaKernel, Matmul>();
}

}  // namespace shunt::cuda
