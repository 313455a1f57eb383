#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class RepeatBack final : public OpWith<RepeatBackParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "repeat_back",
                                 .family = "training",
                                 .summary =
                                     "Gradient of repeating x to dy's shape: dx[i] is the sum of "
                                     "dy over all places that x[i] was "
                                     "repeated to, dx[i mod shape] += dy[i]. All floats are F32.",
                                 .sources = {"dy"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const RepeatBackParams& params) const override {
    const Tensor& dy = *sources[0];
    SHUNT_TRY(expect_type("dy", dy, {DType::kF32}));
    SHUNT_ASSIGN(const Inferred result, contiguous(DType::kF32, params.shape));
    SHUNT_TRY(expect_broadcast("shape", result.tensor, "dy", dy));
    return result;
  }

  void plain_reference(RefSources sources, const RepeatBackParams&,
                       RefTensor& result) const override {
    for_each_element(sources[0]->sizes, [&](const Sizes& i) {
      Sizes j = i;
      for (std::size_t d = 0; d < kMaxDims; ++d) j[d] %= result.sizes[d];
      at(result, j) += at(*sources[0], i);
    });
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return static_cast<double>(element_count(sources[0]->shape));
  }
};

}  // namespace

const Op& repeat_back_op() {
  static const RepeatBack kOp;
  return kOp;
}

Result<Value> repeat_back(GraphBuilder& g, Operand dy, const Shape& shape) {
  return g.apply(repeat_back_op(), Params::of(RepeatBackParams{shape}), {&dy});
}

}  // namespace shunt
