#include <cstdlib>

#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "backends/cann/whole.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

/// The vendor's operator has floats only; elements of other types are picked by indices.
class PadReflect1d final : public CannKernel {
 public:
  const Op& op() const override { return pad_reflect_1d_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    if (view.result().size(0) < kMostHostIndices) return CannKernel::accepts(view, target);
    return Support::no(Refusal::kShape,
                       fmt::format("rows have more than {} elements", kMostHostIndices - 1));
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<PadReflectParams>();
    const View x = calls.contiguous(node.source(0));
    write_whole(calls, node.result(), [&](const View& y) {
      if (is_float(x.type()) && x.type() != DataType::kDouble) {
        calls(kReflectionPad1d, x.merged(2), std::vector{params.before, params.after}, y.merged(2));
        return;
      }
      const std::int64_t last = x.size(0) - 1;
      const std::string key =
          fmt::format("reflect {} {} {}", params.before, x.size(0), params.after);
      const View picks = host_indices(calls, key, y.size(0), [&](std::int64_t i) {
        const std::int64_t at = std::abs(i - params.before);
        return at > last ? 2 * last - at : at;
      });
      calls(kGatherV2, x, x.vendor_dim(0), picks, y);
    });
  }
};

}  // namespace

KernelList pad_reflect_1d_kernels() {
  return list_kernels<CannKernel, PadReflect1d>();
}

}  // namespace shunt::cann
