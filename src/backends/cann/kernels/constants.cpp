// Ops whose result depends on parameters alone.
#include <fmt/format.h>

#include "backends/cann/conversions.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

class Fill final : public CannKernel {
 public:
  const Op& op() const override { return fill_op(); }
  bool needs_bf16() const override { return false; }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    fill_exactly(calls, stored_result(node), node.params<FillParams>().value);
  }
};

/// Computed by the host, in double precision.
class Arange final : public CannKernel {
 public:
  const Op& op() const override { return arange_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& range = node.params<ArangeParams>();
    const View result = node.result();
    const std::string key = fmt::format("arange {} {} {}", range.start, range.stop, range.step);
    const View numbers =
        calls.constant(key, static_cast<std::size_t>(result.size(0)), [&](std::span<float> to) {
          for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<float>(range.start + static_cast<double>(i) * range.step);
        });
    calls.copy(result.without(3).without(2).without(1), numbers);
  }
};

}  // namespace

KernelList constants_kernels() {
  return list_kernels<CannKernel, Fill, Arange>();
}

}  // namespace shunt::cann
