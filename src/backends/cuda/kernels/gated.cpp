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
  SwigluOaiParams (*params)(const NodeView& node);
};

SwigluOaiParams gate_params(const NodeView& node) {
  return {.gate = node.params<GatedParams>().gate};
}
SwigluOaiParams oai_params(const NodeView& node) {
  return node.params<SwigluOaiParams>();
}

constexpr std::array kGatedRows = {GatedRow{geglu_op, gpu::kGeglu, gate_params},
                                   GatedRow{geglu_erf_op, gpu::kGegluErf, gate_params},
                                   GatedRow{geglu_quick_op, gpu::kGegluQuick, gate_params},
                                   GatedRow{reglu_op, gpu::kReglu, gate_params},
                                   GatedRow{swiglu_op, gpu::kSwiglu, gate_params},
                                   GatedRow{swiglu_oai_op, gpu::kSwigluOai, oai_params}};

class Gated final : public CudaKernel {
 public:
  explicit Gated(const GatedRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "gated"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    const SwigluOaiParams given = row_.params(view);
    const gpu::GatedArgs params = {.common = node.common(),
                                   .gate = node.source(0),
                                   .up = node.source(1),
                                   .y = node.result(),
                                   .op = row_.code,
                                   .swapped = given.gate == GateHalf::kSecond ? 1U : 0U,
                                   .alpha = given.alpha,
                                   .limit = given.limit};
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
