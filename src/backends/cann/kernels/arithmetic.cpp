#include "backend_support/kernel_rows.h"
#include "backends/cann/broadcast.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cann {

namespace {

using BinaryOp = VendorOp<In, In, Out>;
using AddOp = VendorOp<In, In, ScalarIn, Out>;

/// `add` multiplies its second operand by 1; the other has no such factor.
struct ArithmeticRow {
  const Op& (*op)();
  const AddOp* with_factor;
  const BinaryOp* plain;
};
constexpr std::array kRows = {
    ArithmeticRow{add_op, &kAdd, nullptr}, ArithmeticRow{sub_op, &kSub, nullptr},
    ArithmeticRow{mul_op, nullptr, &kMul}, ArithmeticRow{div_op, nullptr, &kDiv}};

class Arithmetic final : public CannKernel {
 public:
  explicit Arithmetic(const ArithmeticRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  int in_place_source() const override { return 0; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View result = node.result();
    const View a = calls.cast(node.source(0), DataType::kFloat);
    const View b = calls.cast(node.source(1), DataType::kFloat);
    const View y = result.type() == DataType::kFloat
                       ? result
                       : calls.temporary(DataType::kFloat, result.sizes());
    const Aligned aligned = align({a, y}, b);
    if (row_.with_factor != nullptr) {
      calls(*row_.with_factor, aligned.whole[0], aligned.part, 1.0F, aligned.whole[1]);
    } else {
      calls(*row_.plain, aligned.whole[0], aligned.part, aligned.whole[1]);
    }
    if (y.type() != result.type()) calls.copy(result, y);
  }

 private:
  const ArithmeticRow& row_;
};

}  // namespace

KernelList arithmetic_kernels() {
  static const KernelRows<Arithmetic, CannKernel> kKernels(kRows);
  return kKernels.list();
}

}  // namespace shunt::cann
