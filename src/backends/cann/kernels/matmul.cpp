#include <algorithm>

#include "backends/cann/fractal_memory.h"
#include "backends/cann/kernel.h"
#include "backends/cann/products.h"
#include "backends/cann/whole.h"
#include "shunt/ops/matrix.h"

namespace shunt::cann {

namespace {

class Matmul final : public CannKernel {
 public:
  const Op& op() const override { return matmul_op(); }
  bool reads_rearranged(const NodeView& view, std::size_t source) const override {
    return source == kW && view.source(kW).size(2) == 1;
  }
  bool reads_fractal(const NodeView&, std::size_t source) const override { return source == kW; }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    return product_support(view, kW, target);
  }
  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    // Of these the op allows as much.
    const DType w = view.source(kW).dtype;
    if (trait(w).quantized || w == DType::kBF16) return 0;
    return product_rounding(view, kW, kX, product_numbers(w, target), *target.chip);
  }
  double largest_number(const NodeView& view, const CannTarget& target) const override {
    return product_largest(view, kW, product_numbers(view.source(kW).dtype, target), *target.chip);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const View y = node.result();
    if (node.sizes(kW)[0] == 0) return calls.fill(y, 0.0F);
    const ProductNumbers numbers = product_numbers(node.dtype(kW), target);
    const bool fractal = is_fractal(node.view(), kW);
    if (fractal || is_rearranged(node.view(), kW)) {
      const View factor = product_factor(calls, node.source(kX), DataType::kFloat16);
      const View x = calls.contiguous(factor).merged(2).merged(1);
      return write_whole(calls, y, [&](const View& whole) {
        const View result = whole.merged(2).merged(1);
        if (fractal) return multiply(calls, numbers, fractal_weight(node), x, result);
        multiply(calls, weight_parts(node, kW), x, result);
      });
    }
    const View x = product_factor(calls, node.source(kX), numbers.type);
    if (!has_blocks(node.dtype(kW))) {
      return multiply(calls, numbers, product_factor(calls, node.source(kW), numbers.type), x, y);
    }
    multiply_blocks(calls, numbers, stored_source(node, kW), x, y);
  }

 private:
  static constexpr std::size_t kW = 0;
  static constexpr std::size_t kX = 1;

  static View fractal_weight(const Operands& node) {
    const Sizes sizes = node.sizes(kW);
    return View(DataType::kFloat16, {sizes[0], sizes[1]}, node.data(kW))
        .in_format(Format::kFractalNz);
  }

  /// Some rows of w are decoded at a time.
  static void multiply_blocks(Calls& calls, const ProductNumbers& numbers, const StoredTensor& w,
                              const View& x, const View& y) {
    const std::int64_t rows = w.sizes[1];
    const std::int64_t row = w.sizes[0] * w.sizes[2] * w.sizes[3];
    const std::int64_t piece = std::clamp<std::int64_t>(kDecodedElements / row, 1, rows);
    for (std::int64_t first = 0; first < rows; first += piece) {
      const Calls::Scope scope(calls);
      StoredTensor part = w;
      part.sizes[1] = std::min(piece, rows - first);
      if (part.data != nullptr) part.data += first * w.strides[1];
      const View decoded = dequantize(calls, part, numbers.type);
      multiply(calls, numbers, decoded, x, y.sliced(0, first, part.sizes[1]));
    }
  }
};

}  // namespace

KernelList matmul_kernels() {
  return list_kernels<CannKernel, Matmul>();
}

}  // namespace shunt::cann
