// The vendor's documentation of which chip has which operator, and which executors cannot be used
// again.
#include <functional>

#include "elementwise_support.h"

namespace ascend_test::support_table {
namespace {

using namespace elementwise;
using SupportTable = TwinTest;

/// Code of the first phase alone.
template <class First, class... Arguments>
aclError code_of(First first, Arguments... arguments) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const aclError code = first(arguments..., &bytes, &executor);
  if (code == ACL_SUCCESS) aclDestroyAclOpExecutor(executor);
  return code;
}
#define CODE(name, ...) [=] { return code_of(aclnn##name##GetWorkspaceSize, __VA_ARGS__); }

/// Tensors without memory, with which every operator of the table passes its checks.
struct Tensors {
  Bare half{ACL_FLOAT16, {2, 2}};
  Bare single{ACL_FLOAT, {2, 2}};
  Bare truth{ACL_BOOL, {2, 2}};
  Bare longs{ACL_INT64, {2, 2}};
  Bare bytes{ACL_INT8, {2, 2}};
  Bare vector{ACL_FLOAT16, {2}};
  Bare places{ACL_INT64, {2}};
  Bare batch{ACL_FLOAT16, {1, 2, 2}};
  Bare image{ACL_FLOAT16, {1, 1, 2, 2}};
  Bare weight{ACL_FLOAT16, {1, 1, 1, 1}};
  Bare columns{ACL_FLOAT16, {1, 1, 4}};
  Bare twice{ACL_FLOAT16, {2, 4}};
  Bare wide{ACL_FLOAT16, {2, 16}};
  Bare gamma{ACL_FLOAT16, {16}};
  Bare rstd{ACL_FLOAT, {2, 1}};
  Bare statistics{ACL_FLOAT16, {2, 1}};
  Scalar one{1};
  Scalar none{ACL_INT64, std::int64_t{0}};
  Scalar step{ACL_INT64, std::int64_t{1}};
  Scalar end{ACL_INT64, std::int64_t{2}};
};

struct Row {
  const char* name;
  const char* chips;  ///< b 310B, p 310P, A 910B: with "Y" in the documentation of 2026
  std::function<aclError()> code;
};

/// Fact sheet 4.2, and 9 for LtTensor and LtScalar. Not here: what only the split layout has, and
/// what the documentation has no row for.
std::vector<Row> rows(const Tensors* all) {
  aclTensor* const t = all->half.get();
  aclTensor* const f = all->single.get();
  aclTensor* const v = all->vector.get();
  aclTensor* const b = all->truth.get();
  aclTensor* const longs = all->longs.get();
  aclTensor* const places = all->places.get();
  aclTensor* const image = all->image.get();
  aclTensor* const null = nullptr;
  aclScalar* const s = all->one.get();
  constexpr std::int8_t kType = ALLOW_FP32_DOWN_PRECISION;
  constexpr std::int64_t k0 = 0;
  constexpr std::int64_t k1 = 1;
  constexpr std::int64_t k2 = 2;
  return {
      {"Mm", "pA", CODE(Mm, t, t, t, kType)},
      {"BatchMatMul", "pA",
       CODE(BatchMatMul, all->batch.get(), all->batch.get(), all->batch.get(), kType)},
      {"Matmul", "pA", CODE(Matmul, t, t, t, kType)},
      {"Mv", "pA", CODE(Mv, t, v, v, kType)},
      {"Ger", "A", CODE(Ger, v, v, t)},
      {"WeightQuantBatchMatmulV2", "pA",
       CODE(WeightQuantBatchMatmulV2, t, all->bytes.get(), v, null, null, null, null, 0, t)},
      {"TransMatmulWeight", "pA",
       [] {
         const Bare own(ACL_FLOAT16, {16, 16});
         return code_of(aclnnTransMatmulWeightGetWorkspaceSize, own.get());
       }},
      {"CalculateMatmulWeightSize", "pA",
       [] {
         std::uint64_t elements = 0;
         return aclnnCalculateMatmulWeightSize(Integers{16, 16}.get(), &elements);
       }},
      {"CalculateMatmulWeightSizeV2", "pA",
       [] {
         std::uint64_t elements = 0;
         return aclnnCalculateMatmulWeightSizeV2(Integers{16, 16}.get(), ACL_FLOAT16, &elements);
       }},
      {"Cast", "pA", CODE(Cast, t, ACL_FLOAT, f)},
      {"Add", "A", CODE(Add, t, t, s, t)},
      {"InplaceAdd", "A", CODE(InplaceAdd, t, t, s)},
      {"Sub", "bA", CODE(Sub, t, t, s, t)},
      {"InplaceSub", "bA", CODE(InplaceSub, t, t, s)},
      {"Adds", "pA", CODE(Adds, t, s, s, t)},
      {"InplaceAdds", "pA", CODE(InplaceAdds, t, s, s)},
      {"InplaceSubs", "pA", CODE(InplaceSubs, t, s, s)},
      {"Mul", "pA", CODE(Mul, t, t, t)},
      {"InplaceMul", "pA", CODE(InplaceMul, t, t)},
      {"Div", "bA", CODE(Div, t, t, t)},
      {"InplaceDiv", "bA", CODE(InplaceDiv, t, t)},
      {"Muls", "pA", CODE(Muls, t, s, t)},
      {"InplaceMuls", "pA", CODE(InplaceMuls, t, s)},
      {"Divs", "A", CODE(Divs, t, s, t)},
      {"InplaceDivs", "A", CODE(InplaceDivs, t, s)},
      {"SwiGlu", "pA", CODE(SwiGlu, all->twice.get(), k1, t)},
      {"GeGluV3", "pA", CODE(GeGluV3, all->twice.get(), k1, k0, true, t, t)},
      {"Silu", "pA", CODE(Silu, t, t)},
      {"Gelu", "pA", CODE(Gelu, t, t)},
      {"Sigmoid", "pA", CODE(Sigmoid, t, t)},
      {"Abs", "pA", CODE(Abs, t, t)},
      {"GeluV2", "pA", CODE(GeluV2, t, k0, t)},
      {"Relu", "A", CODE(Relu, t, t)},
      {"Tanh", "A", CODE(Tanh, t, t)},
      {"Hardsigmoid", "A", CODE(Hardsigmoid, t, t)},
      {"Hardswish", "A", CODE(Hardswish, t, t)},
      {"Exp", "A", CODE(Exp, t, t)},
      {"InplaceExp", "A", CODE(InplaceExp, t)},
      {"Sign", "A", CODE(Sign, t, t)},
      {"Log", "A", CODE(Log, t, t)},
      {"Sqrt", "A", CODE(Sqrt, t, t)},
      {"Neg", "bA", CODE(Neg, t, t)},
      {"Cos", "bpA", CODE(Cos, t, t)},
      {"Sin", "bpA", CODE(Sin, t, t)},
      {"Rsqrt", "bpA", CODE(Rsqrt, t, t)},
      {"InplaceCos", "bpA", CODE(InplaceCos, t)},
      {"InplaceSin", "bpA", CODE(InplaceSin, t)},
      {"Elu", "pA", CODE(Elu, t, s, s, s, t)},
      {"Softplus", "pA", CODE(Softplus, t, s, s, t)},
      {"LeakyRelu", "A", CODE(LeakyRelu, t, s, t)},
      {"Repeat", "pA", CODE(Repeat, t, Integers{1, 1}.get(), t)},
      {"Cat", "pA",
       [t] {
         const std::int64_t shape[] = {1, 2};
         aclTensor* members[2];
         for (aclTensor*& member : members) {
           member =
               aclCreateTensor(shape, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr);
         }
         aclTensorList* const list = aclCreateTensorList(members, 2);
         const aclError code = code_of(aclnnCatGetWorkspaceSize, list, std::int64_t{0}, t);
         aclDestroyTensorList(list);
         return code;
       }},
      {"Arange", "pA", CODE(Arange, all->none.get(), all->end.get(), all->step.get(), v)},
      {"Clamp", "pA", CODE(Clamp, t, s, s, t)},
      {"ClampMin", "pA", CODE(ClampMin, t, s, t)},
      {"InplaceClampMax", "pA", CODE(InplaceClampMax, t, s)},
      {"Argsort", "pA", CODE(Argsort, t, k1, false, longs)},
      {"Topk", "pA", CODE(Topk, t, k2, k1, true, true, t, longs)},
      {"LayerNorm", "bA", CODE(LayerNorm, t, Integers{2}.get(), null, null, 1e-5, t, null, null)},
      {"Norm", "bpA", CODE(Norm, t, s, Integers{1}.get(), false, v)},
      {"GroupNorm", "pA",
       CODE(GroupNorm, t, null, null, k2, k2, k1, k1, 1e-5, t, all->statistics.get(),
            all->statistics.get())},
      {"RmsNorm", "pA",
       CODE(RmsNorm, all->wide.get(), all->gamma.get(), 1e-5, all->wide.get(), all->rstd.get())},
      {"AddRmsNorm", "pA",
       CODE(AddRmsNorm, all->wide.get(), all->wide.get(), all->gamma.get(), 1e-5, all->wide.get(),
            all->rstd.get(), all->wide.get())},
      {"SoftmaxCrossEntropyWithLogits", "pA", CODE(SoftmaxCrossEntropyWithLogits, t, t, v, t)},
      {"Softmax", "bpA", CODE(Softmax, t, k1, t)},
      {"LogSoftmax", "pA", CODE(LogSoftmax, t, k1, t)},
      {"ReduceSum", "pA", CODE(ReduceSum, t, Integers{1}.get(), false, ACL_FLOAT16, v)},
      {"Mean", "pA", CODE(Mean, t, Integers{1}.get(), false, ACL_FLOAT16, v)},
      {"ArgMax", "pA", CODE(ArgMax, t, k1, false, places)},
      {"Cumsum", "bpA", CODE(Cumsum, t, k0, ACL_FLOAT16, t)},
      {"TriangularSolve", "A", CODE(TriangularSolve, f, f, false, false, false, f, f)},
      {"InplaceCopy", "bpA", CODE(InplaceCopy, t, t)},
      {"InplaceZero", "pA", CODE(InplaceZero, t)},
      {"InplaceFillScalar", "pA", CODE(InplaceFillScalar, t, s)},
      {"InplaceMaskedFillScalar", "pA", CODE(InplaceMaskedFillScalar, t, b, s)},
      {"Tril", "A", CODE(Tril, t, k0, t)},
      {"Triu", "pA", CODE(Triu, t, k0, t)},
      {"InplaceTriu", "pA", CODE(InplaceTriu, t, k0)},
      {"ConstantPadNd", "pA", CODE(ConstantPadNd, t, Integers{0, 0}.get(), s, t)},
      {"ReflectionPad1d", "pA", CODE(ReflectionPad1d, t, Integers{0, 0}.get(), t)},
      {"AvgPool2d", "pA",
       CODE(AvgPool2d, image, Integers{1, 1}.get(), Integers{1, 1}.get(), Integers{0, 0}.get(),
            false, true, k0, kType, image)},
      {"MaxPool", "A",
       CODE(MaxPool, image, Integers{1, 1}.get(), Integers{1, 1}.get(), k0,
            Integers{0, 0, 0, 0}.get(), Integers{1, 1}.get(), k0, image)},
      {"Permute", "A", CODE(Permute, t, Integers{1, 0}.get(), t)},
      {"Im2col", "A",
       CODE(Im2col, image, Integers{1, 1}.get(), Integers{1, 1}.get(), Integers{0, 0}.get(),
            Integers{1, 1}.get(), all->columns.get())},
      {"PowTensorTensor", "bpA", CODE(PowTensorTensor, t, t, t)},
      {"InplacePowTensorTensor", "bpA", CODE(InplacePowTensorTensor, t, t)},
      {"PowScalarTensor", "bpA", CODE(PowScalarTensor, s, t, t)},
      {"PowTensorScalar", "bpA", CODE(PowTensorScalar, t, s, t)},
      {"GatherV2", "pA", CODE(GatherV2, t, k0, places, t)},
      {"IndexSelect", "pA", CODE(IndexSelect, t, k0, places, t)},
      {"InplaceIndexCopy", "A", CODE(InplaceIndexCopy, t, k0, places, t)},
      {"InplaceIndexFillTensor", "A", CODE(InplaceIndexFillTensor, t, k0, Integers{1}.get(), s)},
      {"InplaceThreshold", "A", CODE(InplaceThreshold, t, s, s)},
      {"RepeatInterleaveIntWithDim", "A", CODE(RepeatInterleaveIntWithDim, t, k1, k0, k2, t)},
      {"Roll", "pA", CODE(Roll, t, Integers{1}.get(), Integers{0}.get(), t)},
      {"Slice", "A", CODE(Slice, t, k0, k0, k2, k1, t)},
      {"EqTensor", "A", CODE(EqTensor, t, t, b)},
      {"GtScalar", "pA", CODE(GtScalar, t, s, b)},
      {"LtTensor", "bpA", CODE(LtTensor, t, t, b)},
      {"LtScalar", "bpA", CODE(LtScalar, t, s, b)},
      {"Embedding", "bpA", CODE(Embedding, t, places, t)},
      {"Convolution", "bpA",
       CODE(Convolution, image, all->weight.get(), null, Integers{1, 1}.get(), Integers{0, 0}.get(),
            Integers{1, 1}.get(), false, Integers{0, 0}.get(), k1, image, kType)},
      {"RotaryPositionEmbedding", "A",
       CODE(RotaryPositionEmbedding, image, image, image, k0, image)},
  };
}

TEST_F(SupportTable, IsThatOfTheDocumentation) {
  const std::pair<const char*, char> chips[] = {{"310b", 'b'}, {"310p", 'p'}, {"910b", 'A'}};
  for (const auto& [chip, letter] : chips) {
    restart({{"PROFILE", chip}, {"SUPPORT", "docs"}});
    const Tensors all;
    for (const Row& row : rows(&all)) {
      const aclError code = row.code();
      if (std::string(row.chips).find(letter) != std::string::npos) {
        EXPECT_EQ(code, ACL_SUCCESS)
            << row.name << " on " << chip << ": " << ascend_twin_last_message();
      } else {
        // Without a kernel; products and weights have codes of their own.
        EXPECT_TRUE(code == ACLNN_ERR_INNER_NULLPTR || code == ACLNN_ERR_PARAM_INVALID ||
                    code == ACLNN_ERR_RUNTIME_ERROR)
            << row.name << " on " << chip << ": " << code;
      }
    }
  }
}

/// Code of aclSetAclOpExecutorRepeatable directly after the first phase.
template <class First, class... Arguments>
aclError repeatable_code(First first, Arguments... arguments) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(first(arguments..., &bytes, &executor), ACL_SUCCESS) << ascend_twin_last_message();
  const aclError code = aclSetAclOpExecutorRepeatable(executor);
  aclDestroyAclOpExecutor(executor);
  return code;
}

TEST_F(SupportTable, ExecutorsWithWorkOfTheHostCannotBeRepeated) {
  const Bare f(ACL_FLOAT, {2, 2});
  const Scalar one(1);
  EXPECT_EQ(repeatable_code(aclnnTriangularSolveGetWorkspaceSize, f.get(), f.get(), false, false,
                            false, f.get(), f.get()),
            ACLNN_ERR_INNER);
  EXPECT_EQ(repeatable_code(aclnnInplaceIndexFillTensorGetWorkspaceSize, f.get(), std::int64_t{0},
                            Integers{1}.get(), one.get()),
            ACLNN_ERR_INNER);
  // Numbers of the host that go into the kernel's parameters are no copies.
  EXPECT_EQ(repeatable_code(aclnnPermuteGetWorkspaceSize, f.get(), Integers{1, 0}.get(), f.get()),
            ACL_SUCCESS);
}

TEST_F(SupportTable, ACopyOntoItselfCannotBeRepeated) {
  Buffer memory(32);
  memory.put(std::vector<float>(8));
  const auto at = [&](std::int64_t offset, void* base) {
    const std::int64_t size = 4;
    const std::int64_t storage = 8;
    const std::int64_t stride = 1;
    return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, offset, ACL_FORMAT_ND, &storage, 1, base);
  };
  aclTensor* const begin = at(0, memory.address());
  aclTensor* const inside = at(2, memory.address());
  aclTensor* const behind = at(4, memory.address());
  aclTensor* const nowhere = at(0, nullptr);
  aclTensor* const elsewhere = at(0, nullptr);
  const auto code = [](aclTensor* to, aclTensor* from) {
    return repeatable_code(aclnnInplaceCopyGetWorkspaceSize, to, from);
  };
  EXPECT_EQ(code(begin, begin), ACLNN_ERR_INNER);
  EXPECT_EQ(code(begin, inside), ACLNN_ERR_INNER);
  EXPECT_EQ(code(begin, behind), ACL_SUCCESS);
  EXPECT_EQ(code(nowhere, nowhere), ACLNN_ERR_INNER);
  EXPECT_EQ(code(nowhere, elsewhere), ACL_SUCCESS);
  for (aclTensor* const tensor : {begin, inside, behind, nowhere, elsewhere})
    aclDestroyTensor(tensor);
}

TEST_F(SupportTable, AttentionWithLengthsOfTheHostCannotBeRepeated) {
  const Bare q(ACL_FLOAT16, {1, 16, 16});
  const auto code = [&](const aclIntArray* lengths) {
    aclTensor* const n = nullptr;
    char layout[] = "BSH";
    return repeatable_code(aclnnPromptFlashAttentionV3GetWorkspaceSize, q.get(), q.get(), q.get(),
                           n, n, lengths, static_cast<aclIntArray*>(nullptr), n, n, n, n, n,
                           std::int64_t{1}, 1.0, std::int64_t{INT32_MAX}, std::int64_t{INT32_MAX},
                           layout, std::int64_t{0}, std::int64_t{0}, std::int64_t{1}, q.get());
  };
  EXPECT_EQ(code(nullptr), ACL_SUCCESS);
  EXPECT_EQ(code(Integers{16}.get()), ACLNN_ERR_INNER);
}

}  // namespace
}  // namespace ascend_test::support_table
