/* Elementwise, unary and gated operators, reductions and norms: libopapi.so. */
#ifndef ASCEND_TWIN_ACLNN_ELEMENTWISE_H
#define ASCEND_TWIN_ACLNN_ELEMENTWISE_H

#include "aclnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two operands. Integers wrap around; alpha multiplies the second operand. */
ACLNN_OP(Add, const aclTensor* self, const aclTensor* other, const aclScalar* alpha, aclTensor* out)
ACLNN_OP(InplaceAdd, const aclTensor* selfRef, const aclTensor* other, const aclScalar* alpha)
ACLNN_OP(Adds, const aclTensor* self, const aclScalar* other, const aclScalar* alpha,
         aclTensor* out)
ACLNN_OP(InplaceAdds, const aclTensor* selfRef, const aclScalar* other, const aclScalar* alpha)
ACLNN_OP(Sub, const aclTensor* self, const aclTensor* other, const aclScalar* alpha, aclTensor* out)
ACLNN_OP(InplaceSub, aclTensor* selfRef, const aclTensor* other, const aclScalar* alpha)
ACLNN_OP(Subs, const aclTensor* self, const aclScalar* other, const aclScalar* alpha,
         aclTensor* out)
ACLNN_OP(InplaceSubs, aclTensor* selfRef, const aclScalar* other, const aclScalar* alpha)
ACLNN_OP(Mul, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(InplaceMul, aclTensor* selfRef, const aclTensor* other)
ACLNN_OP(Muls, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(InplaceMuls, aclTensor* selfRef, const aclScalar* other)
ACLNN_OP(Div, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(InplaceDiv, aclTensor* selfRef, const aclTensor* other)
ACLNN_OP(Divs, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(InplaceDivs, aclTensor* selfRef, const aclScalar* other)
ACLNN_OP(Maximum, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(Minimum, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(PowTensorTensor, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(InplacePowTensorTensor, aclTensor* selfRef, const aclTensor* other)
ACLNN_OP(PowTensorScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(PowScalarTensor, const aclScalar* self, const aclTensor* exponent, aclTensor* out)

/* Comparisons: out is BOOL, or 0 and 1 in another type. */
ACLNN_OP(EqTensor, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(GtTensor, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(LtTensor, const aclTensor* self, const aclTensor* other, aclTensor* out)
ACLNN_OP(EqScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(GtScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(LtScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(GeScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)
ACLNN_OP(LeScalar, const aclTensor* self, const aclScalar* other, aclTensor* out)

/* condition ? self : other */
ACLNN_OP(SWhere, const aclTensor* condition, const aclTensor* self, const aclTensor* other,
         aclTensor* out)

/* Functions of mathematics. */
ACLNN_OP(Neg, const aclTensor* self, aclTensor* out)
ACLNN_OP(Abs, const aclTensor* self, aclTensor* out)
ACLNN_OP(Sign, const aclTensor* self, aclTensor* out)
ACLNN_OP(Sqrt, const aclTensor* self, aclTensor* out)
ACLNN_OP(Rsqrt, const aclTensor* self, aclTensor* out)
ACLNN_OP(Reciprocal, const aclTensor* self, aclTensor* out)
ACLNN_OP(Exp, const aclTensor* self, aclTensor* out)
ACLNN_OP(InplaceExp, aclTensor* selfRef)
ACLNN_OP(Expm1, const aclTensor* self, aclTensor* out)
ACLNN_OP(Log, const aclTensor* self, aclTensor* out)
ACLNN_OP(Log1p, const aclTensor* self, aclTensor* out)
ACLNN_OP(Sin, const aclTensor* self, aclTensor* out)
ACLNN_OP(InplaceSin, aclTensor* selfRef)
ACLNN_OP(Cos, const aclTensor* self, aclTensor* out)
ACLNN_OP(InplaceCos, aclTensor* selfRef)
ACLNN_OP(Tanh, const aclTensor* self, aclTensor* out)
ACLNN_OP(Erf, const aclTensor* self, aclTensor* out)
ACLNN_OP(Floor, const aclTensor* self, aclTensor* out)
ACLNN_OP(Ceil, const aclTensor* self, aclTensor* out)
ACLNN_OP(Round, const aclTensor* self, aclTensor* out)
ACLNN_OP(Trunc, const aclTensor* self, aclTensor* out)
ACLNN_OP(LogicalNot, const aclTensor* self, aclTensor* out)

/* Activations. GeluV2: 0 is the erf form, 1 the tanh form; Gelu is the tanh form. One bound of
 * Clamp may be null. */
ACLNN_OP(Sigmoid, const aclTensor* self, aclTensor* out)
ACLNN_OP(Relu, const aclTensor* self, aclTensor* out)
ACLNN_OP(Silu, const aclTensor* self, aclTensor* out)
ACLNN_OP(Gelu, const aclTensor* self, aclTensor* out)
ACLNN_OP(Hardsigmoid, const aclTensor* self, aclTensor* out)
ACLNN_OP(Hardswish, const aclTensor* self, aclTensor* out)
ACLNN_OP(GeluV2, const aclTensor* self, int64_t approximate, aclTensor* out)
ACLNN_OP(Elu, const aclTensor* self, const aclScalar* alpha, const aclScalar* scale,
         const aclScalar* inputScale, aclTensor* out)
ACLNN_OP(Softplus, const aclTensor* self, const aclScalar* beta, const aclScalar* threshold,
         aclTensor* out)
ACLNN_OP(LeakyRelu, const aclTensor* self, const aclScalar* negativeSlope, aclTensor* out)
ACLNN_OP(Clamp, const aclTensor* self, const aclScalar* clipValueMin, const aclScalar* clipValueMax,
         aclTensor* out)
ACLNN_OP(ClampMin, const aclTensor* self, const aclScalar* clipValueMin, aclTensor* out)
ACLNN_OP(InplaceClampMax, aclTensor* selfRef, const aclScalar* clipValueMax)
ACLNN_OP(Threshold, const aclTensor* self, const aclScalar* threshold, const aclScalar* value,
         aclTensor* out)
ACLNN_OP(InplaceThreshold, aclTensor* selfRef, const aclScalar* threshold, const aclScalar* value)

/* silu(first half of dim) * second half; gelu likewise, of the left half or of the right one. */
ACLNN_OP(SwiGlu, const aclTensor* x, int64_t dim, aclTensor* out)
ACLNN_OP(GeGluV3, const aclTensor* self, int64_t dim, int64_t approximate, bool activateLeft,
         aclTensor* out, aclTensor* outGelu)

/* Reductions. No dims: all. dtype is that of out, and the type of the sum. */
ACLNN_OP(ReduceSum, const aclTensor* self, const aclIntArray* dims, bool keepDims,
         aclDataType dtype, aclTensor* out)
ACLNN_OP(Mean, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclDataType dtype,
         aclTensor* out)
ACLNN_OP(Amax, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out)
ACLNN_OP(Amin, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out)
ACLNN_OP(Norm, const aclTensor* self, const aclScalar* pScalar, const aclIntArray* dim,
         bool keepDim, aclTensor* out)
ACLNN_OP(ArgMax, const aclTensor* self, int64_t dim, bool keepDim, aclTensor* out)

/* Norms. Weights, biases and LayerNorm's statistics may be null. */
ACLNN_OP(LayerNorm, const aclTensor* input, const aclIntArray* normalizedShape,
         const aclTensor* weightOptional, const aclTensor* biasOptional, double eps, aclTensor* out,
         aclTensor* meanOutOptional, aclTensor* rstdOutOptional)
ACLNN_OP(GroupNorm, const aclTensor* self, const aclTensor* gamma, const aclTensor* beta, int64_t N,
         int64_t C, int64_t HxW, int64_t group, double eps, aclTensor* out, aclTensor* meanOut,
         aclTensor* rstdOut)
ACLNN_OP(RmsNorm, const aclTensor* x, const aclTensor* gamma, double epsilon, const aclTensor* yOut,
         const aclTensor* rstdOut)
ACLNN_OP(AddRmsNorm, const aclTensor* x1, const aclTensor* x2, const aclTensor* gamma,
         double epsilon, const aclTensor* yOut, const aclTensor* rstdOut, const aclTensor* xOut)

/* Softmax. loss = -sum(labels * log_softmax(features)), backprop = softmax(features) - labels. */
ACLNN_OP(Softmax, const aclTensor* self, int64_t dim, aclTensor* out)
ACLNN_OP(LogSoftmax, const aclTensor* self, int64_t dim, aclTensor* out)
ACLNN_OP(SoftmaxCrossEntropyWithLogits, const aclTensor* features, aclTensor* labels,
         aclTensor* loss, aclTensor* backprop)

#ifdef __cplusplus
}
#endif
#endif
