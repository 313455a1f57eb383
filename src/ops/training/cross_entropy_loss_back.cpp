#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class CrossEntropyLossBack final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "cross_entropy_loss_back",
        .family = "training",
        .summary =
            "Gradient of cross_entropy_loss by the logits: dlogits = dloss / R * "
            "(softmax(logits) * sum(labels) - "
            "labels) for each row. All floats are F32.",
        .sources = {"dloss", "logits", "labels"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_type("dloss", *sources[0], {DType::kF32}));
    SHUNT_TRY(expect_number("dloss", *sources[0]));
    SHUNT_TRY(expect_pair(info(), sources, 1, 2));
    return contiguous(DType::kF32, sources[1]->shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& logits = *sources[1];
    const RefTensor& labels = *sources[2];
    const auto rows = static_cast<double>(logits.sizes[1] * logits.sizes[2] * logits.sizes[3]);
    for_each_row(logits.sizes, [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) {
      double largest = -std::numeric_limits<double>::infinity();
      double label_sum = 0;
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        largest = std::max(largest, logits.at(c, i1, i2, i3));
        label_sum += labels.at(c, i1, i2, i3);
      }
      double all = 0;
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        all += std::exp(logits.at(c, i1, i2, i3) - largest);
      }
      for (std::int64_t c = 0; c < logits.sizes[0]; ++c) {
        const double p = std::exp(logits.at(c, i1, i2, i3) - largest) / all;
        result.at(c, i1, i2, i3) =
            sources[0]->at(0) / rows * (p * label_sum - labels.at(c, i1, i2, i3));
      }
    });
  }
};

}  // namespace

const Op& cross_entropy_loss_back_op() {
  static const CrossEntropyLossBack kOp;
  return kOp;
}

Result<Value> cross_entropy_loss_back(GraphBuilder& g, Operand dloss, Operand logits,
                                      Operand labels) {
  return g.apply(cross_entropy_loss_back_op(), Params::of(NoParams{}), {&dloss, &logits, &labels});
}

}  // namespace shunt
