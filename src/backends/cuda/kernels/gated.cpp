#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/gated.h"
#include "shunt/ops/activation.h"

namespace shunt::cuda {

namespace {

struct GatedRow {
  const Op& (*op)();
  gpu::GatedOp code;
};
constexpr std::array kGatedRows = {
    GatedRow{geglu_op, gpu::kGeglu}, GatedRow{geglu_quick_op, gpu::kGegluQuick},
    GatedRow{reglu_op, gpu::kReglu}, GatedRow{swiglu_op, gpu::kSwiglu}};

class Gated final : public CudaKernel {
 public:
  explicit Gated(const GatedRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "gated"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const bool swapped = view.params<GatedParams>().gate == GateHalf::kSecond;
    const gpu::GatedArgs params = {node.common(), node.source(0), node.source(1),
                                   node.result(), row_.code,      swapped ? 1U : 0U};
    const DType gate = view.source(0).dtype;
    const DType up = view.has_source(1) ? view.source(1).dtype : gate;
    return {{.kernel = "gated_" + type_suffix({gate, up}),
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }

 private:
  const GatedRow& row_;
};

}  // namespace

KernelList gated_kernels() {
  static const KernelRows<Gated, CudaKernel> kernels(kGatedRows);
  return kernels.list();
}

}  // namespace shunt::cuda
