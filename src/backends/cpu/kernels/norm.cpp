#include "shunt/ops/norm.h"

#include "backends/cpu/kernels/root_mean_square.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

namespace {

float mean(simd::Level level, const float* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t first = 0; first < n; first += kPiece) {
    sum += simd::sum(level, x + first, std::min(kPiece, n - first));
  }
  return static_cast<float>(sum / static_cast<double>(n));
}

/// y = (x - mean) / sqrt(variance + eps); y may be x. The mean is taken off twice: the first, of
/// numbers far from 0, is only as exact as they are.
void standardize(simd::Level level, const float* x, float* y, std::int64_t n, float eps) {
  if (n == 0) return;
  simd::add(level, x, -mean(level, x, n), y, n);
  simd::add(level, y, -mean(level, y, n), y, n);
  simd::mul(level, y, inverse_root_mean_square(level, y, n, eps), y, n);
}

/// An item is a row.
class Norm final : public RowKernel {
 public:
  const Op& op() const override { return norm_op(); }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return compute_f32_bytes(node.result(), node.result().size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float eps = call.params->get<NormParams>().eps;
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      compute_f32(call.result, row_data(call.result, at), 0, n, as_f32(scratch), [&](float* y) {
        standardize(call.level(), view_f32(x, row_data(x, at), 0, n, y), y, n, eps);
      });
    });
    return Fault::kNone;
  }
};

/// An item is a group of an image, whose elements follow each other in the result.
class GroupNorm final : public AnyCaseKernel {
 public:
  const Op& op() const override { return group_norm_op(); }
  std::int64_t items(const Call& call, int) const override {
    return call.params->get<GroupNormParams>().groups * call.result.sizes[3];
  }
  int in_place_source() const override { return 0; }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return compute_f32_bytes(node.result(), group_size(max_sizes(node.result().shape),
                                                       node.params<GroupNormParams>().groups));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<GroupNormParams>();
    const TensorArg& x = call.sources[0];
    const std::int64_t channels = x.sizes[2] / params.groups;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t first = item % params.groups * channels;
      const std::int64_t n = item / params.groups;
      const std::int64_t size = group_size(x.sizes, params.groups);
      compute_f32(call.result, call.result.row(0, first, n), 0, size, as_f32(scratch),
                  [&](float* y) {
                    gather(x, first, channels, n, y);
                    standardize(call.level(), y, y, size, params.eps);
                  });
    }
    return Fault::kNone;
  }

 private:
  static std::int64_t group_size(const Sizes& sizes, std::int64_t groups) {
    return sizes[0] * sizes[1] * (sizes[2] / groups);
  }

  /// Some channels of an image, one after the other.
  static void gather(const TensorArg& x, std::int64_t first, std::int64_t channels, std::int64_t n,
                     float* to) {
    for (std::int64_t c = first; c < first + channels; ++c) {
      for (std::int64_t row = 0; row < x.sizes[1]; ++row, to += x.sizes[0]) {
        std::byte* from = x.row(row, c, n);
        // In place there is nothing to gather.
        if (as_f32(from) != to) read_f32(x, from, 0, x.sizes[0], to);
      }
    }
  }
};

}  // namespace

KernelList norm_kernels() {
  return list_kernels<CpuKernel, Norm, GroupNorm>();
}

}  // namespace shunt::cpu
