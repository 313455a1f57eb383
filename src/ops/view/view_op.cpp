#include "ops/view/view.h"

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class View final : public Differentiable<ViewParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "view",
                                 .family = "view",
                                 .summary = "A window of x: y[i] = x[start + i].",
                                 .sources = {"x"},
                                 .storage = Storage::kView};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ViewParams& params) const override {
    const Tensor& x = *sources[0];
    Inferred window{{x.dtype, params.shape, x.strides}};
    const std::int64_t block = trait(x.dtype).block_elements;
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      const std::int64_t start = params.start[i];
      const Dim& dim = params.shape[i];
      if (start < 0 || dim.max < 0 || start > x.shape[i].max || dim.max > x.shape[i].max - start) {
        return invalid("dimension {}: {} elements from {} on are not inside of x, which has {}", i,
                       to_string(dim), start, to_string(x.shape[i]));
      }
      const std::int64_t unit = i == 0 ? block : 1;
      if (start % unit != 0 || dim.max % unit != 0 || dim.factor % unit != 0) {
        return invalid(
            "dimension {}: {} elements from {} on are not whole blocks of {}, which have {}", i,
            to_string(dim), start, to_string(x.dtype), block);
      }
      window.offset += start / unit * x.strides[i];
    }
    return window;
  }

  void plain_reference(RefSources sources, const ViewParams& params,
                       RefTensor& result) const override {
    const Sizes& start = params.start;
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) =
          sources[0]->at(start[0] + i[0], start[1] + i[1], start[2] + i[2], start[3] + i[3]);
    });
  }

  Status gradient_rule(Backward& node, const ViewParams& params) const override {
    // Elements outside of the window make no difference.
    const Shape x = node.shape(0);
    PadParams around = {.before = params.start};
    bool whole = true;
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      if (params.shape[i] == x[i]) continue;
      SHUNT_TRY(expect_fixed_for(x[i], fmt::format("dimension {} of x", i)));
      SHUNT_TRY(expect_fixed_for(params.shape[i], fmt::format("dimension {} of the window", i)));
      around.after[i] = x[i].max - params.start[i] - params.shape[i].max;
      whole = false;
    }
    return node.add_gradient(0, whole ? node.dy() : pad(node.g, node.dy(), around));
  }
};

}  // namespace

const Op& view_op() {
  static const View kOp;
  return kOp;
}

Result<Value> view(GraphBuilder& g, Operand x, const Sizes& start, const Shape& shape) {
  return g.apply(view_op(), Params::of(ViewParams{start, shape}), {&x});
}

}  // namespace shunt
