#include <algorithm>

#include "backends/cann/kernel.h"
#include "backends/cann/whole.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

/// Minus infinity as integers: a chip that saturates has none in its arithmetic.
struct Infinity {
  DataType type;
  DataType integers;
  std::int64_t negative;
};
constexpr std::array kInfinities = {Infinity{DataType::kFloat, DataType::kInt32, -0x00800000},
                                    Infinity{DataType::kFloat16, DataType::kInt16, -0x0400},
                                    Infinity{DataType::kBFloat16, DataType::kInt16, -0x0080}};

class DiagMaskInf final : public CannKernel {
 public:
  const Op& op() const override { return diag_mask_inf_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View x = node.source(0);
    // Columns from this one on are hidden from the first row.
    const std::int64_t hidden = std::min(node.params<DiagMaskInfParams>().n_past, x.size(0)) + 1;
    const auto& infinity = *std::ranges::find(kInfinities, x.type(), &Infinity::type);
    write_whole(calls, node.result(), [&](const View& y) {
      calls.copy(y, x);
      if (hidden >= x.size(0)) return;
      const View ones = calls.temporary(DataType::kBool, {x.size(0), x.size(1)});
      calls.fill(ones, Scalar(DataType::kBool, 1));
      const View mask = calls.temporary(DataType::kBool, ones.sizes());
      calls(kTriu, ones, hidden, mask);
      calls(kInplaceMaskedFillScalar, y.as(infinity.integers), mask, infinity.negative);
    });
  }
};

}  // namespace

KernelList diag_mask_inf_kernels() {
  return list_kernels<CannKernel, DiagMaskInf>();
}

}  // namespace shunt::cann
