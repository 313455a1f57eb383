// The file to copy: one op's kernel, which states its own capabilities.
#include "backends/null/kernel.h"
#include "ops/elementwise/elementwise.h"

namespace shunt::null {

namespace {

class Add final : public NullKernel {
 public:
  const Op& op() const override { return add_op(); }
  Support supports(const NodeView&, const NullTarget&) const override {
    return Support::no(Refusal::kVendorFunction, "the null device computes nothing");
  }
};

}  // namespace

KernelList add_kernels() {
  return list_kernels<NullKernel, Add>();
}

}  // namespace shunt::null
