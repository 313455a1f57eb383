#include "backends/cann/kernel.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cann {

namespace {

class AddId final : public CannKernel {
 public:
  const Op& op() const override { return add_id_op(); }
  int in_place_source() const override { return 0; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View b = node.source(1).without(3).without(2);
    const View ids = calls.indices(node.source(2), node.content(2), b.size(1));
    const View y = node.result();
    const View rows = calls.temporary(b.type(), y.sizes());
    calls(kIndexSelect, b, b.vendor_dim(1), ids.reshaped({ids.elements()}),
          rows.reshaped({b.size(0), ids.elements()}));
    calls(kAdd, node.source(0), rows, 1.0F, y);
  }
};

}  // namespace

KernelList add_id_kernels() {
  return list_kernels<CannKernel, AddId>();
}

}  // namespace shunt::cann
