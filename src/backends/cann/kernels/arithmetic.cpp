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
    ArithmeticRow{add_op, &kAdd, nullptr}, ArithmeticRow{add1_op, &kAdd, nullptr},
    ArithmeticRow{sub_op, &kSub, nullptr}, ArithmeticRow{mul_op, nullptr, &kMul},
    ArithmeticRow{div_op, nullptr, &kDiv}};

/// The vendor computes operands of two types in F32, and operands of one type as if it did: a
/// single operation that is rounded once.
class Arithmetic final : public CannKernel {
 public:
  explicit Arithmetic(const ArithmeticRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  int in_place_source() const override { return 0; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const Aligned operands = align({node.source(0), node.result()}, node.source(1));
    const View& a = operands.whole[0];
    const View& y = operands.whole[1];
    if (row_.with_factor != nullptr) {
      calls(*row_.with_factor, a, operands.part, 1.0F, y);
    } else {
      calls(*row_.plain, a, operands.part, y);
    }
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
