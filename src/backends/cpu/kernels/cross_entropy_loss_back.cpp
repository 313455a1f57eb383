#include "backends/cpu/kernels/cross_entropy.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class CrossEntropyLossBack final : public RowKernel {
 public:
  const Op& op() const override { return cross_entropy_loss_back_op(); }
  /// For a row of each source, and one of exponentials.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return 3 * static_cast<std::size_t>(node.result().size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& logits = call.sources[1];
    const TensorArg& labels = call.sources[2];
    const std::int64_t n = logits.sizes[0];
    float* rooms = as_f32(scratch);
    float* exps = rooms + 2 * n;
    const double part = *as_f32(call.sources[0].data) / static_cast<double>(logits.rows());
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const float* x = view_f32(logits, row_data(logits, at), 0, n, rooms);
      const float* wanted = view_f32(labels, row_data(labels, at), 0, n, rooms + n);
      const double sum = softmax_sum(call.level(), x, exps, n).sum;
      double all_labels = 0;
      for (std::int64_t c = 0; c < n; ++c) all_labels += wanted[c];
      float* dx = as_f32(row_data(call.result, at));
      simd::mul(call.level(), exps, static_cast<float>(all_labels / sum * part), exps, n);
      simd::scale_add(call.level(), wanted, static_cast<float>(-part), exps, dx, n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList cross_entropy_loss_back_kernels() {
  return list_kernels<CpuKernel, CrossEntropyLossBack>();
}

}  // namespace shunt::cpu
