/// \file
/// Windows that move over images: tensors [W, H, C, N], of N images of C channels. Window positions
/// are numbered from 0. Along x, position i meets elements `i * stride + j * dilation - pad` for j
/// from 0 to kernel - 1. There are `(W + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1`
/// positions, rounded down, and there must be at least one. Elements outside of the image count as
/// 0, unless the op says otherwise. All sizes but N are fixed, and none is above 2^31 - 1. Images
/// with depth are [W, H, D, C * N]: channel c of image n is slice c + C * n.
#pragma once

#include <array>
#include <string_view>

#include "shunt/graph.h"

namespace shunt {

/// A number for x, one for y.
using Pair = std::array<std::int64_t, 2>;
/// One for x, for y and for z.
using Triple = std::array<std::int64_t, 3>;

/// Parameters of conv_transpose_1d().
struct Conv1dParams {
  std::int64_t stride = 1;    ///< at least 1
  std::int64_t pad = 0;       ///< at least 0, on both sides
  std::int64_t dilation = 1;  ///< at least 1
  template <class F>
  void each(F f) const {
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
  }
};

/// Parameters of conv_2d(), conv_2d_dw() and conv_transpose_2d().
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
/// `y[i, j, o, n]` is the sum over kx, ky, c of `w[kx, ky, c, o] * x[i * stride + kx * dilation -
/// pad, ..., c, n]`. Neural networks call this a convolution (the kernel is not mirrored).
/// `w`: F32, F16 or BF16 [KW, KH, C, O]. `x`: F32, F16 or BF16 [W, H, C, N].
/// The result is F32 [positions along x, positions along y, O, N].
Result<Value> conv_2d(GraphBuilder& g, Operand w, Operand x, Conv2dParams params = {});

const Op& conv_2d_dw_op();
/// Depthwise: each channel has a kernel of its own. `y[i, j, c, n]` is the sum over kx, ky of
/// `w[kx, ky, 0, c] * x[i * stride + kx * dilation - pad, ..., c, n]`.
/// `w`: F32, F16 or BF16 [KW, KH, 1, C]. `x`: F32, F16 or BF16 [W, H, C, N].
/// The result is F32 [positions along x, positions along y, C, N].
Result<Value> conv_2d_dw(GraphBuilder& g, Operand w, Operand x, Conv2dParams params = {});

/// Parameters of conv_3d().
struct Conv3dParams {
  std::int64_t channels = 1;  ///< C, at least 1
  Triple stride = {1, 1, 1};
  Triple pad = {0, 0, 0};
  Triple dilation = {1, 1, 1};
  template <class F>
  void each(F f) const {
    f("channels", channels);
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
  }
};

const Op& conv_3d_op();
/// The same with depth. Channels share the outermost dimension with the images or kernels that they
/// belong to. `y[i, j, k, o + O * n]` is the sum over kx, ky, kz, c of `w[kx, ky, kz, c + C * o] *
/// x[i * stride + kx * dilation - pad, ..., ..., c + C * n]`.
/// `w`: F32, F16 or BF16 [KW, KH, KD, C * O]. `x`: F32, F16 or BF16 [W, H, D, C * N].
/// The result is F32 [positions along x, along y, along z, O * N].
Result<Value> conv_3d(GraphBuilder& g, Operand w, Operand x, Conv3dParams params = {});

const Op& conv_transpose_1d_op();
/// A convolution backwards, from a position to all elements that its window meets. `y[i, o, n]` is
/// the sum over all j, k with `j * stride + k * dilation - pad = i`, and over c, of
/// `w[k, o, c] * x[j, c, n]`.
/// `w`: F32, F16 or BF16 [K, O, C]. `x`: F32, F16 or BF16 [L, C, N], L at least 1.
/// The result is F32 `[(L - 1) * stride + dilation * (K - 1) + 1 - 2 * pad, O, N]`, of at least one
/// element a row. For many channels a product is faster: col2im_1d() of matmul() of the kernels as
/// `[C, K * O]` and of x as [C, L].
Result<Value> conv_transpose_1d(GraphBuilder& g, Operand w, Operand x, Conv1dParams params = {});

const Op& conv_transpose_2d_op();
/// The same with two axes. `y[ix, iy, o, n]` is the sum over all i, kx with
/// `i * stride + kx * dilation - pad = ix`, all j, ky alike for iy, and over c, of
/// `w[kx, ky, o, c] * x[i, j, c, n]`.
/// `w`: F32, F16 or BF16 [KW, KH, O, C]. `x`: F32, F16 or BF16 [W, H, C, N], W and H at least 1.
/// The result is F32 `[(W - 1) * stride + dilation * (KW - 1) + 1 - 2 * pad, the same of H, O, N]`.
Result<Value> conv_transpose_2d(GraphBuilder& g, Operand w, Operand x, Conv2dParams params = {});

/// Parameters of im2col().
struct Im2colParams {
  Pair kernel = {1, 1};      ///< at least 1
  Pair stride = {1, 1};      ///< at least 1
  Pair pad = {0, 0};         ///< at least 0, on both sides
  Pair dilation = {1, 1};    ///< at least 1
  DType type = DType::kF32;  ///< of the result: F32, F16 or BF16
  template <class F>
  void each(F f) const {
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
    f("type", type);
  }
};

const Op& im2col_op();
/// The elements that each window sees, as a row, so that matmul with reshaped kernels is a
/// convolution. `y[kx + KW * (ky + KH * c), i, j, n] = x[i * stride + kx * dilation - pad, ..., c,
/// n]`.
/// `x`: F32, F16 or BF16 [W, H, C, N].
/// The result is [KW * KH * C, positions along x, positions along y, N].
Result<Value> im2col(GraphBuilder& g, Operand x, Im2colParams params);

/// Parameters of im2col_3d().
struct Im2col3dParams {
  std::int64_t channels = 1;  ///< C, at least 1
  Triple kernel = {1, 1, 1};
  Triple stride = {1, 1, 1};
  Triple pad = {0, 0, 0};
  Triple dilation = {1, 1, 1};
  DType type = DType::kF32;  ///< of the result: F32, F16 or BF16
  template <class F>
  void each(F f) const {
    f("channels", channels);
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
    f("type", type);
  }
};

const Op& im2col_3d_op();
/// The same with depth. `y[kx + KW * (ky + KH * (kz + KD * c)), i, j, k + positions along z * n] =
/// x[i * stride + kx * dilation - pad, ..., ..., c + C * n]`.
/// `x`: F32, F16 or BF16 [W, H, D, C * N].
/// The result is [KW * KH * KD * C, positions along x, along y, positions along z * N].
Result<Value> im2col_3d(GraphBuilder& g, Operand x, Im2col3dParams params);

/// Parameters of col2im_1d().
struct Col2im1dParams {
  std::int64_t kernel = 1;    ///< K, at least 1
  std::int64_t stride = 1;    ///< at least 1
  std::int64_t pad = 0;       ///< at least 0, on both sides
  std::int64_t dilation = 1;  ///< at least 1
  template <class F>
  void each(F f) const {
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
    f("dilation", dilation);
  }
};

const Op& col2im_1d_op();
/// Adds up windows where they overlap, the reverse of im2col. `y[i, c, n]` is the sum over all j, k
/// with `j * stride + k * dilation - pad = i` of `x[k + K * c, j, n]`.
/// `x`: F32, F16 or BF16 [K * C, L, N], L at least 1.
/// The result is F32 `[(L - 1) * stride + dilation * (K - 1) + 1 - 2 * pad, C, N]`, of at least one
/// element a row.
Result<Value> col2im_1d(GraphBuilder& g, Operand x, Col2im1dParams params);

/// The element that stands for a window: the largest, or the mean.
enum class Pooling : std::uint8_t { kMax, kAverage };
/// "max", "average".
std::string_view to_string(Pooling pooling);

/// Parameters of pool_1d().
struct Pool1dParams {
  Pooling pooling = Pooling::kMax;
  std::int64_t kernel = 1;  ///< at least 1
  std::int64_t stride = 1;  ///< at least 1
  std::int64_t pad = 0;     ///< at least 0 and below the kernel, on both sides
  template <class F>
  void each(F f) const {
    f("pooling", pooling);
    f("kernel", kernel);
    f("stride", stride);
    f("pad", pad);
  }
};

const Op& pool_1d_op();
/// pool_2d along rows only, whose number may be anything.
/// `x`: F32, F16 or BF16 [W, X1, X2, X3], W at least 1. The result is of x's type, [positions, X1,
/// X2, X3].
Result<Value> pool_1d(GraphBuilder& g, Operand x, Pool1dParams params);

/// Parameters of pool_2d().
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
/// The largest element of each window, or their sum divided by the size of the kernel. Elements
/// outside of the image are no candidates for the largest.
/// `x`: F32, F16 or BF16 [W, H, C, N], W and H at least 1. The result is of x's type, [positions
/// along x, positions along y, C, N], computed in F32 and rounded once.
Result<Value> pool_2d(GraphBuilder& g, Operand x, Pool2dParams params);

}  // namespace shunt
