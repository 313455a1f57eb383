#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/arithmetic.h"
#include "shunt/ops/elementwise.h"
#include "shunt/ops/training.h"

namespace shunt::cuda {

namespace {

struct ArithmeticRow {
  const Op& (*op)();
  gpu::ArithmeticOp code;
};
constexpr std::array kArithmeticRows = {
    ArithmeticRow{add_op, gpu::kAdd},  ArithmeticRow{sub_op, gpu::kSub},
    ArithmeticRow{mul_op, gpu::kMul},  ArithmeticRow{div_op, gpu::kDiv},
    ArithmeticRow{add1_op, gpu::kAdd}, ArithmeticRow{acc_op, gpu::kAdd}};

class Arithmetic final : public CudaKernel {
 public:
  explicit Arithmetic(const ArithmeticRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "arithmetic"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const gpu::ArithmeticArgs params = {node.common(), node.source(0), node.source(1),
                                        node.result(), row_.code};
    return {{.kernel = "arithmetic_" + type_suffix({view.source(0).dtype, view.source(1).dtype}),
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }

 private:
  const ArithmeticRow& row_;
};

}  // namespace

KernelList arithmetic_kernels() {
  static const KernelRows<Arithmetic, CudaKernel> kernels(kArithmeticRows);
  return kernels.list();
}

}  // namespace shunt::cuda
