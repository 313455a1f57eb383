#include "backends/cpu/kernels/cross_entropy.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

/// Phase 0 finds the loss of each row, phase 1 adds them up in their order.
class CrossEntropyLoss final : public AnyCaseKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    return phase == 0 ? call.sources[0].rows() : 1;
  }
  std::int64_t grain(const Call& call, int phase) const override {
    return phase == 0 ? grain_for(call.sources[0].sizes[0]) : 1;
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const Tensor& x = node.source(0);
    return static_cast<std::size_t>(x.size(1) * x.size(2) * x.size(3)) * sizeof(double);
  }
  /// For a row of each source, and one of exponentials.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return 3 * static_cast<std::size_t>(node.source(0).size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    auto* losses = reinterpret_cast<double*>(call.scratch);
    const std::int64_t rows = call.sources[0].rows();
    if (phase == 0) {
      for (std::int64_t row = begin; row < end; ++row) {
        losses[row] = loss_of(call, row, as_f32(scratch));
      }
      return Fault::kNone;
    }
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += losses[row];
    *as_f32(call.result.data) =
        rows > 0 ? static_cast<float>(sum / static_cast<double>(rows)) : 0.0F;
    return Fault::kNone;
  }

 private:
  static double loss_of(const Call& call, std::int64_t row, float* rooms) {
    const TensorArg& logits = call.sources[0];
    const TensorArg& labels = call.sources[1];
    const std::int64_t n = logits.sizes[0];
    const RowIndex at = row_index(logits.sizes, row);
    const float* x = view_f32(logits, row_data(logits, at), 0, n, rooms);
    const float* wanted = view_f32(labels, row_data(labels, at), 0, n, rooms + n);
    const double log_sum = softmax_sum(call.level(), x, rooms + 2 * n, n).log_sum;
    double loss = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      if (wanted[c] != 0) loss += wanted[c] * (log_sum - x[c]);
    }
    return loss;
  }
};

}  // namespace

KernelList cross_entropy_loss_kernels() {
  return list_kernels<CpuKernel, CrossEntropyLoss>();
}

}  // namespace shunt::cpu
