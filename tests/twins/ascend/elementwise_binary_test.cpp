// Operators of two operands: arithmetic, comparisons, choices and gated activations.
#include <algorithm>

#include "elementwise_support.h"

namespace ascend_test::elementwise::binary {
namespace {

using ElementwiseBinary = TwinTest;
using ElementwiseBinaryDeathTest = TwinTest;

using First = aclnnStatus (*)(const aclTensor*, const aclTensor*, aclTensor*, std::uint64_t*,
                              aclOpExecutor**);

struct Arithmetic {
  const char* name;
  First first;
  Second second;
  double (*formula)(double, double);
};
const Arithmetic kTensorArithmetic[] = {
    {ASCEND_FUNCTION(Mul), [](double a, double b) { return a * b; }},
    {ASCEND_FUNCTION(Div), [](double a, double b) { return a / b; }},
    {ASCEND_FUNCTION(Maximum), [](double a, double b) { return std::fmax(a, b); }},
    {ASCEND_FUNCTION(Minimum), [](double a, double b) { return std::fmin(a, b); }},
    {ASCEND_FUNCTION(PowTensorTensor), [](double a, double b) { return std::pow(a, b); }},
};

TEST_F(ElementwiseBinary, TensorsBroadcastAndAreRoundedOnce) {
  const std::vector<float> a = {1.5F, 2, 0.25F, 3, 7, 0.1F};
  const std::vector<float> b = {2.5F, -1, 0.5F};
  for (const Arithmetic& row : kTensorArithmetic) {
    SCOPED_TRACE(row.name);
    const Tensor<float> self(ACL_FLOAT, {2, 3}, a);
    const Tensor<float> other(ACL_FLOAT, {3}, b);
    const Tensor<float> out(ACL_FLOAT, {2, 3}, std::vector<float>(6));
    ASSERT_EQ(run(row.first, row.second, self.get(), other.get(), out.get()), ACL_SUCCESS);
    std::vector<double> exact;
    for (std::size_t i = 0; i < 6; ++i)
      exact.push_back(row.formula(static_cast<double>(a[i]), static_cast<double>(b[i % 3])));
    expect_floats(out.values(), exact);
  }
}

TEST_F(ElementwiseBinary, SumsAndDifferencesTakeAlpha) {
  const Tensor<float> self(ACL_FLOAT, {3}, {1, 2, 3});
  const Tensor<float> other(ACL_FLOAT, {3}, {10, 20, 30});
  const Tensor<float> out(ACL_FLOAT, {3}, {0, 0, 0});
  const Scalar half(0.5F);
  const Scalar four(4);
  ASSERT_EQ(RUN_OP(Sub, self.get(), other.get(), half.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{-4, -8, -12}));
  ASSERT_EQ(RUN_OP(Adds, self.get(), four.get(), half.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{3, 4, 5}));
  ASSERT_EQ(RUN_OP(InplaceAdd, self.get(), other.get(), half.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{6, 12, 18}));
  ASSERT_EQ(RUN_OP(InplaceSub, self.get(), other.get(), half.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 2, 3}));
  ASSERT_EQ(RUN_OP(InplaceAdds, self.get(), four.get(), half.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{3, 4, 5}));
  ASSERT_EQ(RUN_OP(InplaceSubs, self.get(), half.get(), four.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 2, 3}));
}

TEST_F(ElementwiseBinary, ScalarsOnEitherSide) {
  const Tensor<float> self(ACL_FLOAT, {3}, {1, 2, -3});
  const Tensor<float> out(ACL_FLOAT, {3}, {0, 0, 0});
  const Scalar two(2);
  ASSERT_EQ(RUN_OP(Muls, self.get(), two.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{2, 4, -6}));
  ASSERT_EQ(RUN_OP(Divs, self.get(), two.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{0.5F, 1, -1.5F}));
  ASSERT_EQ(RUN_OP(PowTensorScalar, self.get(), two.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{1, 4, 9}));
  ASSERT_EQ(RUN_OP(PowScalarTensor, two.get(), self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{2, 4, 0.125F}));
  ASSERT_EQ(RUN_OP(InplaceMuls, self.get(), two.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{2, 4, -6}));
  ASSERT_EQ(RUN_OP(InplaceDivs, self.get(), two.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 2, -3}));
  const Tensor<float> other(ACL_FLOAT, {3}, {2, 4, 3});
  ASSERT_EQ(RUN_OP(InplaceMul, self.get(), other.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{2, 8, -9}));
  ASSERT_EQ(RUN_OP(InplaceDiv, self.get(), other.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 2, -3}));
  ASSERT_EQ(RUN_OP(InplacePowTensorTensor, self.get(), other.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 16, -27}));
}

TEST_F(ElementwiseBinary, PowersFollowIeee) {
  const std::vector<double> bases = {0,  -0.0, 1,        -1,        2,   -2,  0.5, -0.5,
                                     10, 1.25, HUGE_VAL, -HUGE_VAL, NAN, 7.5, 1e-5};
  const std::vector<double> exponents = {0,   -0.0, 1,   -1,   2,        -2,        3,   -3,   0.5,
                                         2.5, -0.5, 1e4, -1e4, HUGE_VAL, -HUGE_VAL, NAN, 0.75, 20};
  const auto rows = static_cast<std::int64_t>(bases.size());
  const auto columns = static_cast<std::int64_t>(exponents.size());
  const Tensor<double> self(ACL_DOUBLE, {rows, 1}, bases);
  const Tensor<double> other(ACL_DOUBLE, {columns}, exponents);
  const Tensor<double> out(ACL_DOUBLE, {rows, columns},
                           std::vector<double>(bases.size() * exponents.size()));
  ASSERT_EQ(RUN_OP(PowTensorTensor, self.get(), other.get(), out.get()), ACL_SUCCESS);
  const std::vector<double> values = out.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double base = bases[i / exponents.size()];
    const double exponent = exponents[i % exponents.size()];
    const double exact = std::pow(base, exponent);
    SCOPED_TRACE(std::to_string(base) + " ^ " + std::to_string(exponent));
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(values[i]));
    } else {
      EXPECT_EQ(std::signbit(values[i]), std::signbit(exact));
      const double error = std::isinf(exact) ? 0 : std::fabs(exact) * 1e-12;
      EXPECT_TRUE(values[i] == exact || std::fabs(values[i] - exact) <= error) << values[i];
    }
  }
}

TEST_F(ElementwiseBinary, IntegersWrapAroundAndAreNeverRounded) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor<std::int64_t> self(ACL_INT64, {3}, {large, INT64_MAX, -7});
  const Tensor<std::int64_t> other(ACL_INT64, {3}, {3, 1, 2});
  const Tensor<std::int64_t> out(ACL_INT64, {3}, {0, 0, 0});
  const Scalar one(ACL_INT64, std::int64_t{1});
  ASSERT_EQ(RUN_OP(Add, self.get(), other.get(), one.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{large + 3, INT64_MIN, -5}));
  ASSERT_EQ(RUN_OP(Sub, self.get(), other.get(), one.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{large - 3, INT64_MAX - 1, -9}));
  ASSERT_EQ(RUN_OP(Mul, self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{3 * large, INT64_MAX, -14}));
  ASSERT_EQ(RUN_OP(Maximum, self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{large, INT64_MAX, 2}));
  ASSERT_EQ(RUN_OP(PowTensorTensor, other.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{27, 1, 4}));
  const Tensor<std::int8_t> bytes(ACL_INT8, {2}, {100, -100});
  const Tensor<std::int32_t> wide(ACL_INT32, {2}, {0, 0});
  ASSERT_EQ(RUN_OP(Add, bytes.get(), bytes.get(), one.get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (std::vector<std::int32_t>{-56, 56}));  // a sum of INT8
}

TEST_F(ElementwiseBinary, WholePowersWithNegativeExponents) {
  const Tensor<std::int32_t> self(ACL_INT32, {4}, {1, -1, -1, 5});
  const Tensor<std::int32_t> exponents(ACL_INT32, {4}, {-3, -3, -2, -1});
  const Tensor<std::int32_t> out(ACL_INT32, {4}, {9, 9, 9, 9});
  ASSERT_EQ(RUN_OP(PowTensorTensor, self.get(), exponents.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int32_t>{1, -1, 1, 0}));
}

TEST_F(ElementwiseBinary, TypesArePromoted) {
  // INT8 * F16 is F16: weights times scales.
  const Tensor<std::int8_t> codes(ACL_INT8, {2}, {-127, 3});
  const Tensor<std::uint16_t> scales(ACL_FLOAT16, {2}, {0x3800, 0x2E66});  // 0.5, 0.0999755859375
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {2}, {0, 0});
  ASSERT_EQ(RUN_OP(Mul, codes.get(), scales.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(value_of_half(out.values()[0]), -63.5);
  EXPECT_TRUE(is_nearest_half(out.values()[1], 3 * 0.0999755859375));
  // F16 * BF16 is F32.
  const Tensor<std::uint16_t> other(ACL_BF16, {2}, {0x3F81, 0x4000});  // 1.0078125, 2
  const Tensor<float> wide(ACL_FLOAT, {2}, {0, 0});
  ASSERT_EQ(RUN_OP(Mul, scales.get(), other.get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (std::vector<float>{0.50390625F, 0.199951171875F}));
  // Integers are rounded to the float type: 2049 is 2048 in F16, 70000 is beyond.
  const Tensor<std::int32_t> integers(ACL_INT32, {2}, {2049, 70000});
  const Tensor<std::uint16_t> halves(ACL_FLOAT16, {2}, {0x6800, 0x7800});  // 2048, 32768
  const Scalar one(1);
  ASSERT_EQ(RUN_OP(Sub, integers.get(), halves.get(), one.get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (std::vector<float>{0, kInfinityF}));
}

TEST_F(ElementwiseBinary, ScalarsDoNotWidenFloats) {
  const Tensor<std::uint16_t> self(ACL_FLOAT16, {1}, {0x4200});  // 3
  const Tensor<float> wide(ACL_FLOAT, {1}, {0});
  const Scalar third(ACL_DOUBLE, 1.0 / 3);
  ASSERT_EQ(RUN_OP(Divs, self.get(), Scalar(7).get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values()[0], 0.428466796875F);  // 1755 / 4096, an F16
  // An integer tensor by a float scalar is F32.
  const Tensor<std::int32_t> integers(ACL_INT32, {1}, {10});
  ASSERT_EQ(RUN_OP(Muls, integers.get(), third.get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values()[0], static_cast<float>(10.0 / 3));
  EXPECT_EQ(RUN_OP(Muls, integers.get(), third.get(), integers.get()), ACLNN_ERR_PARAM_INVALID);
  // Quotients of integers are F32.
  ASSERT_EQ(
      RUN_OP(Div, integers.get(), Tensor<std::int32_t>(ACL_INT32, {1}, {4}).get(), wide.get()),
      ACL_SUCCESS);
  EXPECT_EQ(wide.values()[0], 2.5F);
}

TEST_F(ElementwiseBinary, ExtremesKeepNan) {
  const Tensor<float> self(ACL_FLOAT, {3}, {kNanF, 1, 2});
  const Tensor<float> other(ACL_FLOAT, {3}, {1, kNanF, 3});
  const Tensor<float> out(ACL_FLOAT, {3}, {0, 0, 0});
  ASSERT_EQ(RUN_OP(Maximum, self.get(), other.get(), out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {std::nan(""), std::nan(""), 3});
  ASSERT_EQ(RUN_OP(Minimum, self.get(), other.get(), out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {std::nan(""), std::nan(""), 2});
}

TEST_F(ElementwiseBinary, StridedOperandsAndResults) {
  const Strided<float> self(ACL_FLOAT, {2, 2}, {1, 2}, 1, {9, 1, 2, 3, 4});  // [[1, 3], [2, 4]]
  const Strided<float> row(ACL_FLOAT, {2, 2}, {0, 1}, 0, {10, 20});
  const Strided<float> out(ACL_FLOAT, {2, 2}, {2, 1}, 1, {7, 0, 0, 0, 0});
  EXPECT_EQ(workspace_of(aclnnMulGetWorkspaceSize, self.get(), row.get(), out.get()), 128U);
  ASSERT_EQ(RUN_OP(Mul, self.get(), row.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.storage(), (std::vector<float>{7, 10, 60, 20, 80}));
}

TEST_F(ElementwiseBinary, WorkspaceOfCasts) {
  const Bare half(ACL_FLOAT16, {40});
  const Bare single(ACL_FLOAT, {40});
  EXPECT_EQ(workspace_of(aclnnMulGetWorkspaceSize, single.get(), single.get(), single.get()), 0U);
  // An F16 operand and an F16 result, as F32: twice 160 bytes in blocks of 64.
  EXPECT_EQ(workspace_of(aclnnMulGetWorkspaceSize, half.get(), single.get(), half.get()), 384U);
}

TEST_F(ElementwiseBinary, WrongArgumentsAreRefused) {
  const Tensor<float> self(ACL_FLOAT, {2, 3}, std::vector<float>(6));
  const Tensor<float> row(ACL_FLOAT, {3}, std::vector<float>(3));
  const Tensor<float> two(ACL_FLOAT, {2}, std::vector<float>(2));
  const Tensor<std::int32_t> integers(ACL_INT32, {2, 3}, std::vector<std::int32_t>(6));
  const Tensor<std::uint32_t> words(ACL_UINT32, {2, 3}, std::vector<std::uint32_t>(6));
  const Scalar one(1);
  EXPECT_EQ(RUN_OP(Mul, self.get(), two.get(), self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Mul, self.get(), row.get(), row.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Mul, self.get(), self.get(), integers.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Mul, self.get(), words.get(), self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(InplaceMul, row.get(), self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(InplaceDiv, integers.get(), integers.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Sub, integers.get(), integers.get(), one.get(), integers.get()),
            ACLNN_ERR_PARAM_INVALID);  // a float alpha
  EXPECT_EQ(RUN_OP(Mul, self.get(), nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(Muls, self.get(), nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(PowScalarTensor, one.get(), nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(Sub, self.get(), self.get(), nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(ElementwiseBinary, EveryTensorIsOfAPlainFormatAndATypeOfTheChip) {
  const std::int64_t shape[] = {16, 16};
  const std::int64_t storage[] = {1, 1, 16, 16};
  aclTensor* const tiled = aclCreateTensor(shape, 2, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_FRACTAL_NZ,
                                           storage, 4, nullptr);
  const Bare half(ACL_FLOAT16, {16, 16});
  const Bare row(ACL_FLOAT16, {16});
  const Bare batches(ACL_FLOAT16, {4, 16, 16});
  const Integers one({1});
  const Integers size({16});
  EXPECT_EQ(RUN_OP(Mul, tiled, batches.get(), batches.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Exp, half.get(), tiled), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, tiled, std::int64_t{0}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(ReduceSum, tiled, one.get(), false, ACL_FLOAT16, row.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Softmax, tiled, std::int64_t{1}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      RUN_OP(LayerNorm, tiled, size.get(), nullptr, nullptr, 1e-5, half.get(), nullptr, nullptr),
      ACLNN_ERR_PARAM_INVALID);
  aclDestroyTensor(tiled);
  for (const char* const chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    const Bare self(ACL_FLOAT16, {16});
    const Bare other(ACL_BF16, {16});
    const Bare out(ACL_FLOAT, {16});
    EXPECT_EQ(RUN_OP(Mul, self.get(), other.get(), out.get()), ACLNN_ERR_PARAM_INVALID) << chip;
    EXPECT_EQ(RUN_OP(Exp, self.get(), other.get()), ACLNN_ERR_PARAM_INVALID) << chip;
  }
}

TEST_F(ElementwiseBinary, FreedOperandsAreFoundInTheTasksTurn) {
  const Tensor<float> self(ACL_FLOAT, {4}, {1, 2, 3, 4});
  const std::int64_t shape[] = {4};
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  aclTensor* const gone =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, memory);
  aclrtFree(memory);
  EXPECT_EQ(RUN_OP(Mul, self.get(), gone, self.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(self.values(), (std::vector<float>{1, 2, 3, 4}));
  aclDestroyTensor(gone);
}

// --- Comparisons

struct Comparison {
  const char* name;
  aclnnStatus (*first)(const aclTensor*, const aclScalar*, aclTensor*, std::uint64_t*,
                       aclOpExecutor**);
  Second second;
  std::vector<float> of_floats;  ///< 1, 2, 3, NaN by 2
};

TEST_F(ElementwiseBinary, ComparisonsWithAScalar) {
  const Comparison rows[] = {
      {ASCEND_FUNCTION(GtScalar), {0, 0, 1, 0}}, {ASCEND_FUNCTION(LtScalar), {1, 0, 0, 0}},
      {ASCEND_FUNCTION(GeScalar), {0, 1, 1, 0}}, {ASCEND_FUNCTION(LeScalar), {1, 1, 0, 0}},
      {ASCEND_FUNCTION(EqScalar), {0, 1, 0, 0}},
  };
  const Scalar two(2);
  const Scalar whole(ACL_INT64, (std::int64_t{1} << 53) + 1);
  for (const Comparison& row : rows) {
    SCOPED_TRACE(row.name);
    const Tensor<float> self(ACL_FLOAT, {4}, {1, 2, 3, kNanF});
    const Tensor<float> out(ACL_FLOAT, {4}, std::vector<float>(4, 7));
    ASSERT_EQ(run(row.first, row.second, self.get(), two.get(), out.get()), ACL_SUCCESS);
    EXPECT_EQ(out.values(), row.of_floats);
    // INT64 is compared exactly: 2^53 against 2^53 + 1, as 1 against 2 above.
    const Tensor<std::int64_t> integers(ACL_INT64, {1}, {std::int64_t{1} << 53});
    const Tensor<std::uint8_t> bools(ACL_BOOL, {1}, {9});
    ASSERT_EQ(run(row.first, row.second, integers.get(), whole.get(), bools.get()), ACL_SUCCESS);
    EXPECT_EQ(static_cast<float>(bools.values()[0]), row.of_floats[0]);
  }
}

TEST_F(ElementwiseBinary, ComparisonsOfTensors) {
  const Tensor<float> self(ACL_FLOAT, {2, 2}, {1, 2, 3, kNanF});
  const Tensor<float> other(ACL_FLOAT, {2}, {2, 2});
  const Tensor<std::uint8_t> out(ACL_BOOL, {2, 2}, std::vector<std::uint8_t>(4, 9));
  ASSERT_EQ(RUN_OP(EqTensor, self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::uint8_t>{0, 1, 0, 0}));
  ASSERT_EQ(RUN_OP(GtTensor, self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::uint8_t>{0, 0, 1, 0}));
  ASSERT_EQ(RUN_OP(LtTensor, self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::uint8_t>{1, 0, 0, 0}));
}

aclError compare(aclDataType type) {
  const Bare self(type, {4});
  const Bare out(ACL_BOOL, {4});
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const aclError code =
      aclnnGtTensorGetWorkspaceSize(self.get(), self.get(), out.get(), &bytes, &executor);
  if (code == ACL_SUCCESS) aclDestroyAclOpExecutor(executor);
  return code;
}

TEST_F(ElementwiseBinary, ComparisonsOfInt64EndTheProcessOnA310B) {
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(compare(ACL_INT64), ACL_ERROR_RT_AICPU_EXCEPTION);
  EXPECT_EQ(compare(ACL_INT32), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 0U);
  set("STRICT", "status");
  EXPECT_EQ(compare(ACL_INT64), ACL_ERROR_RT_AICPU_EXCEPTION);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 1U);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("ends the process"), std::string::npos);
  for (const char* const chip : {"910b", "310p"}) {
    restart({{"PROFILE", chip}});
    EXPECT_EQ(compare(ACL_INT64), ACL_SUCCESS) << chip;
  }
}

TEST_F(ElementwiseBinaryDeathTest, ComparisonsOfInt64OnA310B) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        restart({{"PROFILE", "310b"}, {"STRICT", "abort"}});
        compare(ACL_INT64);
      },
      "ends the process");
}

TEST_F(ElementwiseBinary, SubsEndsTheProcessOnA910BUnlessTheDocumentationIsBelieved) {
  const Tensor<float> self(ACL_FLOAT, {2}, {5, 7});
  const Scalar one(1);
  EXPECT_EQ(RUN_OP(Subs, self.get(), one.get(), one.get(), self.get()),
            ACL_ERROR_RT_AICPU_EXCEPTION);
  set("SUPPORT", "docs");
  ASSERT_EQ(RUN_OP(Subs, self.get(), one.get(), one.get(), self.get()), ACL_SUCCESS);
  EXPECT_EQ(self.values(), (std::vector<float>{4, 6}));
}

// --- Choices

TEST_F(ElementwiseBinary, ChoicesMoveBits) {
  for (const char* const chip : {"910b", "310p"}) {
    SCOPED_TRACE(chip);
    restart({{"PROFILE", chip}});
    // Infinities and NaNs of any payload pass chips that saturate.
    const Tensor<std::uint8_t> condition(ACL_BOOL, {2, 1}, {1, 0});
    const Tensor<std::uint16_t> self(ACL_FLOAT16, {2, 2}, {0x7C00, 0x7E55, 1, 2});
    const Tensor<std::uint16_t> other(ACL_FLOAT16, {2}, {0xFC00, 0x7D01});
    const Strided<std::uint16_t> out(ACL_FLOAT16, {2, 2}, {1, 2}, 1, {9, 9, 9, 9, 9});
    ASSERT_EQ(RUN_OP(SWhere, condition.get(), self.get(), other.get(), out.get()), ACL_SUCCESS);
    EXPECT_EQ(out.storage(), (std::vector<std::uint16_t>{9, 0x7C00, 0xFC00, 0x7E55, 0x7D01}));
  }
}

TEST_F(ElementwiseBinary, ChoicesOfDifferentTypesArePromoted) {
  const Tensor<std::uint8_t> condition(ACL_UINT8, {2}, {0, 2});
  const Tensor<std::int32_t> self(ACL_INT32, {2}, {1, 2});
  const Tensor<float> other(ACL_FLOAT, {2}, {1.5F, 2.5F});
  const Tensor<float> out(ACL_FLOAT, {2}, {0, 0});
  ASSERT_EQ(RUN_OP(SWhere, condition.get(), self.get(), other.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{1.5F, 2}));
  const Tensor<std::int64_t> wide(ACL_INT64, {2}, {INT64_MIN, 0});
  ASSERT_EQ(RUN_OP(SWhere, condition.get(), self.get(), wide.get(), wide.get()), ACL_SUCCESS);
  EXPECT_EQ(wide.values(), (std::vector<std::int64_t>{INT64_MIN, 2}));
  EXPECT_EQ(RUN_OP(SWhere, condition.get(), self.get(), other.get(), wide.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SWhere, other.get(), self.get(), other.get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SWhere, nullptr, self.get(), other.get(), out.get()), ACLNN_ERR_PARAM_NULLPTR);
  const Bare three(ACL_BOOL, {3});
  EXPECT_EQ(RUN_OP(SWhere, three.get(), self.get(), other.get(), out.get()),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(ElementwiseBinary, A310BHasNoChoices) {
  restart({{"PROFILE", "310b"}});
  const Bare condition(ACL_BOOL, {2});
  const Bare self(ACL_FLOAT, {2});
  EXPECT_EQ(RUN_OP(SWhere, condition.get(), self.get(), self.get(), self.get()), ACLNN_ERR_INNER);
}

// --- Gated activations

TEST_F(ElementwiseBinary, SwiGluGatesHalvesOfAnyDimension) {
  const std::vector<float> x = {1, -2, 3, 0.5F, -0.25F, 4, 2, 8};
  const Tensor<float> self(ACL_FLOAT, {2, 4}, x);
  const Tensor<float> out(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  ASSERT_EQ(RUN_OP(SwiGlu, self.get(), std::int64_t{-1}, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {silu(1) * 3, silu(-2) * 0.5, silu(-0.25) * 2, silu(4) * 8});
  const Tensor<float> rows(ACL_FLOAT, {1, 4}, std::vector<float>(4));
  ASSERT_EQ(RUN_OP(SwiGlu, self.get(), std::int64_t{0}, rows.get()), ACL_SUCCESS);
  expect_floats(rows.values(), {silu(1) * -0.25, silu(-2) * 4, silu(3) * 2, silu(0.5) * 8});
  // A transposed view of the same numbers.
  const Strided<float> turned(ACL_FLOAT, {4, 2}, {1, 4}, 0, x);
  const Tensor<float> halves(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  ASSERT_EQ(RUN_OP(SwiGlu, turned.get(), std::int64_t{0}, halves.get()), ACL_SUCCESS);
  expect_floats(halves.values(), {silu(1) * 3, silu(-0.25) * 2, silu(-2) * 0.5, silu(4) * 8});
}

TEST_F(ElementwiseBinary, SwiGluIsRoundedOnceToF16) {
  const Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {0x4200, 0x4900});  // 3, 10
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {1}, {0});
  ASSERT_EQ(RUN_OP(SwiGlu, self.get(), std::int64_t{0}, out.get()), ACL_SUCCESS);
  EXPECT_TRUE(is_nearest_half(out.values()[0], silu(3) * 10));
}

TEST_F(ElementwiseBinary, SwiGluRefusesAndNeedsWorkspace) {
  const Bare odd(ACL_FLOAT, {2, 3});
  const Bare even(ACL_FLOAT, {2, 4});
  const Bare half(ACL_FLOAT, {2, 2});
  const Bare other(ACL_FLOAT16, {2, 2});
  const Bare number(ACL_FLOAT, {});
  EXPECT_EQ(RUN_OP(SwiGlu, odd.get(), std::int64_t{1}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, even.get(), std::int64_t{2}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, even.get(), std::int64_t{-3}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, even.get(), std::int64_t{1}, even.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, even.get(), std::int64_t{1}, other.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, number.get(), std::int64_t{0}, number.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SwiGlu, even.get(), std::int64_t{1}, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(workspace_of(aclnnSwiGluGetWorkspaceSize, even.get(), std::int64_t{1}, half.get()),
            std::uint64_t{16} << 20);
  restart({{"PROFILE", "310b"}});
  const Bare self(ACL_FLOAT16, {4});
  EXPECT_EQ(RUN_OP(SwiGlu, self.get(), std::int64_t{0}, self.get()), ACLNN_ERR_INNER_NULLPTR);
  EXPECT_EQ(
      RUN_OP(GeGluV3, self.get(), std::int64_t{0}, std::int64_t{1}, true, self.get(), self.get()),
      ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(ElementwiseBinary, GeGluActivatesEitherHalfInEitherForm) {
  const Tensor<float> self(ACL_FLOAT, {4}, {1, -2, 3, 0.5F});
  for (const bool left : {true, false}) {
    for (const std::int64_t approximate : {0, 1}) {
      const Tensor<float> out(ACL_FLOAT, {2}, {0, 0});
      const Tensor<float> gelu(ACL_FLOAT, {2}, {0, 0});
      ASSERT_EQ(
          RUN_OP(GeGluV3, self.get(), std::int64_t{-1}, approximate, left, out.get(), gelu.get()),
          ACL_SUCCESS);
      double (*const function)(double) = approximate == 0 ? erf_gelu : tanh_gelu;
      if (left) {
        expect_floats(gelu.values(), {function(1), function(-2)}, 1e-9);
        expect_floats(out.values(), {function(1) * 3, function(-2) * 0.5}, 1e-9);
      } else {
        expect_floats(gelu.values(), {function(3), function(0.5)}, 1e-9);
        expect_floats(out.values(), {function(3) * 1, function(0.5) * -2}, 1e-9);
      }
    }
  }
  const Bare half(ACL_FLOAT, {2});
  EXPECT_EQ(
      RUN_OP(GeGluV3, self.get(), std::int64_t{0}, std::int64_t{2}, true, half.get(), half.get()),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      RUN_OP(GeGluV3, self.get(), std::int64_t{0}, std::int64_t{1}, true, half.get(), self.get()),
      ACLNN_ERR_PARAM_INVALID);
}

}  // namespace
}  // namespace ascend_test::elementwise::binary
