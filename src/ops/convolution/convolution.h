// Windows that move over images: tensors [W, H, C, N], of N images of C channels. Window positions
// are numbered from 0; along x, position i meets elements i * stride + j * dilation - pad for j
// from 0 to kernel - 1, and there are (W + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1
// positions, rounded down, of which there must be at least one. What lies outside of the image
// counts as 0, unless it says otherwise. All sizes but N are fixed, and none is above 2^31 - 1.
#pragma once

#include <array>
#include <string_view>

#include "shunt/graph.h"

namespace shunt {

/// A number for x, one for y.
using Pair = std::array<std::int64_t, 2>;

struct Conv2dParams {
  Pair stride = {1, 1};    ///< at least 1
  Pair pad = {0, 0};       ///< at least 0, on both sides
  Pair dilation = {1, 1};  ///< at least 1
  template <class F>
  void each(F f) const {
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
  }
};

const Op& conv_2d_op();
/// y[i, j, o, n] = sum over kx, ky, c of w[kx, ky, c, o] * x[i * stride + kx * dilation - pad, ...,
/// c, n]: what neural networks call a convolution (the kernel is not mirrored). w: F32, F16 or BF16
/// [KW, KH, C, O]. x: F32 [W, H, C, N]. The result is F32 [positions along x, positions along y, O,
/// N].
Result<Value> conv_2d(GraphBuilder& g, Operand w, Operand x, Conv2dParams params = {});

const Op& conv_2d_dw_op();
/// Depthwise: each channel has a kernel of its own. y[i, j, c, n] = sum over kx, ky of w[kx, ky, 0,
/// c]
/// * x[i * stride + kx * dilation - pad, ..., c, n].
/// w: F32, F16 or BF16 [KW, KH, 1, C]. x: F32 [W, H, C, N]. The result is F32 [positions along x,
/// positions along y, C, N].
Result<Value> conv_2d_dw(GraphBuilder& g, Operand w, Operand x, Conv2dParams params = {});

struct Im2colParams {
  Pair kernel = {1, 1};    ///< at least 1
  Pair stride = {1, 1};    ///< at least 1
  Pair pad = {0, 0};       ///< at least 0, on both sides
  Pair dilation = {1, 1};  ///< at least 1
  template <class F>
  void each(F f) const {
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
  }
};

const Op& im2col_op();
/// What each window sees, as a row, so that matmul with reshaped kernels is a convolution:
/// y[kx + KW * (ky + KH * c), i, j, n] = x[i * stride + kx * dilation - pad, ..., c, n].
/// x: F32 [W, H, C, N]. The result is F32 [KW * KH * C, positions along x, positions along y, N].
Result<Value> im2col(GraphBuilder& g, Operand x, Im2colParams params);

enum class Pooling : std::uint8_t { kMax, kAverage };
std::string_view to_string(Pooling pooling);

struct Pool2dParams {
  Pooling pooling = Pooling::kMax;
  Pair kernel = {1, 1};  ///< at least 1
  Pair stride = {1, 1};  ///< at least 1
  Pair pad = {0, 0};     ///< at least 0 and below the kernel, on both sides
  template <class F>
  void each(F f) const {
    f("pooling", pooling);
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
  }
};

const Op& pool_2d_op();
/// The largest element of each window, or their sum divided by the size of the kernel. What lies
/// outside of the image is no candidate for the largest.
/// x: F32 [W, H, C, N], W and H at least 1. The result is F32 [positions along x, positions along
/// y, C, N].
Result<Value> pool_2d(GraphBuilder& g, Operand x, Pool2dParams params);

}  // namespace shunt
