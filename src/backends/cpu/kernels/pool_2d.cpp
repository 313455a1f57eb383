#include <cmath>
#include <limits>
#include <utility>

#include "backends/cpu/kernels/window.h"

namespace shunt::cpu {

namespace {

/// An item is a row of the result.
class PoolKernel : public RowKernel {
 public:
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const final {
    return compute_f32_bytes(node.result(), node.result().size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const Pool2dParams params = windows(*call.params);
    const Image image(call.sources[0], params.kernel, params.stride, params.pad, {1, 1});
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const std::int64_t width = call.result.sizes[0];
      compute_f32(call.result, row_data(call.result, at), 0, width, as_f32(scratch), [&](float* y) {
        for (std::int64_t i = 0; i < width; ++i) {
          y[i] = params.pooling == Pooling::kMax ? largest(image, i, at) : average(image, i, at);
        }
      });
    });
    return Fault::kNone;
  }

 private:
  virtual Pool2dParams windows(const Params& params) const = 0;

  static float largest(const Image& image, std::int64_t i, const RowIndex& at) {
    float most = -std::numeric_limits<float>::infinity();
    for_each_inside(image, i, at, [&](float value) {
      // Not-a-number stays.
      if (value > most || std::isnan(value)) most = value;
    });
    return most;
  }

  static float average(const Image& image, std::int64_t i, const RowIndex& at) {
    double sum = 0;
    for_each_inside(image, i, at, [&](float value) { sum += value; });
    return static_cast<float>(sum / static_cast<double>(image.x().kernel * image.y().kernel));
  }

  /// Calls f for the elements of the image that a window sees: no more than there are, however
  /// large the window.
  template <class F>
  static void for_each_inside(const Image& image, std::int64_t i, const RowIndex& at, F f) {
    const auto [left, right] = inside(image.x(), i);
    const auto [top, bottom] = inside(image.y(), at.i1);
    for (std::int64_t iy = top; iy < bottom; ++iy) {
      const std::byte* row = image.row(iy, at.i2, at.i3);
      for (std::int64_t ix = left; ix < right; ++ix) f(image.load(row, ix));
    }
  }

  static std::pair<std::int64_t, std::int64_t> inside(const Axis& axis, std::int64_t position) {
    const std::int64_t first = axis.at(position, 0);
    return {std::max<std::int64_t>(first, 0), std::min(first + axis.kernel, axis.size)};
  }
};

class Pool1d final : public PoolKernel {
 public:
  const Op& op() const override { return pool_1d_op(); }

 private:
  Pool2dParams windows(const Params& params) const override {
    const auto& row = params.get<Pool1dParams>();
    return {row.pooling, {row.kernel, 1}, {row.stride, 1}, {row.pad, 0}};
  }
};

class Pool2d final : public PoolKernel {
 public:
  const Op& op() const override { return pool_2d_op(); }

 private:
  Pool2dParams windows(const Params& params) const override { return params.get<Pool2dParams>(); }
};

}  // namespace

KernelList pool_2d_kernels() {
  return list_kernels<CpuKernel, Pool1d, Pool2d>();
}

}  // namespace shunt::cpu
