#include <algorithm>
#include <span>

#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/recurrence.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kChannels = 256;

/// An item is some channels of a sequence, which walks its tokens.
class SsmConv final : public AnyCaseKernel {
 public:
  const Op& op() const override { return ssm_conv_op(); }
  std::int64_t items(const Call& call, int) const override {
    return ceil_div(call.sources[0].sizes[0], kChannels) * sequences_of(call).count();
  }
  /// For the taps, a row of inputs for each, and where these are.
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    const auto taps = static_cast<std::size_t>(node.source(1).size(0));
    return taps * (2 * kChannels * sizeof(float) + 2 * sizeof(const float*));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    const std::int64_t pieces = ceil_div(x.sizes[0], kChannels);
    const Sequences sequences = sequences_of(call);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t s = item / pieces;
      const auto tokens = sequences.tokens(s);
      if (!tokens) return Fault::kIndexOutOfRange;
      const std::int64_t first = item % pieces * kChannels;
      const std::int64_t count = std::min(kChannels, x.sizes[0] - first);
      if (sequences.is_idle(s)) {
        clear_outputs(call, *tokens, first, count);
        continue;
      }
      if (sequences.state_id(s) < 0) return Fault::kIndexOutOfRange;
      walk(call, s, *tokens, first, count, scratch);
    }
    return Fault::kNone;
  }

 private:
  static Sequences sequences_of(const Call& call) { return {call, 2, 2}; }

  static void walk(const Call& call, std::int64_t s, const SequenceTokens& tokens,
                   std::int64_t first, std::int64_t count, std::byte* scratch) {
    const TensorArg& x = call.sources[0];
    const TensorArg& w = call.sources[1];
    const TensorArg& states = call.sources[2];
    const std::int64_t taps = w.sizes[0];
    const Sequences sequences = sequences_of(call);
    const std::int64_t state = sequences.state_id(s);
    float* weights = as_f32(scratch);
    float* rooms = weights + taps * kChannels;
    const std::span pointers(reinterpret_cast<const float**>(rooms + taps * kChannels),
                             static_cast<std::size_t>(2 * taps));
    const auto rows = pointers.first(pointers.size() / 2);
    const auto weight_rows = pointers.last(pointers.size() / 2);
    // w[k, d] as rows of channels.
    for (std::int64_t k = 0; k < taps; ++k) {
      weight_rows[static_cast<std::size_t>(k)] = weights + k * kChannels;
      for (std::int64_t d = 0; d < count; ++d) {
        weights[k * kChannels + d] = number(w, k, first + d);
      }
    }
    // Row i of the state followed by the sequence's tokens. There are rooms for the rows of all
    // taps.
    const auto input = [&](std::int64_t i) {
      const bool past = i < taps - 1;
      const TensorArg& from = past ? states : x;
      std::byte* row =
          past ? states.row(i, state) : x.row(tokens.first + i - (taps - 1), tokens.slice);
      return view_f32(from, row, first, count, rooms + i % taps * kChannels);
    };
    const std::int64_t length = tokens.end - tokens.first;
    for (std::int64_t k = 0; k + 1 < taps; ++k) rows[static_cast<std::size_t>(k + 1)] = input(k);
    for (std::int64_t t = 0; t < length; ++t) {
      std::shift_left(rows.begin(), rows.end(), 1);
      rows.back() = input(t + taps - 1);
      float* y = as_f32(call.result.row(tokens.first + t, tokens.slice)) + first;
      simd::sum_of_products(call.level(), rows.data(), weight_rows.data(), taps, y, count);
    }
    float* to = sequences.result_state(x.sizes[0] * (taps - 1), s) + first;
    for (std::int64_t k = 0; k < taps - 1; ++k) {
      std::copy_n(input(length + k), count, to + k * x.sizes[0]);
    }
  }
};

}  // namespace

KernelList ssm_conv_kernels() {
  return list_kernels<CpuKernel, SsmConv>();
}

}  // namespace shunt::cpu
