#include <utility>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class Transpose final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "transpose",
        .family = "view",
        .summary = "x with dimensions 0 and 1 in each other's place: y[i, j] = x[j, i].",
        .sources = {"x"},
        .storage = Storage::kView};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    if (trait(x.dtype).quantized) {
      return invalid("x is {}, whose blocks are along dimension 0", to_string(x));
    }
    Inferred result{x};
    std::swap(result.tensor.shape[0], result.tensor.shape[1]);
    std::swap(result.tensor.strides[0], result.tensor.strides[1]);
    return result;
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = sources[0]->at(i[1], i[0], i[2], i[3]);
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    return node.add_gradient(0, transpose(node.g, node.dy()));
  }
};

}  // namespace

const Op& transpose_op() {
  static const Transpose kOp;
  return kOp;
}

Result<Value> transpose(GraphBuilder& g, Operand x) {
  return g.apply(transpose_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
