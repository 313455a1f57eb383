#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/recurrence.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kChannels = 256;

/// An item is some channels of a sequence, which walks its tokens.
class SsmConv final : public AnyCaseKernel {
 public:
  const Op& op() const override { return ssm_conv_op(); }
  std::int64_t items(const Call& call, int) const override {
    return ceil_div(call.sources[0].sizes[0], kChannels) * call.sources[0].sizes[2];
  }
  /// For the taps, and a row of inputs.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return static_cast<std::size_t>((node.source(1).size(0) + 1) * kChannels) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    const std::int64_t pieces = ceil_div(x.sizes[0], kChannels);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t s = item / pieces;
      const std::int64_t state = state_id(call.sources[2], 2, call.sources[3], s);
      if (state < 0) return Fault::kIndexOutOfRange;
      const std::int64_t first = item % pieces * kChannels;
      walk(call, s, state, first, std::min(kChannels, x.sizes[0] - first), as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  static void walk(const Call& call, std::int64_t s, std::int64_t state, std::int64_t first,
                   std::int64_t count, float* scratch) {
    const TensorArg& x = call.sources[0];
    const TensorArg& w = call.sources[1];
    const TensorArg& states = call.sources[2];
    const std::int64_t taps = w.sizes[0];
    const std::int64_t tokens = x.sizes[1];
    float* room = scratch + taps * kChannels;
    // w[k, d] as rows of channels.
    for (std::int64_t k = 0; k < taps; ++k) {
      for (std::int64_t d = 0; d < count; ++d) {
        scratch[k * kChannels + d] = number(w, k, first + d);
      }
    }
    // Row i of the state followed by x.
    const auto input = [&](std::int64_t i) {
      const bool past = i < taps - 1;
      const TensorArg& from = past ? states : x;
      std::byte* row = past ? states.row(i, state) : x.row(i - (taps - 1), s);
      return view_f32(from, row, first, count, room);
    };
    for (std::int64_t t = 0; t < tokens; ++t) {
      float* y = as_f32(call.result.row(t, s)) + first;
      simd::mul(call.level(), input(t), scratch, y, count);
      for (std::int64_t k = 1; k < taps; ++k) {
        simd::add_product(call.level(), input(t + k), scratch + k * kChannels, y, count);
      }
    }
    float* to = result_state(call, x.sizes[0] * (taps - 1), s) + first;
    for (std::int64_t k = 0; k < taps - 1; ++k) {
      std::copy_n(input(tokens + k), count, to + k * x.sizes[0]);
    }
  }
};

}  // namespace

KernelList ssm_conv_kernels() {
  return list_kernels<CpuKernel, SsmConv>();
}

}  // namespace shunt::cpu
