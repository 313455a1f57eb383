// The file to copy: one op's kernel, which says itself what it can do.
#include <array>

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
  static const Add kAdd;
  static const std::array<const NullKernel*, 1> kKernels = {&kAdd};
  return kKernels;
}

}  // namespace shunt::null
