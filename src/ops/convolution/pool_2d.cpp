#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/convolution/window.h"

namespace shunt {

std::string_view to_string(Pooling pooling) {
  return pooling == Pooling::kMax ? "max" : "average";
}

namespace {

Window window_of(const Pool2dParams& params) {
  return {params.kernel, params.stride, params.pad, {1, 1}};
}

class Pool2d final : public OpWith<Pool2dParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "pool_2d",
                                 .family = "convolution",
                                 .summary =
                                     "The largest element of each window of an image, or the mean "
                                     "of its elements, of which those outside are 0, in x's type.",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const Pool2dParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_ASSIGN(const Pair count, positions(window_of(params), x));
    SHUNT_TRY(expect_fixed("x", x, 2));
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (x.shape[axis] == Dim(0))
        return invalid("x is {}, whose images have no element", to_string(x));
      if (params.pad[axis] >= params.kernel[axis]) {
        return invalid(
            "pad is [{}, {}], but must be below the kernel, [{}, {}], so that each window has an "
            "element",
            params.pad[0], params.pad[1], params.kernel[0], params.kernel[1]);
      }
    }
    return contiguous(x.dtype, {count[0], count[1], x.shape[2], x.shape[3]});
  }

  void plain_reference(RefSources sources, const Pool2dParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const Window window = window_of(params);
    for_each_element(result.sizes, [&](const Sizes& i) {
      double sum = 0;
      double largest = -std::numeric_limits<double>::infinity();
      const auto first = [&](std::size_t axis) {
        return std::max<std::int64_t>(0, -window.at(axis, i[axis], 0));
      };
      const auto last = [&](std::size_t axis) {
        return std::min(window.kernel[axis], x.sizes[axis] - window.at(axis, i[axis], 0));
      };
      for (std::int64_t ky = first(1); ky < last(1); ++ky) {
        for (std::int64_t kx = first(0); kx < last(0); ++kx) {
          const double each = x.at(window.at(0, i[0], kx), window.at(1, i[1], ky), i[2], i[3]);
          sum += each;
          // Not-a-number stays.
          if (each > largest || std::isnan(each)) largest = each;
        }
      }
      const auto size = static_cast<double>(window.kernel[0] * window.kernel[1]);
      at(result, i) = params.pooling == Pooling::kMax ? largest : sum / size;
    });
  }

  /// An operation for each element of a window.
  double operations(const Tensor& result, SourceTensors, const Params& params) const override {
    const Pair kernel = params.get<Pool2dParams>().kernel;
    return static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& pool_2d_op() {
  static const Pool2d kOp;
  return kOp;
}

Result<Value> pool_2d(GraphBuilder& g, Operand x, Pool2dParams params) {
  return g.apply(pool_2d_op(), Params::of(params), {&x});
}

}  // namespace shunt
