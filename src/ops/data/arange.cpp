#include <algorithm>
#include <cmath>

#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Arange final : public OpWith<ArangeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "arange",
        .family = "data",
        .summary =
            "Numbers at equal distances, up to but not including `stop`: y[i] = start + i "
            "* step for i from 0 to ceil((stop - start) / step) - 1.",
        .sources = {}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors, const ArangeParams& params) const override {
    SHUNT_TRY(expect_finite("start", params.start));
    SHUNT_TRY(expect_finite("stop", params.stop));
    SHUNT_TRY(expect_finite("step", params.step));
    if (params.step == 0) return invalid("step is 0");
    const double count = std::ceil((params.stop - params.start) / params.step);
    // Beyond that, numbers can't be counted one by one.
    if (!(count <= 0x1p53)) {
      return invalid("from {} to {} by {} are {} numbers, which is too many", params.start,
                     params.stop, params.step, count);
    }
    return contiguous(DType::kF32, {static_cast<std::int64_t>(std::max(count, 0.0))});
  }

  void plain_reference(RefSources, const ArangeParams& params, RefTensor& result) const override {
    for (std::int64_t i = 0; i < result.sizes[0]; ++i) {
      result.at(i) = params.start + static_cast<double>(i) * params.step;
    }
  }
};

}  // namespace

const Op& arange_op() {
  static const Arange kOp;
  return kOp;
}

Result<Value> arange(GraphBuilder& g, ArangeParams params) {
  return g.apply(arange_op(), Params::of(params), std::span<const NodeId>());
}

}  // namespace shunt
