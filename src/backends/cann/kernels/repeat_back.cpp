#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

class RepeatBack final : public CannKernel {
 public:
  const Op& op() const override { return repeat_back_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View result = node.result();
    View dy = node.source(0);
    if (dy.is_empty()) return calls.fill(result, 0.0F);
    // Dimensions that were repeated as two: the places in x, and the times.
    std::vector<std::size_t> times;
    for (std::size_t d = 0, at = 0; d < kMaxDims; ++d, ++at) {
      if (dy.size(at) == result.size(d)) continue;
      dy = dy.split(at, result.size(d));
      times.push_back(++at);
    }
    if (times.empty()) return calls.copy(result, dy);
    std::vector<std::int64_t> dims;
    dims.reserve(times.size());
    for (const std::size_t d : times) dims.push_back(dy.vendor_dim(d));
    calls(kReduceSum, dy, dims, false, DataType::kFloat, result);
  }
};

}  // namespace

KernelList repeat_back_kernels() {
  return list_kernels<CannKernel, RepeatBack>();
}

}  // namespace shunt::cann
