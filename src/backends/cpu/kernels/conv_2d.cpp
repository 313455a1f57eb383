#include "backends/cpu/kernels/tile.h"
#include "backends/cpu/kernels/window.h"

// A product of matrices. Its rows are the elements that windows see, read where they are needed,
// and its columns are kernels. An item is a tile of the result: neighbouring positions (in memory
// order) times some output channels.

namespace shunt::cpu {

namespace {

/// Reading a window costs about as much as multiplying it with a hundred kernels.
constexpr std::int64_t kOutputs = 2 * kTileColumns;

/// The kernels' elements, of any type and strides, as F32.
class Kernels {
 public:
  /// [KW, KH, C, O].
  explicit Kernels(const TensorArg& w)
      : w_(w),
        channels_(w.sizes[2]),
        channel_stride_(w.strides[2]),
        kernel_stride_(w.strides[3]),
        outputs_(w.sizes[3]) {}
  /// [KW, KH, KD, C * O].
  Kernels(const TensorArg& w, std::int64_t channels)
      : w_(w),
        depth_(w.sizes[2]),
        slice_stride_(w.strides[2]),
        channels_(channels),
        channel_stride_(w.strides[3]),
        kernel_stride_(channels * w.strides[3]),
        outputs_(w.sizes[3] / channels) {}

  std::int64_t outputs() const { return outputs_; }
  /// Elements of one kernel.
  std::int64_t size() const { return w_.sizes[0] * w_.sizes[1] * depth_ * channels_; }
  /// Elements [first, first + count) of a kernel, numbered along x, then y, then z, then channels.
  void read(std::int64_t output, std::int64_t first, std::int64_t count, float* to) const {
    std::byte* kernel = w_.data + output * kernel_stride_;
    if (is_plain()) {
      const auto bytes = static_cast<std::int64_t>(trait(w_.dtype).block_bytes);
      return simd::decode(w_.level, w_.dtype, kernel + first * bytes, to, count);
    }
    const std::int64_t width = w_.sizes[0];
    const std::int64_t height = w_.sizes[1];
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = first + done;
      const std::int64_t run = std::min(width - at % width, count - done);
      std::byte* row = kernel + at / width % height * w_.strides[1] +
                       at / (width * height) % depth_ * slice_stride_ +
                       at / (width * height * depth_) * channel_stride_;
      read_f32(w_, row, at % width, run, to + done);
      done += run;
    }
  }

 private:
  /// Whether the elements of a kernel follow each other.
  bool is_plain() const {
    const std::int64_t row = w_.sizes[0] * static_cast<std::int64_t>(trait(w_.dtype).block_bytes);
    const std::int64_t slice = row * w_.sizes[1];
    return has_plain_rows(w_) && w_.strides[1] == row && (depth_ == 1 || slice_stride_ == slice) &&
           channel_stride_ == slice * depth_;
  }

  TensorArg w_;
  std::int64_t depth_ = 1;
  std::int64_t slice_stride_ = 0;
  std::int64_t channels_;
  std::int64_t channel_stride_;
  std::int64_t kernel_stride_;
  std::int64_t outputs_;
};

struct Conv2dProblem {
  Image image;
  Kernels kernels;
  Triple positions;
};

class ConvKernel : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return Cut(call, problem(call)).items(); }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const final {
    return static_cast<std::size_t>(kTileScratch) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const Conv2dProblem p = problem(call);
    const Cut cut(call, p);
    const auto& [width, height, depth] = p.positions;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t position = item % cut.across * kTileRows;
      const std::int64_t output = item / cut.across % cut.down * kOutputs;
      const std::int64_t n = item / (cut.across * cut.down);
      multiply_tile(
          call.level(), std::min(kTileRows, cut.positions - position),
          std::min(kOutputs, p.kernels.outputs() - output), p.kernels.size(),
          [&, w = width, h = height](std::int64_t r, std::int64_t first, std::int64_t count,
                                     float* to) {
            const std::int64_t at = position + r;
            p.image.read({at % w, at / w % h, at / (w * h)}, n, first, count, to);
          },
          [&](std::int64_t c, std::int64_t first, std::int64_t count, float* to) {
            p.kernels.read(output + c, first, count, to);
          },
          as_f32(call.result.data) + (n * p.kernels.outputs() + output) * cut.positions + position,
          cut.positions, as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  virtual Conv2dProblem problem(const Call& call) const = 0;

  /// How the result is cut, which is contiguous: positions, output channels, images.
  struct Cut {
    std::int64_t positions;
    std::int64_t across;  ///< tiles along positions
    std::int64_t down;    ///< tiles along outputs
    std::int64_t images;
    Cut(const Call& call, const Conv2dProblem& p)
        : positions(p.positions[0] * p.positions[1] * p.positions[2]),
          across(ceil_div(positions, kTileRows)),
          down(ceil_div(p.kernels.outputs(), kOutputs)),
          images(p.kernels.outputs() == 0 ? 0
                                          : call.result.sizes[2] * call.result.sizes[3] /
                                                (p.positions[2] * p.kernels.outputs())) {}
    std::int64_t items() const { return across * down * images; }
  };
};

class Conv2d final : public ConvKernel {
 public:
  const Op& op() const override { return conv_2d_op(); }

 private:
  Conv2dProblem problem(const Call& call) const override {
    const auto& params = call.params->get<Conv2dParams>();
    const TensorArg& w = call.sources[0];
    const Sizes& y = call.result.sizes;
    return {Image(call.sources[1], {w.sizes[0], w.sizes[1]}, params.stride, params.pad,
                  params.dilation),
            Kernels(w),
            {y[0], y[1], 1}};
  }
};

class Conv3d final : public ConvKernel {
 public:
  const Op& op() const override { return conv_3d_op(); }

 private:
  Conv2dProblem problem(const Call& call) const override {
    const auto& params = call.params->get<Conv3dParams>();
    const TensorArg& w = call.sources[0];
    const Sizes& y = call.result.sizes;
    return {Image(call.sources[1], params.channels, {w.sizes[0], w.sizes[1], w.sizes[2]},
                  params.stride, params.pad, params.dilation),
            Kernels(w, params.channels),
            {y[0], y[1], y[2]}};
  }
};

}  // namespace

KernelList conv_2d_kernels() {
  return list_kernels<CpuKernel, Conv2d, Conv3d>();
}

}  // namespace shunt::cpu
