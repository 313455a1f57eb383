#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class CrossEntropyLoss final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "cross_entropy_loss",
                                 .family = "training",
                                 .summary =
                                     "Mean over rows of the cross entropy of labels and "
                                     "predictions: loss = -1 / R * sum over rows and "
                                     "c of labels[c] * ln(softmax(logits)[c]). Labels of 0 add "
                                     "nothing, whatever the logit; without "
                                     "rows the loss is 0. All floats are F32.",
                                 .sources = {"logits", "labels"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    return contiguous(DType::kF32, {1});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& logits = *sources[0];
    const RefTensor& labels = *sources[1];
    double sum = 0;
    double rows = 0;
    for_each_row(logits.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      rows += 1;
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        largest = std::max(largest, logits.at(c, i1, i2, i3));
      }
      double all = 0;
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        all += std::exp(logits.at(c, i1, i2, i3) - largest);
      }
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        const double label = labels.at(c, i1, i2, i3);
        if (label != 0) sum += label * (logits.at(c, i1, i2, i3) - largest - std::log(all));
      }
    });
    result.at(0) = rows > 0 ? -sum / rows : 0;
  }

  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 5 * static_cast<double>(element_count(sources[0]->shape));
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    if (!node.needs_gradient(0)) return ok();
    return node.add_gradient(
        0, cross_entropy_loss_back(node.g, node.dy(), node.source(0), node.source(1)));
  }
};

}  // namespace

const Op& cross_entropy_loss_op() {
  static const CrossEntropyLoss kOp;
  return kOp;
}

Result<Value> cross_entropy_loss(GraphBuilder& g, Operand logits, Operand labels) {
  return g.apply(cross_entropy_loss_op(), Params::of(NoParams{}), {&logits, &labels});
}

}  // namespace shunt
