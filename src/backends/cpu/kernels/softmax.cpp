#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

namespace {

constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

/// z to softmax(z) in place, with a sink; zeros if all of these logits are minus infinity.
void normalize(simd::Level level, float* z, std::int64_t n, float sink) {
  float largest = simd::max(level, z, n);
  if (sink > largest || std::isnan(sink)) largest = sink;  // not-a-number stays, from either
  if (largest == kHiddenScore) {
    std::fill_n(z, n, 0.0F);
  } else {
    const float sum = simd::exp_shifted(level, z, largest, z, n) + std::exp(sink - largest);
    simd::mul(level, z, 1 / sum, z, n);
  }
}

class Softmax final : public RowKernel {
 public:
  const Op& op() const override { return softmax_op(); }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    if (!node.has_source(1)) return 0;
    const Tensor& mask = node.source(1);
    if (node.params<SoftmaxParams>().max_bias == 0) return view_f32_bytes(mask, mask.size(0));
    return static_cast<std::size_t>(mask.size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<SoftmaxParams>();
    const TensorArg& x = call.sources[0];
    const TensorArg& mask = call.sources[1];
    const TensorArg& sinks = call.sources[2];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      float* y = as_f32(row_data(call.result, at));
      const float* row = view_f32(x, row_data(x, at), 0, n, y);
      if (mask.data == nullptr) {
        simd::scale(call.level(), row, params.scale, 0.0F, y, n);
      } else {
        float* room = as_f32(scratch);
        std::byte* mask_row = mask.row(at.i1, at.i2 % mask.sizes[2], at.i3 % mask.sizes[3]);
        const float* added = view_f32(mask, mask_row, 0, n, room);
        if (params.max_bias != 0) {
          simd::mul(call.level(), added,
                    static_cast<float>(alibi_slope(params.max_bias, x.sizes[2], at.i2)), room, n);
          added = room;
        }
        simd::scale_add(call.level(), row, params.scale, added, y, n);
      }
      normalize(call.level(), y, n, sinks.data == nullptr ? kHiddenScore : number(sinks, at.i2));
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList softmax_kernels() {
  return list_kernels<CpuKernel, Softmax>();
}

}  // namespace shunt::cpu
