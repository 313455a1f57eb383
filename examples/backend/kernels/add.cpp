#include <shunt/ops/elementwise.h>

#include <functional>

#include "kernel.h"

namespace sample {

namespace {

class Add final : public SampleKernel {
 public:
  const shunt::Op& op() const override { return shunt::add_op(); }
  shunt::Status launch(const shunt::NodeCall& call, Context&) const override {
    const std::vector<float> a = read(call.sources[0], call.result.sizes);
    std::vector<float> y = read(call.sources[1], call.result.sizes);
    std::ranges::transform(a, y, y.begin(), std::plus());
    write(y, call.result);
    return shunt::ok();
  }
};

}  // namespace

KernelList add_kernels() {
  return shunt::list_kernels<SampleKernel, Add>();
}

}  // namespace sample
