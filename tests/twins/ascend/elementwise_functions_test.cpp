// Operators of one tensor, against the C library in double precision.
#include <algorithm>

#include "elementwise_support.h"

namespace ascend_test::elementwise::functions {
namespace {

using ElementwiseFunctions = TwinTest;

using First = aclnnStatus (*)(const aclTensor*, aclTensor*, std::uint64_t*, aclOpExecutor**);
using FirstInPlace = aclnnStatus (*)(aclTensor*, std::uint64_t*, aclOpExecutor**);

struct Function {
  const char* name;
  First first;
  Second second;
  double (*formula)(double);
  bool has_double;
};

double relu6(double x) {
  return std::fmin(std::fmax(x, 0), 6);
}

const Function kFunctions[] = {
    {ASCEND_FUNCTION(Neg), [](double x) { return 0 - x; }, true},
    {ASCEND_FUNCTION(Abs), [](double x) { return std::sqrt(x * x); }, true},
    {ASCEND_FUNCTION(Sign), [](double x) { return x == 0 ? 0 : std::copysign(1.0, x); }, true},
    {ASCEND_FUNCTION(Sqrt), [](double x) { return std::sqrt(x); }, false},
    {ASCEND_FUNCTION(Rsqrt), [](double x) { return std::pow(x, -0.5); }, true},
    {ASCEND_FUNCTION(Reciprocal), [](double x) { return std::pow(x, -1); }, true},
    {ASCEND_FUNCTION(Exp), [](double x) { return std::exp(x); }, true},
    {ASCEND_FUNCTION(Expm1), [](double x) { return std::expm1(x); }, true},
    {ASCEND_FUNCTION(Log), [](double x) { return std::log(x); }, true},
    {ASCEND_FUNCTION(Log1p), [](double x) { return std::log1p(x); }, true},
    {ASCEND_FUNCTION(Sin), [](double x) { return std::sin(x); }, true},
    {ASCEND_FUNCTION(Cos), [](double x) { return std::cos(x); }, true},
    {ASCEND_FUNCTION(Tanh), [](double x) { return std::tanh(x); }, true},
    {ASCEND_FUNCTION(Erf), [](double x) { return std::erf(x); }, true},
    {ASCEND_FUNCTION(Floor), [](double x) { return std::floor(x); }, true},
    {ASCEND_FUNCTION(Ceil), [](double x) { return std::ceil(x); }, true},
    {ASCEND_FUNCTION(Round), [](double x) { return std::nearbyint(x); }, true},
    {ASCEND_FUNCTION(Trunc), [](double x) { return std::trunc(x); }, true},
    {ASCEND_FUNCTION(Sigmoid), [](double x) { return 1 / (1 + std::exp(-x)); }, false},
    {ASCEND_FUNCTION(Relu), [](double x) { return std::fmax(x, 0); }, false},
    {ASCEND_FUNCTION(Silu), [](double x) { return x / (1 + std::exp(-x)); }, false},
    {ASCEND_FUNCTION(Gelu), tanh_gelu, false},
    {ASCEND_FUNCTION(Hardsigmoid), [](double x) { return relu6(x + 3) / 6; }, false},
    {ASCEND_FUNCTION(Hardswish), [](double x) { return x * relu6(x + 3) / 6; }, false},
};

const std::vector<double> kInputs = {-7.75, -3, -2.5, -1.5, -0.75, -0.3125, -0.0625, 0.0625, 0.25,
                                     0.5,   1,  1.5,  2,    2.5,   3.5,     5,       9.625};

template <class Value, class Encode>
std::vector<Value> encoded(Encode encode) {
  std::vector<Value> values;
  for (const double x : kInputs) values.push_back(encode(x));
  return values;
}

TEST_F(ElementwiseFunctions, EachIsRoundedOnceToF32) {
  for (const Function& function : kFunctions) {
    SCOPED_TRACE(function.name);
    const Tensor<float> self(ACL_FLOAT, {17},
                             encoded<float>([](double x) { return static_cast<float>(x); }));
    const Tensor<float> out(ACL_FLOAT, {17}, std::vector<float>(17));
    ASSERT_EQ(run(function.first, function.second, self.get(), out.get()), ACL_SUCCESS);
    std::vector<double> exact;
    for (const double x : kInputs) exact.push_back(function.formula(x));
    expect_floats(out.values(), exact, 1e-9);
  }
}

TEST_F(ElementwiseFunctions, EachOfF64HasFourteenDigits) {
  for (const Function& function : kFunctions) {
    if (!function.has_double) continue;
    SCOPED_TRACE(function.name);
    const Tensor<double> self(ACL_DOUBLE, {17}, kInputs);
    const Tensor<double> out(ACL_DOUBLE, {17}, std::vector<double>(17));
    ASSERT_EQ(run(function.first, function.second, self.get(), out.get()), ACL_SUCCESS);
    const std::vector<double> values = out.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = function.formula(kInputs[i]);
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(values[i])) << kInputs[i];
      } else {
        EXPECT_NEAR(values[i], exact, std::fabs(exact) * 1e-12) << kInputs[i];
      }
    }
  }
}

TEST_F(ElementwiseFunctions, EachOfF16IsTheNearestHalf) {
  // 1.5, -2, 0.25, 3, 2.5: exact in both types
  const std::vector<std::uint16_t> halves = {0x3E00, 0xC000, 0x3400, 0x4200, 0x4100};
  const std::vector<double> inputs = {1.5, -2, 0.25, 3, 2.5};
  for (const char* const chip : {"910b", "310p", "310b"}) {
    for (const Function& function : kFunctions) {
      SCOPED_TRACE(std::string(function.name) + " on " + chip);
      restart({{"PROFILE", chip}});
      const Tensor<std::uint16_t> self(ACL_FLOAT16, {5}, halves);
      const Tensor<std::uint16_t> out(ACL_FLOAT16, {5}, std::vector<std::uint16_t>(5));
      ASSERT_EQ(run(function.first, function.second, self.get(), out.get()), ACL_SUCCESS);
      const auto values = out.values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double exact = function.formula(inputs[i]);
        if (std::isnan(exact)) {
          const bool saturates = std::string(chip) != "910b";
          EXPECT_TRUE(saturates ? values[i] == 0 : std::isnan(value_of_half(values[i])));
        } else {
          EXPECT_TRUE(is_nearest_half(values[i], exact))
              << inputs[i] << ": " << value_of_half(values[i]) << ", not " << exact;
        }
      }
    }
  }
}

TEST_F(ElementwiseFunctions, SinesOfLargeAnglesAreExact) {
  const std::vector<double> inputs = {1e3, -123456.789, 1e10, 0x1p60, 1e22, -1e300, 0};
  const Tensor<double> self(ACL_DOUBLE, {7}, inputs);
  const Tensor<double> out(ACL_DOUBLE, {7}, std::vector<double>(7));
  ASSERT_EQ(RUN_OP(Sin, self.get(), out.get()), ACL_SUCCESS);
  // By 400 digits of pi.
  const double sine_of_1e22 = -0.8522008497671888;
  EXPECT_NEAR(out.values()[4], sine_of_1e22, 1e-14);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_NEAR(out.values()[i], std::sin(inputs[i]), 1e-14) << inputs[i];
  ASSERT_EQ(RUN_OP(Cos, self.get(), out.get()), ACL_SUCCESS);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_NEAR(out.values()[i], std::cos(inputs[i]), 1e-14) << inputs[i];
}

TEST_F(ElementwiseFunctions, InPlaceOperatorsOverwriteTheirTensor) {
  const struct {
    FirstInPlace first;
    Second second;
    double (*formula)(double);
  } rows[] = {
      {aclnnInplaceExpGetWorkspaceSize, aclnnInplaceExp, [](double x) { return std::exp(x); }},
      {aclnnInplaceSinGetWorkspaceSize, aclnnInplaceSin, [](double x) { return std::sin(x); }},
      {aclnnInplaceCosGetWorkspaceSize, aclnnInplaceCos, [](double x) { return std::cos(x); }},
  };
  for (const auto& row : rows) {
    const Tensor<float> tensor(ACL_FLOAT, {3}, {-1, 0, 2});
    ASSERT_EQ(run(row.first, row.second, tensor.get()), ACL_SUCCESS);
    expect_floats(tensor.values(), {row.formula(-1), row.formula(0), row.formula(2)});
  }
}

TEST_F(ElementwiseFunctions, IntegersStayExactAndWrapAround) {
  const Tensor<std::int32_t> self(ACL_INT32, {4}, {INT32_MIN, -16777217, 0, 5});
  const Tensor<std::int32_t> out(ACL_INT32, {4}, std::vector<std::int32_t>(4));
  ASSERT_EQ(RUN_OP(Neg, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int32_t>{INT32_MIN, 16777217, 0, -5}));
  ASSERT_EQ(RUN_OP(Abs, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int32_t>{INT32_MIN, 16777217, 0, 5}));
  ASSERT_EQ(RUN_OP(Sign, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int32_t>{-1, -1, 0, 1}));
}

TEST_F(ElementwiseFunctions, LogicalNotGivesBoolsOrNumbers) {
  const Tensor<float> self(ACL_FLOAT, {4}, {0, -0.0F, 0.5F, kNanF});
  const Tensor<std::uint8_t> bools(ACL_BOOL, {4}, std::vector<std::uint8_t>(4, 7));
  ASSERT_EQ(RUN_OP(LogicalNot, self.get(), bools.get()), ACL_SUCCESS);
  EXPECT_EQ(bools.values(), (std::vector<std::uint8_t>{1, 1, 0, 0}));
  const Tensor<float> again(ACL_FLOAT, {4}, std::vector<float>(4));
  ASSERT_EQ(RUN_OP(LogicalNot, bools.get(), again.get()), ACL_SUCCESS);
  EXPECT_EQ(again.values(), (std::vector<float>{0, 0, 1, 1}));
}

TEST_F(ElementwiseFunctions, ReadAndWriteViewsWithStridesAndOffsets) {
  // Columns of [[1, 2, 3], [4, 5, 6]], without the first element of the storage.
  const Strided<float> self(ACL_FLOAT, {3, 2}, {1, 3}, 1, {99, 1, 2, 3, 4, 5, 6});
  const Strided<float> out(ACL_FLOAT, {3, 2}, {4, 2}, 1, std::vector<float>(12, -1));
  ASSERT_EQ(RUN_OP(Neg, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.storage(), (std::vector<float>{-1, -1, -1, -4, -1, -2, -1, -5, -1, -3, -1, -6}));
}

TEST_F(ElementwiseFunctions, EmptyTensorsLaunchNothing) {
  const Bare self(ACL_FLOAT, {2, 0});
  const Bare out(ACL_FLOAT, {2, 0});
  EXPECT_EQ(workspace_of(aclnnExpGetWorkspaceSize, self.get(), out.get()), 0U);
  EXPECT_EQ(RUN_OP(Exp, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_TASKS), 0U);
}

TEST_F(ElementwiseFunctions, WorkspaceIsForCopiesAndCasts) {
  const Bare self(ACL_FLOAT16, {3, 7});
  const Bare wide(ACL_FLOAT, {3, 7});
  EXPECT_EQ(workspace_of(aclnnExpGetWorkspaceSize, self.get(), self.get()), 0U);
  // The result is F16 before it is cast: 42 bytes, in blocks of 64.
  EXPECT_EQ(workspace_of(aclnnExpGetWorkspaceSize, self.get(), wide.get()), 64U);
  const std::int64_t shape[] = {3, 7};
  const std::int64_t strides[] = {1, 3};
  const std::int64_t storage[] = {21};
  aclTensor* const turned =
      aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, storage, 1, nullptr);
  EXPECT_EQ(workspace_of(aclnnExpGetWorkspaceSize, turned, self.get()), 64U);
  aclDestroyTensor(turned);
}

TEST_F(ElementwiseFunctions, AWiderResultIsRoundedToTheInputsTypeFirst) {
  const Tensor<std::uint16_t> self(ACL_FLOAT16, {1}, {0x4200});  // 3
  const Tensor<float> out(ACL_FLOAT, {1}, {0});
  ASSERT_EQ(RUN_OP(Reciprocal, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values()[0], 0.333251953125F);  // 1365 / 4096
}

TEST_F(ElementwiseFunctions, OverflowIsInfinityOn910BAndTheLargestNumberElsewhere) {
  const struct {
    const char* chip;
    std::vector<std::uint16_t> exps;
    std::uint16_t root_of_minus_2;
  } rows[] = {{"910b", {0x7C00, 0x0000}, 0x7E00},
              {"310p", {0x7BFF, 0x0000}, 0},
              {"310b", {0x7BFF, 0x0000}, 0}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.chip);
    restart({{"PROFILE", row.chip}});
    const Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {0x4A00, 0xCE00});  // 12, -24
    const Tensor<std::uint16_t> out(ACL_FLOAT16, {2}, {1, 1});
    ASSERT_EQ(RUN_OP(Exp, self.get(), out.get()), ACL_SUCCESS);
    EXPECT_EQ(out.values()[0], row.exps[0]);
    EXPECT_EQ(out.values()[1], row.exps[1]);  // exp(-24) is below half of the least number
    ASSERT_EQ(RUN_OP(Sqrt, self.get(), out.get()), ACL_SUCCESS);
    EXPECT_EQ(out.values()[1] & 0x7FFF, row.root_of_minus_2);
  }
}

TEST_F(ElementwiseFunctions, AComparisonCastsItsOperandsAndNoTruth) {
  const Bare single(ACL_FLOAT, {2});
  const Bare half(ACL_FLOAT16, {2});
  const Bare truth(ACL_BOOL, {2});
  const auto bytes = [&](const Bare& other, const Bare& out) {
    return workspace_of(aclnnGtTensorGetWorkspaceSize, single.get(), other.get(), out.get());
  };
  EXPECT_EQ(bytes(single, truth), 0U);
  EXPECT_EQ(bytes(half, truth), 64U);
  EXPECT_EQ(bytes(single, single), 64U);
}

/// A result of aclnnExp on this stream.
std::uint16_t exp_on(aclrtStream stream, const aclTensor* self, const Tensor<std::uint16_t>& out) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnExpGetWorkspaceSize(self, out.get(), &bytes, &executor), ACL_SUCCESS);
  EXPECT_EQ(aclnnExp(nullptr, bytes, executor, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  return out.values()[0];
}

TEST_F(ElementwiseFunctions, StreamsSaturateAsTheirDeviceWasSetWhenTheyWereMade) {
  const Tensor<std::uint16_t> self(ACL_FLOAT16, {1}, {0x4A00});  // 12: exp is 162755
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {1}, {0});
  aclrtStream before = nullptr;
  aclrtStream after = nullptr;
  aclrtStream last = nullptr;
  ASSERT_EQ(aclrtCreateStream(&before), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&after), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&last), ACL_SUCCESS);
  EXPECT_EQ(exp_on(before, self.get(), out), 0x7C00);
  EXPECT_EQ(exp_on(after, self.get(), out), 0x7BFF);
  EXPECT_EQ(exp_on(last, self.get(), out), 0x7C00);
  // Numbers on the way to a result, too: 70000 becomes F16 before it is multiplied by 0.5.
  const Tensor<std::int32_t> integers(ACL_INT32, {1}, {70000});
  const Tensor<std::uint16_t> halves(ACL_FLOAT16, {1}, {0x3800});
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnMulGetWorkspaceSize(integers.get(), halves.get(), out.get(), &bytes, &executor),
            ACL_SUCCESS);
  const Buffer workspace(bytes);
  ASSERT_EQ(aclnnMul(workspace.address(), bytes, executor, after), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(after), ACL_SUCCESS);
  EXPECT_EQ(out.values()[0], 0x77FF);  // 32752
  for (aclrtStream stream : {before, after, last}) aclrtDestroyStream(stream);
}

TEST_F(ElementwiseFunctions, WrongArgumentsAreRefused) {
  const Tensor<float> self(ACL_FLOAT, {2, 2}, std::vector<float>(4));
  const Tensor<float> vector(ACL_FLOAT, {4}, std::vector<float>(4));
  const Tensor<std::int32_t> integers(ACL_INT32, {2, 2}, std::vector<std::int32_t>(4));
  EXPECT_EQ(RUN_OP(Exp, self.get(), vector.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Exp, self.get(), integers.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Exp, integers.get(), self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Exp, nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(Exp, self.get(), nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(InplaceExp, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  // No float becomes an integer, but an integer becomes a float.
  EXPECT_EQ(RUN_OP(Neg, integers.get(), self.get()), ACL_SUCCESS);
}

TEST_F(ElementwiseFunctions, AnotherChipHasNoBf16) {
  for (const char* const chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    const Bare self(ACL_BF16, {4});
    EXPECT_EQ(RUN_OP(Exp, self.get(), self.get()), ACLNN_ERR_PARAM_INVALID) << chip;
  }
  restart({});
  const Tensor<std::uint16_t> self(ACL_BF16, {1}, {0x4040});  // 3
  const Tensor<std::uint16_t> out(ACL_BF16, {1}, {0});
  ASSERT_EQ(RUN_OP(Reciprocal, self.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values()[0], 0x3EAB);  // 0.333984375
}

TEST_F(ElementwiseFunctions, TheDocumentationNamesFewerChips) {
  const struct {
    const char* name;
    First first;
    Second second;
    bool on_310p, on_310b;
  } rows[] = {
      {ASCEND_FUNCTION(Silu), true, false}, {ASCEND_FUNCTION(Sigmoid), true, false},
      {ASCEND_FUNCTION(Exp), false, false}, {ASCEND_FUNCTION(Sqrt), false, false},
      {ASCEND_FUNCTION(Neg), false, true},  {ASCEND_FUNCTION(Cos), true, true},
      {ASCEND_FUNCTION(Rsqrt), true, true}, {ASCEND_FUNCTION(Relu), false, false},
  };
  for (const auto& row : rows) {
    for (const bool is_310p : {true, false}) {
      SCOPED_TRACE(std::string(row.name) + (is_310p ? " on 310P" : " on 310B"));
      restart({{"PROFILE", is_310p ? "310p" : "310b"}, {"SUPPORT", "docs"}});
      const Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {0, 0});
      const bool is_there = is_310p ? row.on_310p : row.on_310b;
      EXPECT_EQ(run(row.first, row.second, self.get(), self.get()),
                is_there ? ACL_SUCCESS : ACLNN_ERR_INNER_NULLPTR);
    }
  }
}

// --- Activations with parameters

TEST_F(ElementwiseFunctions, ActivationsWithScalars) {
  const std::vector<float> inputs = {-4, -1, -0.5F, 0, 0.75F, 3, 25};
  const Tensor<float> self(ACL_FLOAT, {7}, inputs);
  const Tensor<float> out(ACL_FLOAT, {7}, std::vector<float>(7));
  const auto expect = [&](aclError code, double (*formula)(double)) {
    ASSERT_EQ(code, ACL_SUCCESS) << ascend_twin_last_message();
    std::vector<double> exact;
    for (const float x : inputs) exact.push_back(formula(static_cast<double>(x)));
    expect_floats(out.values(), exact, 1e-12);
  };
  const Scalar half(0.5F);
  const Scalar two(2);
  const Scalar three(3);
  const Scalar ten(10);
  expect(RUN_OP(Elu, self.get(), half.get(), two.get(), three.get(), out.get()),
         [](double x) { return x > 0 ? 2 * x : 0.5 * 2 * (std::exp(3 * x) - 1); });
  expect(RUN_OP(Softplus, self.get(), two.get(), ten.get(), out.get()),
         [](double x) { return 2 * x > 10 ? x : std::log1p(std::exp(2 * x)) / 2; });
  expect(RUN_OP(LeakyRelu, self.get(), half.get(), out.get()),
         [](double x) { return x > 0 ? x : x / 2; });
  expect(RUN_OP(Clamp, self.get(), half.get(), two.get(), out.get()),
         [](double x) { return std::clamp(x, 0.5, 2.0); });
  expect(RUN_OP(Clamp, self.get(), nullptr, two.get(), out.get()),
         [](double x) { return std::fmin(x, 2); });
  expect(RUN_OP(Clamp, self.get(), half.get(), nullptr, out.get()),
         [](double x) { return std::fmax(x, 0.5); });
  expect(RUN_OP(ClampMin, self.get(), half.get(), out.get()),
         [](double x) { return std::fmax(x, 0.5); });
  expect(RUN_OP(Threshold, self.get(), half.get(), ten.get(), out.get()),
         [](double x) { return x > 0.5 ? x : 10; });
  expect(RUN_OP(GeluV2, self.get(), std::int64_t{0}, out.get()), erf_gelu);
  expect(RUN_OP(GeluV2, self.get(), std::int64_t{1}, out.get()), tanh_gelu);
}

TEST_F(ElementwiseFunctions, BoundsInPlace) {
  const Scalar bound(1.5F);
  const Scalar value(-7);
  const Tensor<float> clamped(ACL_FLOAT, {4}, {1, 2, -3, kNanF});
  ASSERT_EQ(RUN_OP(InplaceClampMax, clamped.get(), bound.get()), ACL_SUCCESS);
  expect_floats(clamped.values(), {1, 1.5, -3, std::nan("")});
  const Tensor<float> cut(ACL_FLOAT, {3}, {1.5F, 2, -3});
  ASSERT_EQ(RUN_OP(InplaceThreshold, cut.get(), bound.get(), value.get()), ACL_SUCCESS);
  EXPECT_EQ(cut.values(), (std::vector<float>{-7, 2, -7}));
}

TEST_F(ElementwiseFunctions, IntegersAreClampedExactlyAndByFloatsAsF32) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor<std::int64_t> self(ACL_INT64, {3}, {large, -large, 3});
  const Tensor<std::int64_t> out(ACL_INT64, {3}, {0, 0, 0});
  const Scalar least(ACL_INT64, std::int64_t{-5});
  ASSERT_EQ(RUN_OP(ClampMin, self.get(), least.get(), out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{large, -5, 3}));
  const Scalar real(0.5F);
  EXPECT_EQ(RUN_OP(ClampMin, self.get(), real.get(), out.get()), ACLNN_ERR_PARAM_INVALID);
  const Tensor<float> floats(ACL_FLOAT, {3}, {0, 0, 0});
  ASSERT_EQ(RUN_OP(ClampMin, self.get(), real.get(), floats.get()), ACL_SUCCESS);
  EXPECT_EQ(floats.values(), (std::vector<float>{0x1p53F, 0.5F, 3}));
}

TEST_F(ElementwiseFunctions, ActivationsRefuseWrongParameters) {
  const Tensor<float> self(ACL_FLOAT, {2}, {1, 2});
  const Tensor<std::uint16_t> half(ACL_FLOAT16, {2}, {0, 0});
  const Scalar one(1);
  EXPECT_EQ(RUN_OP(GeluV2, self.get(), std::int64_t{2}, self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(GeluV2, self.get(), std::int64_t{0}, half.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Clamp, self.get(), nullptr, nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(ClampMin, self.get(), nullptr, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(RUN_OP(Elu, self.get(), one.get(), nullptr, one.get(), self.get()),
            ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(ElementwiseFunctions, A310BHasNoSoftplus) {
  restart({{"PROFILE", "310b"}});
  const Tensor<float> self(ACL_FLOAT, {2}, {1, 2});
  const Scalar one(1);
  EXPECT_EQ(RUN_OP(Softplus, self.get(), one.get(), one.get(), self.get()),
            ACLNN_ERR_INNER_NULLPTR);
  restart({{"PROFILE", "310b"}, {"SUPPORT", "package"}});
  const Tensor<float> again(ACL_FLOAT, {1}, {0});
  const Scalar other(1);
  EXPECT_EQ(RUN_OP(Softplus, again.get(), other.get(), other.get(), again.get()), ACL_SUCCESS);
  expect_floats(again.values(), {std::log(2.0)});
}

}  // namespace
}  // namespace ascend_test::elementwise::functions
