#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

namespace {

class Pool1d final : public OpWith<Pool1dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "pool_1d",
                                 .family = "convolution",
                                 .summary =
                                     "The largest element of each window of a row, or the mean of "
                                     "its elements, of which those outside are 0, in x's type.",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Pool1dParams& params) const override {
    const Tensor& x = *sources[0];
    const WindowOf<1> window = {{params.kernel}, {params.stride}, {params.pad}, {1}};
    SHUNT_ASSIGN(const auto count, positions(window, x));
    if (x.shape[0] == Dim(0)) return invalid("x is {}, whose rows have no element", to_string(x));
    if (params.pad >= params.kernel) {
      return invalid(
          "pad is {}, but must be below the kernel, {}, so that each window has an element",
          params.pad, params.kernel);
    }
    return contiguous(x.dtype, {count[0], x.shape[1], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const Pool1dParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_element(result.sizes, [&](const Sizes& i) {
      const std::int64_t start = i[0] * params.stride - params.pad;
      const std::int64_t first = std::max<std::int64_t>(0, start);
      const std::int64_t last = std::min(x.sizes[0], start + params.kernel);
      double sum = 0;
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t k = first; k < last; ++k) {
        const double each = x.at(k, i[1], i[2], i[3]);
        sum += each;
        // Not-a-number stays.
        if (each > largest || std::isnan(each)) largest = each;
      }
      at(result, i) =
          params.pooling == Pooling::kMax ? largest : sum / static_cast<double>(params.kernel);
    });
  }

  /// An operation for each element of a window.
  double operations(const Tensor& result, SourceTensors, const Params& params) const override {
    return static_cast<double>(params.get<Pool1dParams>().kernel) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& pool_1d_op() {
  static const Pool1d kOp;
  return kOp;
}

Result<Value> pool_1d(GraphBuilder& g, Operand x, Pool1dParams params) {
  return g.apply(pool_1d_op(), Params::of(params), {&x});
}

}  // namespace shunt
