/// \file
/// Data moved, copied, converted and made.
///
/// "Any plain type" is any but the block types, whose elements can't be moved one by one.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

const Op& cpy_op();
/// Writes src, converted to dst's type, into dst. The node's sources are (dst, src).
/// `dst`: in memory that may be written. `src`: of dst's shape.
/// Types: the same for both, whichever it is; else any type into any that can be encoded without an
/// importance matrix (all but Q8_1, Q8_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS and IQ2_S). Integers and
/// F64 are converted to each other directly, all other types through F32. Both conversions round to
/// nearest, ties to even, unless the format defines another rounding. An integer is rounded in the
/// same way and saturates, also where it is made of infinity; not-a-number becomes 0 in it and in
/// block types. The result is dst, written.
Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst);

const Op& cont_op();
/// A contiguous copy of x. `x`: any type and shape; the result has both.
Result<Value> cont(GraphBuilder& g, Operand x);

const Op& dup_op();
/// A copy of x in memory of its own, which is contiguous. Later writes into x do not change it.
/// `x`: any type and shape; the result has both.
Result<Value> dup(GraphBuilder& g, Operand x);

/// Parameters of set().
struct SetParams {
  Sizes start = {0, 0, 0, 0};
  template <class F>
  void each(F f) const {
    f("start", start);
  }
};
const Op& set_op();
/// Writes x, converted to dst's type as cpy() does, into a window of dst. The window begins at
/// `start` and has x's shape; the rest of dst stays.
/// `dst`: in memory that may be written. `x`: in memory that is not dst's, of a type that can be
/// converted (see cpy()). The window must be inside of dst, and begin and end with whole blocks of
/// dst's type. Where a dimension of dst is a dynamic dimension, that of x must be the same, and
/// start 0. The result is all of dst, written.
Result<Value> set(GraphBuilder& g, Operand dst, Operand x, const Sizes& start);

/// Parameters of repeat().
struct RepeatParams {
  Shape shape;
  template <class F>
  void each(F f) const {
    f("shape", shape);
  }
};
const Op& repeat_op();
/// x, over and over along each dimension until it has `shape`: y[i] = x[i mod x's shape].
/// `x`: any type; each of its dimensions divides that of `shape`. The result has x's type.
Result<Value> repeat(GraphBuilder& g, Operand x, const Shape& shape);

/// Parameters of concat().
struct ConcatParams {
  int dim = 0;
  template <class F>
  void each(F f) const {
    f("dim", dim);
  }
};
const Op& concat_op();
/// The elements of b after those of a along dimension `dim`, which is from 0 to 3.
/// `a`, `b`: of the same type, whichever it is, and of the same shape but for that dimension. Along
/// it, both are fixed or multiples of the same dynamic dimension. The result has their type.
Result<Value> concat(GraphBuilder& g, Operand a, Operand b, int dim);

/// The elements that are added.
enum class Padding : std::uint8_t {
  kConstant,  ///< a number
  kCircular,  ///< the elements that follow at the other end
};
/// "constant", "circular".
std::string_view to_string(Padding padding);

/// Parameters of pad().
struct PadParams {
  Sizes before = {0, 0, 0, 0};  ///< elements added at the start of each dimension, at least 0
  Sizes after = {0, 0, 0, 0};   ///< and at the end
  Padding padding = Padding::kConstant;
  float value = 0;  ///< the number, a finite one
  template <class F>
  void each(F f) const {
    f("before", before);
    f("after", after);
    f("padding", padding);
    f("value", value);
  }
};
const Op& pad_op();
/// x with elements added around it. Circular: y[i] = x[(i - before) mod n] along each dimension of
/// n elements, however many are added; there must be one. Constant: `value`, converted as cpy()
/// does. Dimensions that grow must be fixed. `x`: any plain type; circular also block types, by
/// whole blocks along dimension 0. The result has x's type.
Result<Value> pad(GraphBuilder& g, Operand x, PadParams params);

/// Parameters of pad_reflect_1d().
struct PadReflectParams {
  std::int64_t before = 0;
  std::int64_t after = 0;
  template <class F>
  void each(F f) const {
    f("before", before);
    f("after", after);
  }
};
const Op& pad_reflect_1d_op();
/// Rows go on backwards at both ends, and the outermost element is not repeated. From [a, b, c]
/// with 2 before and 1 after, the result is [c, b, a, b, c, b].
/// `x`: any plain type [C, ...], C fixed. `before` and `after`: from 0 to C - 1. The result is
/// [before + C + after, ...], of x's type.
Result<Value> pad_reflect_1d(GraphBuilder& g, Operand x, PadReflectParams params);

/// Parameters of roll().
struct RollParams {
  Sizes shift = {0, 0, 0, 0};
  template <class F>
  void each(F f) const {
    f("shift", shift);
  }
};
const Op& roll_op();
/// Elements moved on along each dimension, and in again at the start where they leave at the end:
/// y[(i + shift) mod n] = x[i]. Any shift, also a negative one.
/// `x`: any type; along dimension 0, block types roll by whole blocks. The result has x's type and
/// shape.
Result<Value> roll(GraphBuilder& g, Operand x, const Sizes& shift);

const Op& diag_op();
/// A vector as a diagonal matrix: y[i, i] = x[i], 0 elsewhere. The same applies to each slice along
/// dimensions 2 and 3. `x`: any plain type [N, 1, X2, X3]. The result is [N, N, X2, X3], of x's
/// type.
Result<Value> diag(GraphBuilder& g, Operand x);

/// A part of a square matrix: the elements whose row's number is above that of their column, or
/// below.
enum class Triangle : std::uint8_t { kLower, kUpper };
/// "lower", "upper".
std::string_view to_string(Triangle triangle);

/// Parameters of tri().
struct TriParams {
  Triangle triangle = Triangle::kLower;
  bool diagonal = true;  ///< with the elements where both are the same
  template <class F>
  void each(F f) const {
    f("triangle", triangle);
    f("diagonal", diagonal);
  }
};
const Op& tri_op();
/// A triangle of each matrix (columns are dimension 0, rows dimension 1), 0 elsewhere. Matrices
/// need not be square. `x`: any plain type and shape; the result has both.
Result<Value> tri(GraphBuilder& g, Operand x, TriParams params = {});

/// Parameters of diag_mask_inf().
struct DiagMaskInfParams {
  std::int64_t n_past = 0;
  template <class F>
  void each(F f) const {
    f("n_past", n_past);
  }
};
const Op& diag_mask_inf_op();
/// Scores of attention without those of later tokens: minus infinity where column > n_past + row,
/// else x. `n_past`: at least 0. `x`: F32, F16 or BF16, any shape; the result has both.
Result<Value> diag_mask_inf(GraphBuilder& g, Operand x, std::int64_t n_past);

/// Parameters of arange().
struct ArangeParams {
  double start = 0;
  double stop = 0;
  double step = 1;
  template <class F>
  void each(F f) const {
    f("start", start);
    f("stop", stop);
    f("step", step);
  }
};
const Op& arange_op();
/// start, start + step, start + 2 step, ... as long as stop is not reached: ceil((stop - start) /
/// step) numbers, none if that is negative; computed in double precision. All finite, step not 0.
/// The result is F32 [count].
Result<Value> arange(GraphBuilder& g, ArangeParams params);

/// Parameters of fill().
struct FillParams {
  Shape shape;
  float value = 0;
  DType type = DType::kF32;
  template <class F>
  void each(F f) const {
    f("shape", shape);
    f("value", value);
    f("type", type);
  }
};
const Op& fill_op();
/// A tensor of one number, converted to `type` as cpy() does. `value`: any number, also an infinite
/// one. `type`: any plain type.
Result<Value> fill(GraphBuilder& g, const Shape& shape, float value, DType type = DType::kF32);

/// Parameters of timestep_embedding().
struct TimestepEmbeddingParams {
  std::int64_t dim = 0;
  float max_period = 10000;
  template <class F>
  void each(F f) const {
    f("dim", dim);
    f("max_period", max_period);
  }
};
const Op& timestep_embedding_op();
/// Sinusoidal embedding of a time step, as in diffusion models. `y[j, n] = cos(t[n] f(j))` and
/// `y[half + j, n] = sin(t[n] f(j))` for j from 0 to half - 1. `half` is dim / 2 rounded down, and
/// `f(j) = max_period^(-j / half)`. Where dim is odd, the last element is 0.
/// `t`: F32 or I32 [N]. `dim`: at least 1. `max_period`: above 0. The result is F32 [dim, N].
Result<Value> timestep_embedding(GraphBuilder& g, Operand t, TimestepEmbeddingParams params);

/// How elements between those of the source are found.
enum class Interpolation : std::uint8_t { kNearest, kBilinear, kBicubic };
/// "nearest", "bilinear", "bicubic".
std::string_view to_string(Interpolation interpolation);

/// Parameters of upscale().
struct UpscaleParams {
  std::int64_t width = 0;
  std::int64_t height = 0;
  Interpolation interpolation = Interpolation::kNearest;
  bool align_corners = false;
  bool antialias = false;
  template <class F>
  void each(F f) const {
    f("width", width);
    f("height", height);
    f("interpolation", interpolation);
    f("align_corners", align_corners);
    f("antialias", antialias);
  }
};
const Op& upscale_op();
/// Images of another size, larger or smaller, as PyTorch's `torch.nn.functional.interpolate(x, size
/// = (height, width), mode, align_corners, antialias)` defines them. Along each of the two
/// dimensions, from n elements to m, element i of the result is the sum of weights times elements
/// of x:
///
/// - nearest: the sum is `x[floor(i n / m)]`.
/// - Else the scale is `s = n / m` and the place is `p = (i + 1/2) s - 1/2`. With align_corners,
///   `s = (n - 1) / (m - 1)`, or 0 if m is 1, and `p = i s`, so that the outermost elements stay.
/// - bilinear: p is at least 0. With `k = floor(p)` and `l = p - k`, the sum is
///   `(1 - l) x[k] + l x[k + 1]`.
/// - bicubic: the sum over j from k - 1 to k + 2 of `cubic(p - j; -3/4) x[j]`. `cubic(d; a)` is
///   `(a + 2) |d|^3 - (a + 3) |d|^2 + 1` for |d| up to 1, `a (|d|^3 - 5 |d|^2 + 8 |d| - 4)` up to
///   2, else 0. In both, the outermost element replaces the elements that x does not have.
/// - with antialias: let `c = s (i + 1/2)`, `w = max(s, 1)` and `r = 1` (bilinear) or 2 (bicubic).
///   The result is the sum over j from `max(0, floor(c - r w + 1/2))` to
///   `min(n, floor(c + r w + 1/2)) - 1` of `f((j - c + 1/2) / w) x[j]`, divided by the sum of these
///   f. `f(d)` is `max(0, 1 - |d|)` (bilinear) or `cubic(d; -1/2)` (bicubic).
/// Nearest takes neither align_corners nor antialias. Places are computed in double precision (and
/// nearest's in whole numbers), where PyTorch rounds them to F32.
/// `x`: F32, F16 or BF16 [W, H, C, N]. W and H are fixed and, like width and height, from 1 to
/// 2^31 - 1. The result is of x's type, [width, height, C, N], computed in F32 and rounded once.
Result<Value> upscale(GraphBuilder& g, Operand x, UpscaleParams params);

}  // namespace shunt
