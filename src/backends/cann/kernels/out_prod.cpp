#include "backends/cann/kernel.h"
#include "backends/cann/products.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// The product of both factors turned, in F32 where the chip has it: gradients are small.
class OutProd final : public CannKernel {
 public:
  const Op& op() const override { return out_prod_op(); }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    return product_support(view, kA, target);
  }
  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    return product_rounding(view, kA, kB, numbers_of(view.source(kA).dtype, target), *target.chip);
  }
  double largest_number(const NodeView& view, const CannTarget& target) const override {
    return product_largest(view, kA, numbers_of(view.source(kA).dtype, target), *target.chip);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const View y = node.result();
    if (node.sizes(kA)[1] == 0) return calls.fill(y, 0.0F);
    const ProductNumbers numbers = numbers_of(node.dtype(kA), target);
    const View a = has_blocks(node.dtype(kA))
                       ? dequantize(calls, stored_source(node, kA), numbers.type)
                       : product_factor(calls, node.source(kA), numbers.type);
    const View b = product_factor(calls, node.source(kB), numbers.type);
    multiply(calls, numbers, a.transposed(), b.transposed(), y);
  }

 private:
  static constexpr std::size_t kA = 0;
  static constexpr std::size_t kB = 1;

  static ProductNumbers numbers_of(DType a, const CannTarget& target) {
    return product_numbers(target.chip->f32_products ? DType::kF32 : a, target);
  }
};

}  // namespace

KernelList out_prod_kernels() {
  return list_kernels<CannKernel, OutProd>();
}

}  // namespace shunt::cann
