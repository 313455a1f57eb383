#include <cmath>

#include "backends/zdnn/kernel.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::zdnn {

namespace {

class Scale final : public ZdnnKernel {
 public:
  const Op& op() const override { return scale_op(); }
  std::span<const Need> needs(const NodeView&) const override {
    static constexpr Need kNeeds[] = {
        {Refusal::kParameter,
         [](const NodeView& view, const Machine&) {
           const float scale = view.params<ScaleParams>().scale;
           if (scale == 0 || std::fabs(scale) >= kSmallest) return std::string();
           return fmt::format("{} is less than the smallest number of DLFLOAT16", scale);
         }},
        kHas<Feature::kBatchnorm>};
    return kNeeds;
  }
  void run(Launch& l) const override {
    const auto& params = l.params->get<ScaleParams>();
    (void)l.affine(*l.sources[0].stick, params.scale, params.bias, *l.result);
  }
  /// The element, the factor, the bias and the result.
  double roundings(const NodeView&, const Machine&) const override { return 3; }
};

}  // namespace

KernelList scale_kernels() {
  return list_kernels<ZdnnKernel, Scale>();
}

}  // namespace shunt::zdnn
