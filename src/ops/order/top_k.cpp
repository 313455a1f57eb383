#include <limits>

#include "ops/common/checks.h"
#include "ops/order/sort.h"

namespace shunt {

namespace {

class TopK final : public OpWith<TopKParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "top_k",
                                 .family = "order",
                                 .summary =
                                     "The indices of the k largest elements of each row, largest "
                                     "first; of equal elements the first ones; NaNs come last.",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const TopKParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_float_type("x", x));
    if (!x.shape[0].is_fixed())
      return invalid("dimension 0 of x is {}, a dynamic dimension, but k must fit any",
                     to_string(x.shape[0]));
    if (params.k < 1 || params.k > x.size(0))
      return invalid("k is {}, but rows of x have {} elements", params.k, x.size(0));
    if (x.size(0) > std::numeric_limits<std::int32_t>::max())
      return invalid("x is {}, whose rows are too long", to_string(x));
    return contiguous(DType::kI32, {params.k, x.shape[1], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const TopKParams&, RefTensor& result) const override {
    reference_order(*sources[0], SortOrder::kDescending, result);
  }
};

}  // namespace

const Op& top_k_op() {
  static const TopK kOp;
  return kOp;
}

Result<Value> top_k(GraphBuilder& g, Operand x, TopKParams params) {
  return g.apply(top_k_op(), Params::of(params), {&x});
}

}  // namespace shunt
