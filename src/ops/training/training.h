/// \file
/// The additions of training to the forward ops: gradients, losses and optimiser steps. An op named
/// X_back takes the gradient dy of a loss by X's result and gives that by X's source. Its other
/// arguments are arguments of X, or the result of X.
#pragma once

#include "shunt/graph.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/convolution.h"
#include "shunt/ops/norm.h"

namespace shunt {

/// Parameters of repeat_back().
struct RepeatBackParams {
  Shape shape;  ///< of the result; each dimension divides that of dy
  template <class F>
  void each(F f) const {
    f("shape", shape);
  }
};

const Op& repeat_back_op();
/// Of repeating x until it has dy's shape (as broadcasting does): dx[i] is the sum of dy over all
/// places that x[i] was repeated to.
/// `dy`: F32, any shape. The result is F32 of `shape`.
Result<Value> repeat_back(GraphBuilder& g, Operand dy, const Shape& shape);

/// Parameters of get_rows_back().
struct GetRowsBackParams {
  std::int64_t rows = 0;  ///< R, of the table
  template <class F>
  void each(F f) const {
    f("rows", rows);
  }
};

const Op& get_rows_back_op();
/// Of get_rows: `dtable[:, r]` is the sum of `dy[:, i]` over all i with `ids[i] = r`.
/// `dy`: F32 [C, N].
/// `ids`: I32 or I64 [N], each from 0 to R - 1; a run with another one fails.
/// The result is F32 [C, R].
Result<Value> get_rows_back(GraphBuilder& g, Operand dy, Operand ids, std::int64_t rows);

/// Parameters of im2col_back().
struct Im2colBackParams {
  Im2colParams windows;  ///< the type of im2col's result makes no difference
  Pair image = {0, 0};   ///< W and H
  template <class F>
  void each(F f) const {
    windows.each(f);
    f("image", image);
  }
};

const Op& im2col_back_op();
/// Of im2col: `dx[ix, iy, c, n]` is the sum of `dy[kx + KW * (ky + KH * c), i, j, n]` over all
/// windows `(i, j)` and places `(kx, ky)` in them that meet it.
/// `dy`: F32 [KW * KH * C, positions along x, positions along y, N], for an image of that size.
/// The result is F32 [W, H, C, N].
Result<Value> im2col_back(GraphBuilder& g, Operand dy, Im2colBackParams params);

const Op& silu_back_op();
/// Gradient of silu: dx = dy * s * (1 + x * (1 - s)), with s = 1 / (1 + exp(-x)).
/// `dy`, `x`: F32 of the same shape, which the result has, too.
Result<Value> silu_back(GraphBuilder& g, Operand dy, Operand x);

const Op& rms_norm_back_op();
/// Gradient of rms_norm: with r = 1 / sqrt(mean(x^2) + eps), dx = r * dy - x * r^3 * mean(x * dy)
/// along dimension 0. `dy`, `x`: F32 of the same shape, which the result has, too.
Result<Value> rms_norm_back(GraphBuilder& g, Operand dy, Operand x, RmsNormParams params = {});

const Op& softmax_back_op();
/// Of softmax, of which y is the result, by x: `dx = scale * y * (dy - sum(y * dy))` along
/// dimension 0, with any mask and sinks. `dy`, `y`: F32 of the same shape, which the result has,
/// too.
Result<Value> softmax_back(GraphBuilder& g, Operand dy, Operand y, SoftmaxParams params = {});

const Op& rope_back_op();
/// Gradient of rope: each pair is turned back by its angle (and multiplied by the same magnitude).
/// This is the result of rope() for dy at minus the positions. Sources and parameters are those of
/// rope().
Result<Value> rope_back(GraphBuilder& g, Operand dy, Operand positions, Operand freq_factors,
                        RopeParams params);

const Op& cross_entropy_loss_op();
/// Mean over rows of the cross entropy of the labels and the predictions of the logits:
///   `loss = -1 / R * sum over rows and c of labels[c] * ln(softmax(logits)[c])`.
/// Labels of 0 add nothing, for any logit. Without rows the loss is 0. `logits`: F32 [C, X1, X2,
/// X3], R rows in all; `labels`: F32 of the same shape, probabilities. The result is F32 [1].
Result<Value> cross_entropy_loss(GraphBuilder& g, Operand logits, Operand labels);

const Op& cross_entropy_loss_back_op();
/// Gradient of cross_entropy_loss by the logits, for each row: `dlogits = dloss / R *
/// (softmax(logits) * sum(labels) - labels)`. The labels of a row of probabilities sum up to 1.
/// `dloss`: F32 [1]; `logits`, `labels`: F32 of the same shape, which the result has, too.
Result<Value> cross_entropy_loss_back(GraphBuilder& g, Operand dloss, Operand logits,
                                      Operand labels);

/// Parameters of update_moment().
struct UpdateMomentParams {
  float beta = 0.9F;       ///< how much stays, from 0 to 1
  std::int64_t power = 1;  ///< 1 for the mean, 2 for the mean square
  template <class F>
  void each(F f) const {
    f("beta", beta);
    f("power", power);
  }
};

const Op& update_moment_op();
/// Moving average of a power: m = beta * m + (1 - beta) * x^power.
/// `m`: F32, in memory that may be written; `x`: F32 of the same shape. The result is m, written.
Result<Value> update_moment(GraphBuilder& g, Operand m, Operand x, UpdateMomentParams params = {});

/// Parameters of opt_step_adamw().
struct AdamwParams {
  float beta1 = 0.9F;         ///< from 0 to below 1
  float beta2 = 0.999F;       ///< from 0 to below 1
  float eps = 1e-8F;          ///< above 0
  float weight_decay = 0.0F;  ///< at least 0
  template <class F>
  void each(F f) const {
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
  }
};

const Op& opt_step_adamw_op();
/// A step of AdamW (decoupled weight decay, arXiv 1711.05101). It is three nodes. Two are
/// update_moment() of m, the mean of the gradient, and of v, that of its square. Then, with the
/// moments' bias taken out,
///   `w = w - rate * (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps) +
///                    weight_decay * w)`.
/// `w`, `m`, `v`: F32 of the same shape, in memory that may be written (role cache); m and v start
/// as zeros. `gradient`: F32 of that shape.
/// `rate`: F32 [1]. `step`: I32 [1], 1 in the first step; a run with one below 1 fails.
/// The result is w, written.
Result<Value> opt_step_adamw(GraphBuilder& g, Operand w, Operand gradient, Operand m, Operand v,
                             Operand rate, Operand step, AdamwParams params = {});

/// Parameters of opt_step_sgd().
struct SgdParams {
  float weight_decay = 0.0F;  ///< at least 0
  template <class F>
  void each(F f) const {
    f("weight_decay", weight_decay);
  }
};

const Op& opt_step_sgd_op();
/// A step along the gradient: w = w - rate * (gradient + weight_decay * w).
/// `w`: F32, in memory that may be written (role cache); `gradient`: F32 of that shape; `rate`: F32
/// [1]. The result is w, written.
Result<Value> opt_step_sgd(GraphBuilder& g, Operand w, Operand gradient, Operand rate,
                           SgdParams params = {});

const Op& acc_op();
/// dst = dst + x, in place, computed in F32 and rounded once to dst's type. A window of a larger
/// tensor is a view of it.
/// `dst`: F32, F16 or BF16, in memory that may be written; `x`: F32, F16 or BF16 of the same shape.
/// The result is dst, written.
Result<Value> acc(GraphBuilder& g, Operand dst, Operand x);

const Op& count_equal_op();
/// How many elements of a and b are equal. `a`, `b`: I32 or I64, each its own, of the same shape;
/// the result is I64 [1].
Result<Value> count_equal(GraphBuilder& g, Operand a, Operand b);

const Op& out_prod_op();
/// Outer products of rows, summed up: y[m, n] = sum over k of a[m, k] * b[n, k], as in the gradient
/// of matmul() by its weights. Slice i2 of b meets slice i2 / (B2 / A2) of a, and so along
/// dimension 3.
/// `a`: [M, K, A2, A3] of any type but F64 and integers.
/// `b`: F32 [N, K, B2, B3]; A2 divides B2, and A3 divides B3.
/// The result is F32 [M, N, B2, B3].
Result<Value> out_prod(GraphBuilder& g, Operand a, Operand b);

}  // namespace shunt
