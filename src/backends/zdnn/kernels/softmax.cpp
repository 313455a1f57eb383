// Softmax of rows. Masks are added in the machine's layout; where they say minus infinity, a number
// does that is as good and that the machine has.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/zdnn/kernel.h"
#include "ops/attention/attention.h"

namespace shunt::zdnn {

namespace {

/// Far below any score, and far from where a difference of two would be beyond DLFLOAT16.
constexpr float kMasked = -0x1p26F;
/// Bytes of its own that the machine may want, at a page.
constexpr std::size_t kSaveArea = 8192;

class Softmax final : public ZdnnKernel {
 public:
  const Op& op() const override { return softmax_op(); }

  Support supports_on(const NodeView& view, const Machine& machine) const override {
    if (view.has_source(2)) {
      return Support::no(Refusal::kParameter, "sinks: the machine's softmax has none");
    }
    return needs(view, machine,
                 std::array{Feature::kSoftmax, Feature::kBatchnorm, Feature::kAdd, Feature::kMul});
  }
  bool reads_plain(const NodeView&, const Machine&, std::size_t source) const override {
    return source == 1;
  }
  /// What is large in plain scores or a mask, and the same all over a row, is taken off before
  /// they are rounded.
  bool takes_either(std::size_t source) const override { return source == 0; }
  std::vector<Dims> temporaries(const NodeView& view, const Machine&) const override {
    return std::vector<Dims>(3, max_dims(view.result()));
  }
  std::size_t staging(const NodeView& view, const Machine&) const override {
    const Shape& shape = view.result().shape;
    return kSaveArea +
           static_cast<std::size_t>(element_count(shape) + shape[0].max) * sizeof(float);
  }

  void run(Launch& l) const override {
    const auto& params = l.params->get<SoftmaxParams>();
    auto* const plain = reinterpret_cast<float*>(l.staging + kSaveArea);
    const bool has_mask = l.sources[1].host.data != nullptr;
    std::vector<std::int64_t> blind;
    const Stick* z = l.sources[0].stick;
    const Dims dims = dims_of(l.sizes);
    if (z == nullptr) {
      repeat_mask(l, params.max_bias, plain);
      add_scores(l, params.scale, plain);
      blind = hide(l.sizes, plain);
      Stick& scores = l.temporary(2, dims);
      if (!l.to_machine(plain, scores)) return;
      z = &scores;
    } else {
      if (params.scale != 1) {
        Stick& scaled = l.temporary(0, dims);
        if (!l.affine(*z, params.scale, 0, scaled)) return;
        z = &scaled;
      }
      if (has_mask) {
        repeat_mask(l, params.max_bias, plain);
        for (std::int64_t i = 0; i < rows(l.sizes); ++i) {
          take_off_largest(plain + i * l.sizes[0], l.sizes[0]);
        }
        blind = hide(l.sizes, plain);
        Stick& mask = l.temporary(1, dims);
        Stick& masked = l.temporary(2, dims);
        if (!l.to_machine(plain, mask) || !l.add(*z, mask, masked)) return;
        z = &masked;
      }
    }
    if (blind.empty()) {
      (void)softmax(l, *z, *l.result);
      return;
    }
    // Rows that see nothing are zeros.
    Stick& weights = l.temporary(1, dims);
    if (!softmax(l, *z, weights)) return;
    std::fill_n(plain, rows(l.sizes) * l.sizes[0], 1.0F);
    for (const std::int64_t row : blind) std::fill_n(plain + row * l.sizes[0], l.sizes[0], 0.0F);
    Stick& seen = l.temporary(2, dims);
    (void)(l.to_machine(plain, seen) && l.mul(weights, seen, *l.result));
  }

  /// Scores that matter are at most about 8 below the largest: off by half a unit of that, and
  /// their weights by as much of themselves.
  double roundings(const NodeView&, const Machine&) const override { return 64; }

 private:
  static bool softmax(Launch& l, const Stick& x, Stick& y) {
    return l.call("zdnn_softmax", l.zdnn().softmax(x.get(), l.staging, 0, y.get()));
  }

  static std::int64_t rows(const Sizes& sizes) { return sizes[1] * sizes[2] * sizes[3]; }

  /// Adds x * scale, and takes the largest of each row off it. Behind the rows is room for one.
  static void add_scores(const Launch& l, float scale, float* to) {
    const Sizes& n = l.sizes;
    const HostTensor& x = l.sources[0].host;
    float* const row = to + rows(n) * n[0];
    for (std::int64_t i = 0; i < rows(n); ++i, to += n[0]) {
      read_floats(x, x.row(i % n[1], i / n[1] % n[2], i / n[1] / n[2]), 0, n[0], row);
      std::transform(row, row + n[0], to, to,
                     [scale](float score, float mask) { return score * scale + mask; });
      take_off_largest(to, n[0]);
    }
  }

  /// What a row has in common changes nothing but how finely it is rounded.
  static void take_off_largest(float* row, std::int64_t n) {
    const float largest = *std::max_element(row, row + n);
    if (!std::isfinite(largest)) return;
    std::transform(row, row + n, row, [largest](float z) { return z - largest; });
  }

  /// As large as the scores, times the slopes of heads; zeros if there is none.
  static void repeat_mask(const Launch& l, float max_bias, float* to) {
    const Sizes& n = l.sizes;
    if (l.sources[1].host.data == nullptr) {
      std::fill_n(to, rows(n) * n[0], 0.0F);
      return;
    }
    gather(l.sources[1].host, n, to);
    if (max_bias == 0) return;
    for (std::int64_t i = 0; i < n[2] * n[3]; ++i) {
      const auto slope = static_cast<float>(alibi_slope(max_bias, n[2], i % n[2]));
      for (std::int64_t j = 0; j < n[0] * n[1]; ++j, ++to) *to *= slope;
    }
  }

  /// Puts numbers that the machine has for minus infinity, and for what is as low. The rows that
  /// were minus infinity all over: their result is zeros.
  static std::vector<std::int64_t> hide(const Sizes& sizes, float* mask) {
    std::vector<std::int64_t> blind;
    for (std::int64_t row = 0; row < rows(sizes); ++row, mask += sizes[0]) {
      const auto minus_infinity = [](float value) {
        return value == -std::numeric_limits<float>::infinity();
      };
      if (std::all_of(mask, mask + sizes[0], minus_infinity)) blind.push_back(row);
      std::replace_if(
          mask, mask + sizes[0], [](float value) { return value < kMasked; }, kMasked);
    }
    return blind;
  }
};

}  // namespace

KernelList softmax_kernels() {
  static const Softmax kSoftmax;
  static const std::array<const ZdnnKernel*, 1> kKernels = {&kSoftmax};
  return kKernels;
}

}  // namespace shunt::zdnn
