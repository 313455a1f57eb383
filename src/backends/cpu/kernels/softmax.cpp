#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

namespace {

/// z to softmax(z) in place; zeros if all z are minus infinity.
void normalize(float* z, std::int64_t n) {
  const float largest = simd::max(z, n);
  if (largest == -std::numeric_limits<float>::infinity()) {
    std::fill_n(z, n, 0.0F);
  } else {
    simd::mul(z, 1 / simd::exp_shifted(z, largest, z, n), z, n);
  }
}

class Softmax final : public AnyCaseKernel {
 public:
  const Op& op() const override { return softmax_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node) const override {
    return node.has_source(1) ? view_f32_bytes(node.source(1), node.source(1).size(0)) : 0;
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float scale = call.params->get<SoftmaxParams>().scale;
    const TensorArg& x = call.sources[0];
    const TensorArg& mask = call.sources[1];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      float* y = as_f32(row_data(call.result, at));
      const float* row = view_f32(x, row_data(x, at), 0, n, y);
      if (mask.data == nullptr) {
        simd::scale(row, scale, 0.0F, y, n);
      } else {
        std::byte* mask_row = mask.row(at.i1, at.i2 % mask.sizes[2], at.i3 % mask.sizes[3]);
        simd::scale_add(row, scale, view_f32(mask, mask_row, 0, n, as_f32(scratch)), y, n);
      }
      normalize(y, n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList softmax_kernels() {
  static const Softmax kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
