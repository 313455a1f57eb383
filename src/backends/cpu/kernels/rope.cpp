#include <cmath>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kHeadsPerItem = 8;
constexpr std::int64_t kTokensPerItem = 16;

/// Phase 0 makes a table of m cos a and m sin a for each pair of each token, which all nodes share
/// that turn by the same positions. In phase 1 an item is some heads of one token.
class Rope final : public AnyCaseKernel {
 public:
  /// `direction` is 1, or -1 for turning back.
  Rope(const Op& op, double direction) : op_(op), direction_(direction) {}
  const Op& op() const override { return op_; }
  int phases() const override { return 2; }
  int in_place_source() const override { return 0; }

  std::optional<Staging> staging(const NodeView& node, const CpuTarget& target) const override {
    if (scratch(node, target) == 0) return {};
    return Staging{.maker = this, .source = 1, .lasting = true};
  }
  bool same_staging(const NodeView& a, const NodeView& b, const CpuTarget&) const override {
    const auto factors = [](const NodeView& node) {
      return node.has_source(2) ? node.node().sources[2] : kNoNode;
    };
    return a.params<RopeParams>() == b.params<RopeParams>() && factors(a) == factors(b) &&
           a.source(0).shape[2] == b.source(0).shape[2];
  }
  /// [tokens][dims]: first the cosines of a token, then its sines.
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const std::int64_t tokens = max_sizes(node.source(0).shape)[2];
    return static_cast<std::size_t>(tokens * node.params<RopeParams>().dims) * sizeof(float);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    const auto pairs = static_cast<std::size_t>(node.params<RopeParams>().dims / 2);
    return std::max(pairs * sizeof(double), view_f32_bytes(node.source(0), node.source(0).size(0)));
  }

  std::int64_t items(const Call& call, int phase) const override {
    const Sizes& sizes = call.result.sizes;
    if (phase == 0) return ceil_div(sizes[2], kTokensPerItem);
    return sizes[0] == 0 ? 0 : ceil_div(sizes[1], kHeadsPerItem) * sizes[2] * sizes[3];
  }
  std::int64_t grain(const Call& call, int phase) const override {
    return phase == 0 ? 1 : grain_for(call.result.sizes[0] * kHeadsPerItem);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    if (phase == 0) {
      const std::int64_t tokens = call.result.sizes[2];
      find_turns(call, begin * kTokensPerItem, std::min(end * kTokensPerItem, tokens),
                 reinterpret_cast<double*>(scratch));
    } else {
      rotate(call, begin, end, as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  /// Of tokens [begin, end).
  void find_turns(const Call& call, std::int64_t begin, std::int64_t end,
                  double* frequencies) const {
    const auto& params = call.params->get<RopeParams>();
    const TensorArg& positions = call.sources[1];
    const TensorArg& factors = call.sources[2];
    const std::int64_t pairs = params.dims / 2;
    for (std::int64_t i = 0; i < pairs; ++i) {
      double factor = 1;
      if (factors.data != nullptr) factor = *as_f32(factors.data + i * factors.strides[0]);
      frequencies[i] = rope_frequency(params, i) / factor;
    }
    const double magnitude = rope_magnitude(params);
    for (std::int64_t token = begin; token < end; ++token) {
      float* cosines = as_f32(call.scratch) + token * params.dims;
      float* sines = cosines + pairs;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const auto which = static_cast<std::int64_t>(rope_position(params, i));
        std::int32_t position = 0;
        std::memcpy(&position, positions.row(which) + token * positions.strides[0],
                    sizeof position);
        const double angle = direction_ * position * frequencies[i];
        cosines[i] = static_cast<float>(magnitude * std::cos(angle));
        sines[i] = static_cast<float>(magnitude * std::sin(angle));
      }
    }
  }

  static void rotate(const Call& call, std::int64_t begin, std::int64_t end, float* room) {
    const auto& params = call.params->get<RopeParams>();
    const TensorArg& x = call.sources[0];
    const std::int64_t pairs = params.dims / 2;
    const std::int64_t groups = ceil_div(x.sizes[1], kHeadsPerItem);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t token = item / groups % x.sizes[2];
      const std::int64_t sequence = item / (groups * x.sizes[2]);
      const float* cosines = as_f32(call.scratch) + token * params.dims;
      const float* sines = cosines + pairs;
      const std::int64_t first = item % groups * kHeadsPerItem;
      for (std::int64_t head = first; head < std::min(first + kHeadsPerItem, x.sizes[1]); ++head) {
        const float* u = view_f32(x, x.row(head, token, sequence), 0, x.sizes[0], room);
        float* y = as_f32(call.result.row(head, token, sequence));
        if (params.mode == RopeMode::kNormal) {
          simd::rotate_adjacent(call.level(), u, cosines, sines, y, pairs);
        } else {
          simd::rotate(call.level(), u, u + pairs, cosines, sines, y, y + pairs, pairs);
        }
        if (y != u) std::copy(u + params.dims, u + x.sizes[0], y + params.dims);
      }
    }
  }

  const Op& op_;
  const double direction_;
};

}  // namespace

KernelList rope_kernels() {
  static const Rope kForward(rope_op(), 1);
  static const Rope kBack(rope_back_op(), -1);
  static constexpr const CpuKernel* kKernels[] = {&kForward, &kBack};
  return kKernels;
}

}  // namespace shunt::cpu
