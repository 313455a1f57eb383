#include <shunt/ops/unary.h>

#include "kernel.h"

namespace sample {

namespace {

class Sqr final : public SampleKernel {
 public:
  const shunt::Op& op() const override { return shunt::sqr_op(); }
  shunt::Status launch(const shunt::NodeCall& call, Context&) const override {
    std::vector<float> y = read(call.sources[0], call.result.sizes);
    for (float& value : y) value *= value;
    write(y, call.result);
    return shunt::ok();
  }
};

}  // namespace

KernelList sqr_kernels() {
  return shunt::list_kernels<SampleKernel, Sqr>();
}

}  // namespace sample
