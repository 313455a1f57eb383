// Softmax of rows. Masks are added in the machine's layout to scores that are computed there; to
// others on their way in.
#include <algorithm>
#include <cmath>

#include "backend_support/score_mask.h"
#include "backends/zdnn/kernel.h"
#include "ops/attention/attention.h"

namespace shunt::zdnn {

namespace {

/// Bytes of the save area that the machine may need, at a page.
constexpr std::size_t kSaveArea = 8192;

class Softmax final : public ZdnnKernel {
 public:
  const Op& op() const override { return softmax_op(); }

  std::span<const Need> needs(const NodeView&) const override {
    static constexpr Need kNeeds[] = {
        {Refusal::kParameter,
         [](const NodeView& view, const Machine&) -> std::string {
           return view.has_source(2) ? "sinks: the machine's softmax has none" : "";
         }},
        kHas<Feature::kSoftmax>,
        kHas<Feature::kBatchnorm>,
        kHas<Feature::kAdd>,
        kHas<Feature::kMul>};
    return kNeeds;
  }
  /// A value of plain scores or a mask that is large, and the same all over a row, is taken off
  /// before they are rounded. If both are plain, it is taken off their sum, as a mask may hide the
  /// largest score.
  SourceForm form(const NodeView& view, const Machine&, std::size_t source,
                  const SourcePlaces& places) const override {
    if (places[0] != SourcePlace::kInLayout) {
      return view.has_source(1) ? SourceForm::kPlain : SourceForm::kLevelled;
    }
    return source == 0 || places[1] == SourcePlace::kInLayout ? SourceForm::kSticks
                                                              : SourceForm::kMask;
  }
  float max_bias(const NodeView& view) const override {
    return view.node().params.get<SoftmaxParams>().max_bias;
  }
  float scale(const NodeView& view) const override {
    return view.node().params.get<SoftmaxParams>().scale;
  }
  /// Low values in a mask hide; and of plain scores only those near the largest count.
  bool limits(std::size_t source, SourceForm form) const override {
    return source == 0 && form == SourceForm::kSticks;
  }
  std::vector<Dims> temporaries(const KernelUse& use) const override {
    const Dims dims = max_dims(use.view.result());
    const bool masked = use.view.has_source(1);
    const bool scaled = use.forms[0] == SourceForm::kSticks && scale(use.view) != 1;
    return {scaled ? dims : kNoTemporary, masked ? dims : kNoTemporary,
            masked ? dims : kNoTemporary};
  }
  std::size_t staging(const KernelUse& use) const override {
    if (use.forms[0] != SourceForm::kPlain) return kSaveArea;
    const Shape& shape = use.view.result().shape;
    return kSaveArea +
           static_cast<std::size_t>(element_count(shape) + shape[0].max) * sizeof(float);
  }

  void run(Launch& l) const override {
    const auto& params = l.params->get<SoftmaxParams>();
    if (l.sources[0].stick == nullptr) {
      run_plain(l, params);
      return;
    }
    const Stick* z = l.sources[0].stick;
    const Stick* const mask = l.sources[1].stick;
    const Hiding* const hiding = l.sources[1].hiding;
    if (hiding != nullptr) {
      Stick& shown = l.temporary(1, z->dims());
      if (!with_mask(l, *z, hiding->shown, shown, &Launch::mul)) return;
      z = &shown;
    }
    if (params.scale != 1 && l.sources[0].form == SourceForm::kSticks) {
      if (params.scale != 0 && std::fabs(params.scale) < kSmallest) {
        (void)l.out_of_range();
        return;
      }
      Stick& scaled = l.temporary(0, z->dims());
      if (!l.affine(*z, params.scale, 0, scaled)) return;
      z = &scaled;
    }
    if (mask != nullptr) {
      Stick& masked = l.temporary(2, z->dims());
      const bool slopes = l.sources[1].form == SourceForm::kSticks && params.max_bias != 0;
      if (!(slopes ? add_slopes(l, *z, *mask, params.max_bias, masked)
                   : with_mask(l, *z, *mask, masked, &Launch::add))) {
        return;
      }
      z = &masked;
    }
    if (hiding == nullptr || !hiding->rows) {
      (void)softmax(l, *z, *l.result);
      return;
    }
    Stick& weights = l.temporary(1, z->dims());
    (void)(softmax(l, *z, weights) &&
           with_mask(l, weights, hiding->shown, *l.result, &Launch::mul));
  }

  /// Scores that matter are at most about 8 below the largest: off by half a unit of that, and
  /// their weights by as much of themselves.
  double roundings(const NodeView&, const Machine&) const override { return 64; }

 private:
  static bool softmax(Launch& l, const Stick& x, Stick& y) {
    return l.call<&Symbols::softmax>(x, l.staging, 0U, y);
  }

  /// Of scores and a mask that are plain: they go in as one.
  static void run_plain(Launch& l, const SoftmaxParams& params) {
    auto* const plain = reinterpret_cast<float*>(l.staging + kSaveArea);
    const Dims dims = dims_of(l.sizes);
    repeat_mask(l.sources[1].host, l.sizes, params.max_bias, plain);
    // Behind the rows is room for one.
    add_scores(l.sources[0].host, params.scale, plain + count_rows(l.sizes) * l.sizes[0], plain);
    const Hidden hidden = hide(l.sizes, plain, -kLargest);
    Stick& scores = l.temporary(2, dims);
    if (!l.to_machine(plain, scores)) return;
    if (hidden.rows.empty()) {
      (void)softmax(l, scores, *l.result);
      return;
    }
    // Rows that see nothing are zeros.
    Stick& weights = l.temporary(1, dims);
    if (!softmax(l, scores, weights)) return;
    keep_rows(l.sizes, hidden.rows, plain);
    Stick& seen = l.temporary(2, dims);
    (void)(l.to_machine(plain, seen) && l.mul(weights, seen, *l.result));
  }

  /// Which matrix of a mask belongs to matrix i of the scores. `mask`: as the layout has it.
  static std::int64_t matrix_of(const Launch& l, const Stick& mask, std::int64_t i) {
    // Of a mask with as many as heads in dimension 2, or fewer; dimension 3 has the others.
    Sizes sizes = l.sources[1].sizes;
    sizes[2] = mask.dims().dim4 / sizes[3];
    return repeated_matrix(l.sizes, i, sizes);
  }

  /// Calls function(i, x, m, to) for each matrix i of x, with its matrix of the mask, or of a
  /// tensor that is like the mask.
  template <class Function>
  static bool with_mask(Launch& l, const Stick& x, const Stick& m, Stick& to,
                        const Function& function) {
    return each_matrix(l, x, to, [&](std::int64_t i, const Stick& from, Stick& into) {
      Stick other;
      m.slice(l.zdnn(), matrix_of(l, m, i), other);
      return function(i, from, other, into);
    });
  }

  /// At once, if no matrix is for several.
  static bool with_mask(Launch& l, const Stick& x, const Stick& m, Stick& to,
                        bool (Launch::*function)(const Stick&, const Stick&, Stick&)) {
    if (m.dims() == x.dims()) return (l.*function)(x, m, to);
    return with_mask(l, x, m, to,
                     [&](std::int64_t, const Stick& from, const Stick& other, Stick& into) {
                       return (l.*function)(from, other, into);
                     });
  }

  /// The same sum with slopes, of a mask that was computed and so has no infinities.
  static bool add_slopes(Launch& l, const Stick& z, const Stick& mask, float max_bias, Stick& to) {
    const auto add = [&](std::int64_t i, const Stick& from, const Stick& other, Stick& into) {
      const auto slope = static_cast<float>(alibi_slope(max_bias, l.sizes[2], i % l.sizes[2]));
      if (slope < kSmallest) return l.out_of_range();
      Stick& sloped = l.temporary(1, other.dims());
      return l.affine(other, slope, 0, sloped) && l.add(from, sloped, into);
    };
    return with_mask(l, z, mask, to, add);
  }
};

}  // namespace

KernelList softmax_kernels() {
  return list_kernels<ZdnnKernel, Softmax>();
}

}  // namespace shunt::zdnn
