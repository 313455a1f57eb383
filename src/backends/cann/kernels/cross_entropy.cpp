#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

std::int64_t rows_of(const View& x) {
  return x.size(1) * x.size(2) * x.size(3);
}

class CrossEntropyLoss final : public CannKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View logits = node.source(0);
    const View labels = node.source(1);
    if (logits.is_empty()) return calls.fill(node.result(), 0.0F);
    Formula formula(calls);
    const View predicted = calls.temporary(DataType::kFloat, logits.sizes());
    calls(kLogSoftmax, logits, logits.vendor_dim(0), predicted);
    const View terms = formula.mul(predicted, labels);
    // The logarithm may be infinite where the label is 0.
    const View unlabelled = calls.temporary(DataType::kBool, logits.sizes());
    calls(kEqScalar, labels, 0.0F, unlabelled);
    calls(kInplaceMaskedFillScalar, terms, unlabelled, 0.0F);
    const auto factor = static_cast<float>(-1.0 / static_cast<double>(rows_of(logits)));
    formula.times(formula.total(terms), factor, node.result());
  }
};

class CrossEntropyLossBack final : public CannKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_back_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View logits = node.source(1);
    const View labels = calls.contiguous(node.source(2));
    Formula formula(calls);
    const View probabilities = calls.temporary(DataType::kFloat, logits.sizes());
    calls(kSoftmax, logits, logits.vendor_dim(0), probabilities);
    const View expected = formula.mul(probabilities, formula.row_sums(labels));
    const auto factor = static_cast<float>(1 / static_cast<double>(rows_of(logits)));
    formula.mul(formula.sub(expected, labels), formula.times(node.source(0), factor),
                node.result());
  }
};

}  // namespace

KernelList cross_entropy_kernels() {
  return list_kernels<CannKernel, CrossEntropyLoss, CrossEntropyLossBack>();
}

}  // namespace shunt::cann
