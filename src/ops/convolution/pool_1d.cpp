#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/cases.h"
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
          "pad is {}, but must be below the kernel, {}, so that each window sees an element",
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

  void cases(const CaseSink& sink) const override {
    struct Size {
      CaseSource x;
      std::int64_t kernel, stride, pad;
    };
    for (const DType type : kFloatTypes) {
      const std::array kSizes = {
          Size{source_of(type, {1, 1, 1, 1}), 1, 1, 0},
          Size{source_of(type, {9, 4, 3, 2}), 3, 1, 0},
          Size{source_of(type, {9, 4, 3, 2}), 3, 2, 2},
          Size{source_of(type, {10, 3, 1, 1}), 2, 2, 0},
          Size{source_of(type, {10, 3, 1, 1}), 2, 5, 1},
          Size{source_of(type, {333, 2, 1, 1}), 7, 1, 3},
          Size{source_of(type, {5, 700, 1, 1}), 5, 1, 4},
          Size{source_of(type, {6, 0, 2, 1}), 2, 1, 0},
          Size{filled(source_of(type, {20, 9, 2, 1}), Fill::kUniform, -9, -1), 5, 3, 4},
          Size{seen_as(type, {8, 6, 3, 2}, {1, 0, 2, 3}), 3, 2, 1},
          Size{seen_as(type, {8, 6, 3, 2}, {2, 3, 0, 1}), 3, 2, 1},
          Size{seen_as(type, {8, 6, 3, 2}, {0, 1, 2, 3}, {2, 1, 1, 1}), 3, 2, 1},
      };
      for (const Size& size : kSizes) {
        for (const Pooling pooling : {Pooling::kMax, Pooling::kAverage}) {
          const Params params =
              Params::of(Pool1dParams{pooling, size.kernel, size.stride, size.pad});
          sink({.name = fmt::format("{} {}", describe_source(size.x), describe(params)),
                .params = params,
                .sources = {size.x},
                .max_error = pooling == Pooling::kMax ? 0 : float_error(type, kSumError)});
        }
      }
    }
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
