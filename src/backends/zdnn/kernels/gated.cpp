// Gates of two operands. (Two halves of one row are no tensors of their own in the machine's
// layout.)
#include <array>
#include <deque>

#include "backends/zdnn/kernels/steps.h"
#include "ops/activation/activation.h"

namespace shunt::zdnn {

namespace {

struct Row {
  const Op& (*op)();
  std::vector<Feature> features;
  /// Temporaries of the activation, before that which takes what it gives.
  std::size_t temporaries;
  double roundings;
  bool (*activation)(Launch& l, const Stick& x, Stick& y);
};

class Gated final : public ZdnnKernel {
 public:
  explicit Gated(const Row& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  Support supports_on(const NodeView& view, const Machine& machine) const override {
    if (!view.has_source(1)) {
      return Support::no(
          Refusal::kLayout,
          "gate and up are halves of one row, which the machine's layout has in one");
    }
    return needs(view, machine, row_.features);
  }
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    return std::vector<Dims>(row_.temporaries + 1, max_dims(use.view.result()));
  }
  void run(Launch& l) const override {
    const Stick& gate = *l.sources[0].stick;
    Stick& active = l.temporary(row_.temporaries, gate.dims());
    (void)(row_.activation(l, gate, active) && l.mul(active, *l.sources[1].stick, *l.result));
  }
  double roundings(const NodeView&, const Machine&) const override { return row_.roundings; }

 private:
  const Row& row_;
};

const std::deque<Row>& rows() {
  using F = Feature;
  static const std::deque<Row> kRows = {
      {swiglu_op, {F::kSigmoid, F::kMul}, 1, 3, silu},
      {geglu_op, {F::kMul, F::kBatchnorm, F::kSigmoid}, 2, 5, gelu},
      {geglu_erf_op, {F::kMul, F::kBatchnorm, F::kSigmoid}, 2, 5, gelu},
      {reglu_op,
       {F::kRelu, F::kMul},
       0,
       2,
       [](Launch& l, const Stick& x, Stick& y) {
         return l.call("zdnn_relu", l.zdnn().relu(x.get(), nullptr, y.get()));
       }},
  };
  return kRows;
}

}  // namespace

KernelList gated_kernels() {
  static const std::deque<Gated> kKernels = [] {
    std::deque<Gated> made;
    for (const Row& row : rows()) made.emplace_back(row);
    return made;
  }();
  static const std::vector<const ZdnnKernel*> kList = [] {
    std::vector<const ZdnnKernel*> list;
    for (const Gated& kernel : kKernels) list.push_back(&kernel);
    return list;
  }();
  return kList;
}

}  // namespace shunt::zdnn
