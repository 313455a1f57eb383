#include <array>
#include <limits>
#include <vector>

#include "backend_support/kernel_rows.h"
#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/activation.h"

namespace shunt::cann {

namespace {

/// Of all gates but that of swiglu_oai: its function of the gate.
using Activation = View (*)(Calls& calls, const View& gate);

View relu(Calls& calls, const View& gate) {
  return Formula(calls).apply(kRelu, gate);
}
View silu(Calls& calls, const View& gate) {
  return Formula(calls).apply(kSilu, gate);
}
template <std::int64_t kApproximation>
View gelu(Calls& calls, const View& gate) {
  const View y = calls.temporary(DataType::kFloat, gate.sizes());
  calls(kGeluV2, gate, kApproximation, y);
  return y;
}
View gelu_quick(Calls& calls, const View& gate) {
  Formula formula(calls);
  const View y = formula.times(gate, 1.702F);
  return formula.mul(gate, formula.apply(kSigmoid, y, y), y);
}

/// The two operands, or the halves of rows that hold both.
struct Halves {
  Halves(const Operands& node, GateHalf half) : gate(node.source(0)), up(gate) {
    if (node.has_source(1)) {
      up = node.source(1);
      return;
    }
    const std::int64_t size = gate.size(0) / 2;
    const View first = gate.sliced(0, 0, size);
    const View second = gate.sliced(0, size, size);
    gate = half == GateHalf::kFirst ? first : second;
    up = half == GateHalf::kFirst ? second : first;
  }
  View gate, up;
};

struct GatedRow {
  const Op& (*op)();
  Activation activation;
  bool is_swiglu = false;
};
constexpr std::array kGatedRows = {
    GatedRow{reglu_op, relu}, GatedRow{geglu_op, gelu<1>}, GatedRow{geglu_erf_op, gelu<0>},
    GatedRow{geglu_quick_op, gelu_quick}, GatedRow{swiglu_op, silu, true}};

class Gated final : public CannKernel {
 public:
  explicit Gated(const GatedRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  int in_place_source() const override { return 0; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const GateHalf half = node.params<GatedParams>().gate;
    if (row_.is_swiglu && !node.has_source(1) && half == GateHalf::kFirst) {
      const View x = node.source(0);
      if (calls.attempt(kSwiGlu, x, x.vendor_dim(0), node.result())) return;
    }
    const Halves halves(node, half);
    const View active = row_.activation(calls, as_f32(calls, halves.gate));
    calls(kMul, active, halves.up, node.result());
  }

 private:
  const GatedRow& row_;
};

class SwigluOai final : public CannKernel {
 public:
  const Op& op() const override { return swiglu_oai_op(); }
  int in_place_source() const override { return 0; }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<SwigluOaiParams>();
    const Halves halves(node, params.gate);
    Formula formula(calls);
    const View gate = formula.between(as_f32(calls, halves.gate),
                                      -std::numeric_limits<float>::infinity(), params.limit);
    const View up = formula.between(as_f32(calls, halves.up), -params.limit, params.limit);
    const View active = formula.times(gate, params.alpha);
    formula.mul(gate, formula.apply(kSigmoid, active, active), active);
    formula.mul(active, formula.plus(up, 1, up), node.result());
  }
};

}  // namespace

KernelList gated_kernels() {
  static const KernelRows<Gated, CannKernel> kRows(kGatedRows);
  static const SwigluOai kOai;
  static const std::vector<const CannKernel*> kAll = [] {
    std::vector<const CannKernel*> all(kRows.list().begin(), kRows.list().end());
    all.push_back(&kOai);
    return all;
  }();
  return kAll;
}

}  // namespace shunt::cann
