// Single operators that share kernels with the elementwise operators and reductions.
#include <cmath>

#include "single_op_support.h"

namespace ascend_test::indexing {
namespace {

using SingleOpElementwise = TwinTest;

/// The results for x and y, or x alone.
Floats results_of(const char* type, const Floats& x, const Floats* y,
                  aclopAttr* attributes = nullptr) {
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(x.size())};
  Tensor<float> first(ACL_FLOAT, shape, x);
  Tensor<float> second(ACL_FLOAT, shape, y == nullptr ? x : *y);
  Tensor<float> out(ACL_FLOAT, shape, Floats(x.size()));
  const Port a(ACL_FLOAT, shape, first);
  const Port b(ACL_FLOAT, shape, second);
  const Port result(ACL_FLOAT, shape, out);
  EXPECT_EQ(y == nullptr ? single_op(type, {&a}, {&result}, attributes)
                         : single_op(type, {&a, &b}, {&result}, attributes),
            ACL_SUCCESS)
      << type << ": " << ascend_twin_last_message();
  return out.values();
}

TEST_F(SingleOpElementwise, ComputesWithTwoTensors) {
  const Floats x{6, -1.5F, 0};
  const Floats y{3, 2, 4};
  EXPECT_EQ(results_of("Add", x, &y), (Floats{9, 0.5F, 4}));
  EXPECT_EQ(results_of("Sub", x, &y), (Floats{3, -3.5F, -4}));
  EXPECT_EQ(results_of("Mul", x, &y), (Floats{18, -3, 0}));
  EXPECT_EQ(results_of("RealDiv", x, &y), (Floats{2, -0.75F, 0}));
  EXPECT_EQ(results_of("Maximum", x, &y), (Floats{6, 2, 4}));
  EXPECT_EQ(results_of("Minimum", x, &y), (Floats{3, -1.5F, 0}));
}

TEST_F(SingleOpElementwise, ComputesWithOneTensor) {
  const Floats x{0.25F, 1, 4};
  const auto expect_near = [&](const char* type, double (*function)(double)) {
    const Floats found = results_of(type, x, nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double wanted = function(static_cast<double>(x[i]));
      EXPECT_NEAR(static_cast<double>(found[i]), wanted, 1e-6 * std::fabs(wanted) + 1e-7) << type;
    }
  };
  expect_near("Sqrt", [](double v) { return std::sqrt(v); });
  expect_near("Rsqrt", [](double v) { return 1 / std::sqrt(v); });
  expect_near("Exp", [](double v) { return std::exp(v); });
  expect_near("Log", [](double v) { return std::log(v); });
  expect_near("Sin", [](double v) { return std::sin(v); });
  expect_near("Cos", [](double v) { return std::cos(v); });
  expect_near("Neg", [](double v) { return -v; });
  expect_near("Abs", [](double v) { return std::fabs(v); });
  expect_near("Tanh", [](double v) { return std::tanh(v); });
  expect_near("Relu", [](double v) { return v > 0 ? v : 0; });
  expect_near("Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); });
  expect_near("Swish", [](double v) { return v / (1 + std::exp(-v)); });
  expect_near("Gelu", [](double v) {
    return v / 2 * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  });
}

TEST_F(SingleOpElementwise, ComputesInF16OnA310B) {
  restart({{"PROFILE", "310b"}});
  const auto result_of = [](const char* type, std::uint16_t x, std::uint16_t y) {
    Tensor<std::uint16_t> first(ACL_FLOAT16, {1}, {x});
    Tensor<std::uint16_t> second(ACL_FLOAT16, {1}, {y});
    Tensor<std::uint16_t> out(ACL_FLOAT16, {1}, {0});
    const Port a(ACL_FLOAT16, {1}, first);
    const Port b(ACL_FLOAT16, {1}, second);
    const Port result(ACL_FLOAT16, {1}, out);
    EXPECT_EQ(y == 0 ? single_op(type, {&a}, {&result}) : single_op(type, {&a, &b}, {&result}),
              ACL_SUCCESS)
        << type << ": " << ascend_twin_last_message();
    return out.values()[0];
  };
  // 1 is 0x3C00, 2 is 0x4000, 3 is 0x4200.
  EXPECT_EQ(result_of("Add", 0x3C00, 0x4000), 0x4200);
  EXPECT_EQ(result_of("Sub", 0x4200, 0x4000), 0x3C00);
  EXPECT_EQ(result_of("Mul", 0x4200, 0x4200), 0x4880);      // 9
  EXPECT_EQ(result_of("RealDiv", 0x3C00, 0x4200), 0x3555);  // 0.33325
  EXPECT_EQ(result_of("Sqrt", 0x4400, 0), 0x4000);
  EXPECT_EQ(result_of("Neg", 0x4200, 0), 0xC200);
  EXPECT_EQ(result_of("Relu", 0xC200, 0), 0x0000);
  EXPECT_EQ(result_of("Mul", 0x7BFF, 0x4000), 0x7BFF);  // saturates
  EXPECT_EQ(result_of("Exp", 0x4A00, 0), 0x7BFF);
}

TEST_F(SingleOpElementwise, MulsHasItsFactorAsAnAttribute) {
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrFloat(attributes.get(), "value", -0.5F), ACL_SUCCESS);
  EXPECT_EQ(results_of("Muls", {2, 3}, nullptr, attributes.get()), (Floats{-1, -1.5F}));
  Tensor<float> x(ACL_FLOAT, {2}, {2, 3});
  const Port port(ACL_FLOAT, {2}, x);
  EXPECT_EQ(single_op("Muls", {&port}, {&port}), ACL_ERROR_GE_FAILURE);
}

TEST_F(SingleOpElementwise, MulsOfIntegersByNoNumberIsZero) {
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrFloat(attributes.get(), "value", std::nanf("")), ACL_SUCCESS);
  Tensor<std::int32_t> x(ACL_INT32, {2}, {2, -3});
  const Port port(ACL_INT32, {2}, x);
  ASSERT_EQ(single_op("Muls", {&port}, {&port}, attributes.get()), ACL_SUCCESS);
  EXPECT_EQ(x.values(), (Ints{0, 0}));
}

TEST_F(SingleOpElementwise, FactorsThatDifferInTheirLastBitsAreCompiledApart) {
  Tensor<float> x(ACL_FLOAT, {2}, {2, 3});
  const Port port(ACL_FLOAT, {2}, x);
  Ports ports{&port};
  const auto execute = [&](float value) {
    const Attributes attributes;
    EXPECT_EQ(aclopSetAttrFloat(attributes.get(), "value", value), ACL_SUCCESS);
    const aclError code =
        aclopExecuteV2("Muls", 1, ports.descriptions.data(), ports.buffers.data(), 1,
                       ports.descriptions.data(), ports.buffers.data(), attributes.get(), nullptr);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    return code;
  };
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrFloat(attributes.get(), "value", 1e-9F), ACL_SUCCESS);
  ASSERT_EQ(single_op("Muls", {&port}, {&port}, attributes.get()), ACL_SUCCESS);
  EXPECT_EQ(execute(2e-9F), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(execute(1e-9F), ACL_SUCCESS);
}

TEST_F(SingleOpElementwise, SoftmaxTakesOneAxis) {
  const Attributes attributes;
  const std::int64_t axes[] = {0, 1};
  const Floats found = results_of("SoftmaxV2", {1, 2, 3}, nullptr, attributes.get());
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(found[i]), std::exp(static_cast<double>(i + 1)) / sum, 1e-7);
  }
  Tensor<float> x(ACL_FLOAT, {4}, {1, 1, 2, 1});
  Tensor<float> out(ACL_FLOAT, {4}, Floats(4));
  const Port in(ACL_FLOAT, {2, 2}, x);
  const Port result(ACL_FLOAT, {2, 2}, out);
  ASSERT_EQ(aclopSetAttrListInt(attributes.get(), "axes", 1, axes), ACL_SUCCESS);
  ASSERT_EQ(single_op("SoftmaxV2", {&in}, {&result}, attributes.get()), ACL_SUCCESS);
  EXPECT_FLOAT_EQ(out.values()[1], 0.5F);
  ASSERT_EQ(aclopSetAttrListInt(attributes.get(), "axes", 2, axes), ACL_SUCCESS);
  EXPECT_EQ(single_op("SoftmaxV2", {&in}, {&result}, attributes.get()),
            ACL_ERROR_FEATURE_UNSUPPORTED);
}

TEST_F(SingleOpElementwise, SwishTakesNoOtherScale) {
  const Attributes attributes;
  ASSERT_EQ(aclopSetAttrFloat(attributes.get(), "scale", 1.702F), ACL_SUCCESS);
  Tensor<float> x(ACL_FLOAT, {2}, {2, 3});
  const Port port(ACL_FLOAT, {2}, x);
  EXPECT_EQ(single_op("Swish", {&port}, {&port}, attributes.get()), ACL_ERROR_FEATURE_UNSUPPORTED);
}

}  // namespace
}  // namespace ascend_test::indexing
