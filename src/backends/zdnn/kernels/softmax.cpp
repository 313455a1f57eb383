// Softmax of rows. Masks are added in the machine's layout; where they say minus infinity, a number
// does that is as good and that the machine has.
#include <algorithm>
#include <array>
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
  std::vector<Dims> temporaries(const NodeView& view, const Machine&) const override {
    return std::vector<Dims>(3, max_dims(view.result()));
  }
  std::size_t staging(const NodeView& view, const Machine&) const override {
    if (!view.has_source(1)) return kSaveArea;
    return kSaveArea + static_cast<std::size_t>(element_count(view.result().shape)) * sizeof(float);
  }

  void run(Launch& l) const override {
    const auto& params = l.params->get<SoftmaxParams>();
    const Stick* z = l.sources[0].stick;
    if (params.scale != 1) {
      Stick& scaled = l.temporary(0, z->dims());
      if (!l.affine(*z, params.scale, 0, scaled)) return;
      z = &scaled;
    }
    if (l.sources[1].host.data == nullptr) {
      (void)softmax(l, *z, *l.result);
      return;
    }
    auto* const mask = reinterpret_cast<float*>(l.staging + kSaveArea);
    repeat_mask(l, params.max_bias, mask);
    const std::vector<std::int64_t> blind = hide(l.sizes, mask);
    Stick& added = l.temporary(1, z->dims());
    Stick& masked = l.temporary(2, z->dims());
    if (!l.to_machine(mask, added) || !l.add(*z, added, masked)) return;
    if (blind.empty()) {
      (void)softmax(l, masked, *l.result);
      return;
    }
    Stick& weights = l.temporary(1, z->dims());
    if (!softmax(l, masked, weights)) return;
    std::fill_n(mask, rows(l.sizes) * l.sizes[0], 1.0F);
    for (const std::int64_t row : blind) std::fill_n(mask + row * l.sizes[0], l.sizes[0], 0.0F);
    Stick& seen = l.temporary(2, z->dims());
    (void)(l.to_machine(mask, seen) && l.mul(weights, seen, *l.result));
  }

  /// An element of z is off by half a unit of its size, and its weight by as much of itself: scores
  /// are of about 8 at most where weights matter.
  double roundings(const NodeView&, const Machine&) const override { return 64; }

 private:
  static bool softmax(Launch& l, const Stick& x, Stick& y) {
    return l.call("zdnn_softmax", l.zdnn().softmax(x.get(), l.staging, 0, y.get()));
  }

  static std::int64_t rows(const Sizes& sizes) { return sizes[1] * sizes[2] * sizes[3]; }

  /// As large as the scores, times the slopes of heads.
  static void repeat_mask(const Launch& l, float max_bias, float* to) {
    const Sizes& n = l.sizes;
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
