// Gates of two operands. (Two halves of one row are no tensors of their own in the machine's
// layout.)
#include <array>

#include "backend_support/kernel_rows.h"
#include "backends/zdnn/kernels/unary.h"
#include "ops/activation/activation.h"
#include "shunt/ops/unary.h"

namespace shunt::zdnn {

namespace {

/// One row an op: the function that is applied to the gate before the multiplication.
struct GateRow {
  const Op& (*op)();
  const Op& (*activation)();
};

constexpr std::array kGateTable = {
    GateRow{swiglu_op, silu_op},
    GateRow{geglu_op, gelu_op},
    GateRow{geglu_erf_op, gelu_erf_op},
    GateRow{reglu_op, relu_op},
};

constexpr Need kTwoSources = {
    Refusal::kLayout, [](const NodeView& view, const Machine&) -> std::string {
      return view.has_source(1) ? ""
                                : "gate and up are halves of one row, and the accelerator's layout "
                                  "can't split a row";
    }};

class Gated final : public ZdnnKernel {
 public:
  explicit Gated(const GateRow& row)
      : op_(row.op()), activation_(unary_row(row.activation())), needs_{kTwoSources} {
    needs_.insert(needs_.end(), activation_.needs.begin(), activation_.needs.end());
    needs_.push_back(kHas<Feature::kMul>);
  }
  const Op& op() const override { return op_; }
  std::span<const Need> needs(const NodeView&) const override { return needs_; }
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    return std::vector<Dims>(activation_.temporaries + 1, max_dims(use.view.result()));
  }
  void run(Launch& l) const override {
    const Stick& gate = *l.sources[0].stick;
    Stick& active = l.temporary(activation_.temporaries, gate.dims());
    (void)(activation_.run(l, gate, active) && l.mul(active, *l.sources[1].stick, *l.result));
  }
  double roundings(const NodeView&, const Machine&) const override {
    return activation_.roundings + 1;
  }

 private:
  const Op& op_;
  const UnaryRow& activation_;
  std::vector<Need> needs_;
};

}  // namespace

KernelList gated_kernels() {
  static const KernelRows<Gated, ZdnnKernel> kKernels(kGateTable);
  return kKernels.list();
}

}  // namespace shunt::zdnn
