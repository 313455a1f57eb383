// The vendor's operators that kernels call, with the parameters of their first phase.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cann/tensor.h"

namespace shunt::cann {

/// A number as an operator takes it.
struct Scalar {
  // NOLINTBEGIN(google-explicit-constructor): kernels give plain numbers
  Scalar(float number) : type(DataType::kFloat), value(static_cast<double>(number)) {}
  Scalar(double number) : type(DataType::kFloat), value(number) {}
  Scalar(int number) : type(DataType::kInt64), value(number) {}
  Scalar(std::int64_t number) : type(DataType::kInt64), value(static_cast<double>(number)) {}
  // NOLINTEND(google-explicit-constructor)
  Scalar(DataType as, double number) : type(as), value(number) {}
  DataType type;
  double value;  ///< exact up to 2^53
};

// Parameters: the type in the vendor's function, and the type that a kernel gives for it.
struct In {
  using Abi = const AclTensor*;
  using Given = View;
};
struct MaybeIn {
  using Abi = const AclTensor*;
  using Given = std::optional<View>;
};
struct Out {
  using Abi = AclTensor*;
  using Given = View;
};
struct MaybeOut {
  using Abi = AclTensor*;
  using Given = std::optional<View>;
};
/// Read and written.
struct InOut {
  using Abi = AclTensor*;
  using Given = View;
};
struct ScalarIn {
  using Abi = const AclScalar*;
  using Given = Scalar;
};
struct MaybeScalar {
  using Abi = const AclScalar*;
  using Given = std::optional<Scalar>;
};
struct IntsIn {
  using Abi = const AclIntArray*;
  using Given = std::vector<std::int64_t>;
};
struct MaybeInts {
  using Abi = const AclIntArray*;
  using Given = std::optional<std::vector<std::int64_t>>;
};
struct Text {
  using Abi = char*;
  using Given = const char*;
};
/// A list of tensors.
struct ListIn {
  using Abi = const AclTensorList*;
  using Given = std::vector<View>;
};
struct MaybeList {
  using Abi = const AclTensorList*;
  using Given = std::optional<std::vector<View>>;
};
struct ListOut {
  using Abi = const AclTensorList*;
  using Given = std::vector<View>;
};
/// A value that is passed on as it is.
template <class T>
struct Plain {
  using Abi = T;
  using Given = T;
};
using Integer = Plain<std::int64_t>;
using Int32 = Plain<std::int32_t>;
using Real = Plain<double>;
using Flag = Plain<bool>;
using Type = Plain<DataType>;
using Cube = Plain<CubeMath>;

/// An operator: its name without "aclnn". Those that are not known to take operands with gaps get
/// contiguous copies, and write results with gaps by way of a copy.
template <class... Parameters>
struct VendorOp {
  const char* name;
  bool takes_strides = false;
};

// Two operands; alpha multiplies the second.
inline constexpr VendorOp<In, In, ScalarIn, Out> kAdd{"Add"};
inline constexpr VendorOp<In, ScalarIn, ScalarIn, Out> kAdds{"Adds"};
inline constexpr VendorOp<InOut, In, ScalarIn> kInplaceAdd{"InplaceAdd"};
inline constexpr VendorOp<In, In, ScalarIn, Out> kSub{"Sub"};
inline constexpr VendorOp<In, In, Out> kMul{"Mul"};
inline constexpr VendorOp<InOut, In> kInplaceMul{"InplaceMul"};
inline constexpr VendorOp<In, ScalarIn, Out> kMuls{"Muls"};
inline constexpr VendorOp<InOut, ScalarIn> kInplaceMuls{"InplaceMuls"};
inline constexpr VendorOp<In, In, Out> kDiv{"Div"};
inline constexpr VendorOp<In, ScalarIn, Out> kDivs{"Divs"};
inline constexpr VendorOp<In, In, Out> kMaximum{"Maximum"};
inline constexpr VendorOp<In, In, Out> kMinimum{"Minimum"};

// Comparisons. The result is Bool, or 0 and 1 in another type.
inline constexpr VendorOp<In, In, Out> kEqTensor{"EqTensor"};
inline constexpr VendorOp<In, In, Out> kGtTensor{"GtTensor"};
inline constexpr VendorOp<In, In, Out> kLtTensor{"LtTensor"};
inline constexpr VendorOp<In, ScalarIn, Out> kEqScalar{"EqScalar"};
inline constexpr VendorOp<In, ScalarIn, Out> kGtScalar{"GtScalar"};
inline constexpr VendorOp<In, ScalarIn, Out> kLtScalar{"LtScalar"};
inline constexpr VendorOp<In, ScalarIn, Out> kGeScalar{"GeScalar"};
inline constexpr VendorOp<In, ScalarIn, Out> kLeScalar{"LeScalar"};
inline constexpr VendorOp<In, Out> kLogicalNot{"LogicalNot"};

// Functions.
inline constexpr VendorOp<In, Out> kNeg{"Neg"};
inline constexpr VendorOp<In, Out> kAbs{"Abs"};
inline constexpr VendorOp<In, Out> kSign{"Sign"};
inline constexpr VendorOp<In, Out> kSqrt{"Sqrt"};
inline constexpr VendorOp<In, Out> kReciprocal{"Reciprocal"};
inline constexpr VendorOp<In, Out> kExp{"Exp"};
inline constexpr VendorOp<In, Out> kExpm1{"Expm1"};
inline constexpr VendorOp<In, Out> kLog{"Log"};
inline constexpr VendorOp<In, Out> kLog1p{"Log1p"};
inline constexpr VendorOp<In, Out> kSin{"Sin"};
inline constexpr VendorOp<In, Out> kCos{"Cos"};
inline constexpr VendorOp<In, Out> kTanh{"Tanh"};
inline constexpr VendorOp<In, Out> kFloor{"Floor"};
inline constexpr VendorOp<In, Out> kCeil{"Ceil"};
inline constexpr VendorOp<In, Out> kRound{"Round"};
inline constexpr VendorOp<In, Out> kTrunc{"Trunc"};

// Activations. Gelu and GeluV2(1) are the tanh form, GeluV2(0) the erf form.
inline constexpr VendorOp<In, Out> kSigmoid{"Sigmoid"};
inline constexpr VendorOp<In, Out> kRelu{"Relu"};
inline constexpr VendorOp<In, Out> kSilu{"Silu"};
inline constexpr VendorOp<In, Out> kHardsigmoid{"Hardsigmoid"};
inline constexpr VendorOp<In, Out> kHardswish{"Hardswish"};
inline constexpr VendorOp<In, Integer, Out> kGeluV2{"GeluV2"};
inline constexpr VendorOp<In, ScalarIn, ScalarIn, ScalarIn, Out> kElu{"Elu"};
inline constexpr VendorOp<In, ScalarIn, Out> kLeakyRelu{"LeakyRelu"};
inline constexpr VendorOp<In, MaybeScalar, MaybeScalar, Out> kClamp{"Clamp"};
/// silu(first half of a dimension) * second half.
inline constexpr VendorOp<In, Integer, Out> kSwiGlu{"SwiGlu"};

// Reductions: dimensions, keep them, type of the sum.
inline constexpr VendorOp<In, IntsIn, Flag, Type, Out> kReduceSum{"ReduceSum"};
inline constexpr VendorOp<In, IntsIn, Flag, Type, Out> kMean{"Mean"};
inline constexpr VendorOp<In, IntsIn, Flag, Out> kAmax{"Amax"};
inline constexpr VendorOp<In, IntsIn, Flag, Out> kAmin{"Amin"};
inline constexpr VendorOp<In, Integer, Flag, Out> kArgMax{"ArgMax"};
inline constexpr VendorOp<In, Integer, Type, Out> kCumsum{"Cumsum"};

// Norms: weight, bias, epsilon, result, mean, reciprocal of the standard deviation.
inline constexpr VendorOp<In, IntsIn, MaybeIn, MaybeIn, Real, Out, MaybeOut, MaybeOut> kLayerNorm{
    "LayerNorm"};
inline constexpr VendorOp<In, In, Real, Out, Out> kRmsNorm{"RmsNorm"};
inline constexpr VendorOp<In, In, In, Real, Out, Out, Out> kAddRmsNorm{"AddRmsNorm"};
inline constexpr VendorOp<In, Integer, Out> kSoftmax{"Softmax"};
inline constexpr VendorOp<In, Integer, Out> kLogSoftmax{"LogSoftmax"};

// Conversion and constants.
inline constexpr VendorOp<In, Type, Out> kCast{"Cast"};
/// Copies with strides and conversion.
inline constexpr VendorOp<Out, In> kInplaceCopy{"InplaceCopy", true};
inline constexpr VendorOp<Out, ScalarIn> kInplaceFillScalar{"InplaceFillScalar"};
inline constexpr VendorOp<InOut, In, ScalarIn> kInplaceMaskedFillScalar{"InplaceMaskedFillScalar"};
inline constexpr VendorOp<ScalarIn, ScalarIn, ScalarIn, Out> kArange{"Arange"};

// Indices: Int32 or Int64, in range.
inline constexpr VendorOp<In, Integer, In, Out> kGatherV2{"GatherV2"};
inline constexpr VendorOp<In, Integer, In, Out> kIndexSelect{"IndexSelect"};
inline constexpr VendorOp<InOut, Integer, In, In> kInplaceIndexCopy{"InplaceIndexCopy", true};
inline constexpr VendorOp<In, Integer, Flag, Out> kArgsort{"Argsort"};
inline constexpr VendorOp<In, Integer, Integer, Flag, Flag, Out, Out> kTopk{"Topk"};
inline constexpr VendorOp<In, In, Flag, Flag, Flag, Out, Out> kTriangularSolve{"TriangularSolve"};

// Shapes.
inline constexpr VendorOp<ListIn, Integer, Out> kCat{"Cat"};
inline constexpr VendorOp<In, IntsIn, Out> kRepeat{"Repeat"};
inline constexpr VendorOp<In, IntsIn, IntsIn, Out> kRoll{"Roll"};
inline constexpr VendorOp<In, Integer, Out> kTril{"Tril"};
inline constexpr VendorOp<In, Integer, Out> kTriu{"Triu"};
inline constexpr VendorOp<In, IntsIn, Out> kReflectionPad1d{"ReflectionPad1d"};

// Windows.
/// Weight, bias, stride, padding, dilation, transposed, padding of the result, groups.
inline constexpr VendorOp<In, In, MaybeIn, IntsIn, IntsIn, IntsIn, Flag, IntsIn, Integer, Out, Cube>
    kConvolution{"Convolution"};

// Products.
inline constexpr VendorOp<In, In, Out, Cube> kMatmul{"Matmul", true};
inline constexpr VendorOp<In, In, Out, Cube> kBatchMatMul{"BatchMatMul", true};
/// x, weight, scale, offset, scale and offset of the result, bias, group, result.
inline constexpr VendorOp<In, In, In, MaybeIn, MaybeIn, MaybeIn, MaybeIn, Int32, Out>
    kWeightQuantBatchMatmulV2{"WeightQuantBatchMatmulV2", true};
/// Rows of x times matrices of a weight: x, weight, bias, scale, offset, scale and offset of the
/// weight, ends of the groups, whether there is one result, dimension of the groups, result.
inline constexpr VendorOp<ListIn, ListIn, MaybeList, MaybeList, MaybeList, MaybeList, MaybeList,
                          MaybeIn, Integer, Integer, ListOut>
    kGroupedMatmulV3{"GroupedMatmulV3", true};

// Rope: mode 0 turns halves, 1 neighbours.
inline constexpr VendorOp<In, In, In, Integer, Out> kRotaryPositionEmbedding{
    "RotaryPositionEmbedding"};

// Attention. Operands have the layouts BSND or BNSD, and no gaps. A mask hides scores where it is
// not 0. Parameters that are null or 0 belong to features that kernels do not use.
/// q, k, v, bias, mask, lengths of q and k. 17 operands of other features. Heads, scale, the band
/// that is seen, layout, heads of k, mode of the mask, precision. 5 numbers of other features.
/// Result, logarithms of sums.
inline constexpr VendorOp<In, ListIn, ListIn, MaybeIn, MaybeIn, MaybeInts, MaybeInts, MaybeIn,
                          MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn,
                          MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeInts,
                          Integer, Real, Integer, Integer, Text, Integer, Integer, Integer, Integer,
                          Integer, Flag, Integer, Integer, Out, MaybeOut>
    kFusedInferAttentionScoreV2{"FusedInferAttentionScoreV2"};
/// q, k, v, bias, mask, lengths of q and k. 5 operands of other features. Heads, scale, the band
/// that is seen, layout, heads of k (0: as many), mode of the mask, precision. Result.
inline constexpr VendorOp<In, In, In, MaybeIn, MaybeIn, MaybeInts, MaybeInts, MaybeIn, MaybeIn,
                          MaybeIn, MaybeIn, MaybeIn, Integer, Real, Integer, Integer, Text, Integer,
                          Integer, Integer, Out>
    kPromptFlashAttentionV3{"PromptFlashAttentionV3"};
/// One token. q, k, v, bias, mask, lengths of k. 9 operands of other features. Heads, scale,
/// layout, heads of k (0: as many), size of blocks, precision. Result.
inline constexpr VendorOp<In, ListIn, ListIn, MaybeIn, MaybeIn, MaybeInts, MaybeIn, MaybeIn,
                          MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, MaybeIn, Integer,
                          Real, Text, Integer, Integer, Integer, Out>
    kIncreFlashAttentionV4{"IncreFlashAttentionV4"};

}  // namespace shunt::cann
