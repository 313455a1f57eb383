// Norms and softmax, against plain sums in double precision.
#include <algorithm>

#include "elementwise_support.h"

namespace ascend_test::elementwise::norms {
namespace {

using Norms = TwinTest;
using Row = std::vector<double>;

double mean_of(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += x;
  return sum / static_cast<double>(row.size());
}
/// By E[x^2] - E[x]^2.
double rstd_of(const Row& row, double epsilon) {
  Row squares;
  for (const double x : row) squares.push_back(x * x);
  return std::pow(mean_of(squares) - std::pow(mean_of(row), 2) + epsilon, -0.5);
}
double root_mean_square(const Row& row, double epsilon) {
  Row squares;
  for (const double x : row) squares.push_back(x * x);
  return std::sqrt(mean_of(squares) + epsilon);
}

const std::vector<float> kValues = {1, 2, 4, -3, 0.5F, 0.25F, 7, 7, -7, 0.125F, 10, 3};
Row row_of(std::size_t first, std::size_t count) {
  return Row(kValues.begin() + static_cast<std::ptrdiff_t>(first),
             kValues.begin() + static_cast<std::ptrdiff_t>(first + count));
}

// --- LayerNorm

TEST_F(Norms, LayerNormWithWeightsBiasesAndStatistics) {
  const Tensor<float> self(ACL_FLOAT, {4, 3}, kValues);
  const Tensor<float> weight(ACL_FLOAT, {3}, {1, 0.5F, -2});
  const Tensor<float> bias(ACL_FLOAT, {3}, {0, 1, 10});
  const Tensor<float> out(ACL_FLOAT, {4, 3}, std::vector<float>(12));
  const Tensor<float> mean(ACL_FLOAT, {4, 1}, std::vector<float>(4));
  const Tensor<float> rstd(ACL_FLOAT, {4, 1}, std::vector<float>(4));
  const Integers shape({3});
  ASSERT_EQ(RUN_OP(LayerNorm, self.get(), shape.get(), weight.get(), bias.get(), 0.25, out.get(),
                   mean.get(), rstd.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  Row exact;
  Row means;
  Row rstds;
  for (std::size_t i = 0; i < 4; ++i) {
    const Row row = row_of(3 * i, 3);
    means.push_back(mean_of(row));
    rstds.push_back(rstd_of(row, 0.25));
    exact.push_back((row[0] - means[i]) * rstds[i]);
    exact.push_back((row[1] - means[i]) * rstds[i] * 0.5 + 1);
    exact.push_back((row[2] - means[i]) * rstds[i] * -2 + 10);
  }
  expect_floats(out.values(), exact, 1e-12);
  expect_floats(mean.values(), means, 1e-12);
  expect_floats(rstd.values(), rstds);
}

TEST_F(Norms, LayerNormOfTwoDimensionsWithoutOptionalTensors) {
  const Tensor<float> self(ACL_FLOAT, {2, 2, 3}, kValues);
  const Tensor<float> out(ACL_FLOAT, {2, 2, 3}, std::vector<float>(12));
  const Integers shape({2, 3});
  ASSERT_EQ(RUN_OP(LayerNorm, self.get(), shape.get(), nullptr, nullptr, 1e-5, out.get(), nullptr,
                   nullptr),
            ACL_SUCCESS);
  Row exact;
  for (std::size_t i = 0; i < 2; ++i) {
    const Row row = row_of(6 * i, 6);
    for (const double x : row) exact.push_back((x - mean_of(row)) * rstd_of(row, 1e-5));
  }
  expect_floats(out.values(), exact, 1e-12);
}

TEST_F(Norms, LayerNormReadsStridedRowsAndRoundsToF16) {
  // Two rows of a matrix that is stored by columns: [1, 3, 5], [2, 4, 7].
  const Strided<std::uint16_t> self(ACL_FLOAT16, {2, 3}, {1, 2}, 1,
                                    {0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4700});
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {2, 3}, std::vector<std::uint16_t>(6));
  const Integers shape({3});
  ASSERT_EQ(RUN_OP(LayerNorm, self.get(), shape.get(), nullptr, nullptr, 0.0, out.get(), nullptr,
                   nullptr),
            ACL_SUCCESS);
  const Row rows[] = {{1, 3, 5}, {2, 4, 7}};
  for (std::size_t i = 0; i < 6; ++i) {
    const Row& row = rows[i / 3];
    EXPECT_TRUE(is_nearest_half(out.values()[i], (row[i % 3] - mean_of(row)) * rstd_of(row, 0)))
        << i;
  }
}

TEST_F(Norms, LayerNormRefusesWrongShapes) {
  const Bare self(ACL_FLOAT, {4, 3});
  const Bare four(ACL_FLOAT, {4});
  const Bare integers(ACL_INT32, {4, 3});
  const Integers three({3});
  const Integers wrong({4});
  const Integers none({});
  const Integers many({1, 4, 3});
  const auto code = [&](const Integers& shape, aclTensor* weight, aclTensor* out, aclTensor* mean) {
    return RUN_OP(LayerNorm, self.get(), shape.get(), weight, nullptr, 1e-5, out, mean, nullptr);
  };
  for (const Integers* const shape : {&wrong, &none, &many})
    EXPECT_EQ(code(*shape, nullptr, self.get(), nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(three, four.get(), self.get(), nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(three, nullptr, four.get(), nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(three, nullptr, integers.get(), nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(three, nullptr, self.get(), four.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(three, nullptr, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(
      RUN_OP(LayerNorm, self.get(), nullptr, nullptr, nullptr, 1e-5, self.get(), nullptr, nullptr),
      ACLNN_ERR_PARAM_NULLPTR);
}

TEST_F(Norms, A310BNormalisesF16Only) {
  restart({{"PROFILE", "310b"}});
  const Integers shape({4});
  const Bare single(ACL_FLOAT, {4});
  EXPECT_EQ(RUN_OP(LayerNorm, single.get(), shape.get(), nullptr, nullptr, 1e-5, single.get(),
                   nullptr, nullptr),
            ACLNN_ERR_INNER_NULLPTR);
  const Tensor<std::uint16_t> half(ACL_FLOAT16, {4}, std::vector<std::uint16_t>(4));
  EXPECT_EQ(RUN_OP(LayerNorm, half.get(), shape.get(), nullptr, nullptr, 1e-5, half.get(), nullptr,
                   nullptr),
            ACL_SUCCESS);
}

TEST_F(Norms, RowsWithoutElements) {
  const Bare self(ACL_FLOAT, {2, 0});
  const Integers shape({0});
  const Tensor<float> mean(ACL_FLOAT, {2, 1}, {7, 7});
  EXPECT_EQ(RUN_OP(LayerNorm, self.get(), shape.get(), nullptr, nullptr, 1e-5, self.get(),
                   mean.get(), nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(mean.values(), (std::vector<float>{0, 0}));
}

// --- GroupNorm

TEST_F(Norms, GroupNormOfChannels) {
  // 1 batch, 4 channels of 3 pixels in 2 groups.
  const Tensor<float> self(ACL_FLOAT, {1, 4, 3}, kValues);
  const Tensor<float> gamma(ACL_FLOAT, {4}, {1, 2, 3, 4});
  const Tensor<float> beta(ACL_FLOAT, {4}, {0, -1, 1, 0.5F});
  const Tensor<float> out(ACL_FLOAT, {1, 4, 3}, std::vector<float>(12));
  const Tensor<float> mean(ACL_FLOAT, {1, 2}, {0, 0});
  const Tensor<float> rstd(ACL_FLOAT, {1, 2}, {0, 0});
  ASSERT_EQ(RUN_OP(GroupNorm, self.get(), gamma.get(), beta.get(), std::int64_t{1}, std::int64_t{4},
                   std::int64_t{3}, std::int64_t{2}, 1e-3, out.get(), mean.get(), rstd.get()),
            ACL_SUCCESS)
      << ascend_twin_last_message();
  const double gammas[] = {1, 2, 3, 4};
  const double betas[] = {0, -1, 1, 0.5};
  Row exact;
  for (std::size_t i = 0; i < 12; ++i) {
    const Row group = row_of(i / 6 * 6, 6);
    exact.push_back((group[i % 6] - mean_of(group)) * rstd_of(group, 1e-3) * gammas[i / 3] +
                    betas[i / 3]);
  }
  expect_floats(out.values(), exact, 1e-12);
  expect_floats(mean.values(), {mean_of(row_of(0, 6)), mean_of(row_of(6, 6))}, 1e-12);
  expect_floats(rstd.values(), {rstd_of(row_of(0, 6), 1e-3), rstd_of(row_of(6, 6), 1e-3)});
}

TEST_F(Norms, GroupNormRefusesWrongNumbers) {
  const Bare self(ACL_FLOAT, {1, 4, 3});
  const Bare channels(ACL_FLOAT, {3});
  const Bare statistics(ACL_FLOAT, {1, 2});
  const auto code = [&](std::int64_t n, std::int64_t c, std::int64_t size, std::int64_t groups,
                        aclTensor* gamma, aclTensor* mean) {
    return RUN_OP(GroupNorm, self.get(), gamma, nullptr, n, c, size, groups, 1e-5, self.get(), mean,
                  statistics.get());
  };
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  EXPECT_EQ(code(1, 4, 3, 3, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 4, 3, 0, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 4, 4, 2, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(-1, 4, 3, 2, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(0, 4, 3, 2, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(kLarge, kLarge, kLarge, 2, nullptr, statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 4, 3, 2, channels.get(), statistics.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 4, 3, 2, nullptr, channels.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(1, 4, 3, 2, nullptr, nullptr), ACLNN_ERR_PARAM_NULLPTR);
}

// --- RmsNorm

TEST_F(Norms, RmsNormWithEitherShapeOfItsStatistics) {
  const Tensor<float> self(ACL_FLOAT, {2, 2, 3}, kValues);
  const Tensor<float> gamma(ACL_FLOAT, {3}, {1, 2, -0.5F});
  for (const Shape& shape : {Shape{2, 2}, Shape{2, 2, 1}}) {
    const Tensor<float> out(ACL_FLOAT, {2, 2, 3}, std::vector<float>(12));
    const Tensor<float> rstd(ACL_FLOAT, shape, std::vector<float>(4));
    ASSERT_EQ(RUN_OP(RmsNorm, self.get(), gamma.get(), 0.5, out.get(), rstd.get()), ACL_SUCCESS);
    const double gammas[] = {1, 2, -0.5};
    Row exact;
    Row rstds;
    for (std::size_t i = 0; i < 12; ++i) {
      const Row row = row_of(i / 3 * 3, 3);
      exact.push_back(row[i % 3] / root_mean_square(row, 0.5) * gammas[i % 3]);
      if (i % 3 == 0) rstds.push_back(1 / root_mean_square(row, 0.5));
    }
    expect_floats(out.values(), exact);
    expect_floats(rstd.values(), rstds);
  }
}

TEST_F(Norms, A910BTakesWeightsOfF32) {
  const Tensor<std::uint16_t> self(ACL_FLOAT16, {2}, {0x4200, 0x4400});  // 3, 4
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {2}, {0, 0});
  const Tensor<float> gamma(ACL_FLOAT, {2}, {1, 1.0009765625F / 3});
  const Tensor<float> rstd(ACL_FLOAT, {1}, {0});
  ASSERT_EQ(RUN_OP(RmsNorm, self.get(), gamma.get(), 0.0, out.get(), rstd.get()), ACL_SUCCESS);
  const double root = std::sqrt(12.5);
  EXPECT_TRUE(is_nearest_half(out.values()[0], 3 / root));
  EXPECT_TRUE(is_nearest_half(out.values()[1], 4 / root * 1.0009765625 / 3));
  expect_floats(rstd.values(), {1 / root});
}

TEST_F(Norms, A310PWantsOneTypeAndRowsOf32Bytes) {
  restart({{"PROFILE", "310p"}});
  const auto code = [](aclDataType x, aclDataType gamma, std::int64_t size) {
    const Bare self(x, {1, size});
    const Bare weight(gamma, {size});
    const Bare rstd(ACL_FLOAT, {1});
    std::uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const aclError result = aclnnRmsNormGetWorkspaceSize(self.get(), weight.get(), 1e-6, self.get(),
                                                         rstd.get(), &bytes, &executor);
    if (result == ACL_SUCCESS) aclDestroyAclOpExecutor(executor);
    return result;
  };
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT16, 16), ACL_SUCCESS);
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT16, 15), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(ACL_FLOAT, ACL_FLOAT, 8), ACL_SUCCESS);
  EXPECT_EQ(code(ACL_FLOAT, ACL_FLOAT, 7), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT, 16), ACLNN_ERR_PARAM_INVALID);
  restart({{"PROFILE", "310b"}});
  EXPECT_EQ(code(ACL_FLOAT16, ACL_FLOAT16, 16), ACLNN_ERR_INNER_NULLPTR);
  const Bare row(ACL_FLOAT16, {16});
  EXPECT_EQ(
      RUN_OP(AddRmsNorm, row.get(), row.get(), row.get(), 1e-6, row.get(), row.get(), row.get()),
      ACLNN_ERR_INNER_NULLPTR);
}

TEST_F(Norms, StrictModeObjectsToInfinitiesOnA310P) {
  const auto code = [](const char* chip, const char* strict) {
    restart({{"PROFILE", chip}, {"STRICT", strict}});
    std::vector<float> values(8, 1);
    values[3] = kInfinityF;
    const Tensor<float> self(ACL_FLOAT, {8}, values);
    const Tensor<float> gamma(ACL_FLOAT, {8}, std::vector<float>(8, 1));
    const Tensor<float> out(ACL_FLOAT, {8}, std::vector<float>(8));
    const Tensor<float> rstd(ACL_FLOAT, {1}, {0});
    const aclError plain = RUN_OP(RmsNorm, self.get(), gamma.get(), 1e-6, out.get(), rstd.get());
    EXPECT_EQ(RUN_OP(AddRmsNorm, self.get(), gamma.get(), gamma.get(), 1e-6, out.get(), rstd.get(),
                     out.get()),
              plain);
    return plain;
  };
  EXPECT_EQ(code("310p", "off"), ACL_SUCCESS);
  EXPECT_EQ(code("910b", "status"), ACL_SUCCESS);
  EXPECT_EQ(code("310p", "status"), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_OBJECTIONS), 2U);
  EXPECT_NE(std::string(ascend_twin_last_objection()).find("infinity"), std::string::npos);
}

TEST_F(Norms, RmsNormRefusesWrongTensors) {
  const Bare self(ACL_FLOAT, {2, 8});
  const Bare gamma(ACL_FLOAT, {8});
  const Bare seven(ACL_FLOAT, {7});
  const Bare number(ACL_FLOAT, {});
  const Bare half(ACL_FLOAT16, {2, 8});
  const Bare rstd(ACL_FLOAT, {2});
  const Bare half_rstd(ACL_FLOAT16, {2});
  const auto code = [&](const Bare& weight, const Bare& out, const Bare& statistics) {
    return RUN_OP(RmsNorm, self.get(), weight.get(), 1e-6, out.get(), statistics.get());
  };
  EXPECT_EQ(code(seven, self, rstd), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(number, self, rstd), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(gamma, half, rstd), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(gamma, gamma, rstd), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(gamma, self, half_rstd), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(code(gamma, self, gamma), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(RmsNorm, self.get(), gamma.get(), 1e-6, self.get(), nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(workspace_of(aclnnRmsNormGetWorkspaceSize, self.get(), gamma.get(), 1e-6, self.get(),
                         rstd.get()),
            std::uint64_t{16} << 20);
}

TEST_F(Norms, AddRmsNormNormalisesTheRoundedSum) {
  // 2048 + 1 is 2048 in F16.
  const Tensor<std::uint16_t> x1(ACL_FLOAT16, {2}, {0x6800, 0x3C00});
  const Tensor<std::uint16_t> x2(ACL_FLOAT16, {2}, {0x3C00, 0x4000});
  const Tensor<std::uint16_t> gamma(ACL_FLOAT16, {2}, {0x3C00, 0x3C00});
  const Tensor<std::uint16_t> out(ACL_FLOAT16, {2}, {0, 0});
  const Tensor<std::uint16_t> sum(ACL_FLOAT16, {2}, {0, 0});
  const Tensor<float> rstd(ACL_FLOAT, {1}, {0});
  ASSERT_EQ(
      RUN_OP(AddRmsNorm, x1.get(), x2.get(), gamma.get(), 0.0, out.get(), rstd.get(), sum.get()),
      ACL_SUCCESS);
  EXPECT_EQ(sum.values(), (std::vector<std::uint16_t>{0x6800, 0x4200}));  // 2048, 3
  const double root = std::sqrt((2048.0 * 2048 + 9) / 2);
  expect_floats(rstd.values(), {1 / root});
  EXPECT_TRUE(is_nearest_half(out.values()[0], 2048 / root));
  EXPECT_TRUE(is_nearest_half(out.values()[1], 3 / root));
  // In place: the sum may overwrite an operand.
  ASSERT_EQ(
      RUN_OP(AddRmsNorm, x1.get(), x2.get(), gamma.get(), 0.0, out.get(), rstd.get(), x1.get()),
      ACL_SUCCESS);
  EXPECT_EQ(x1.values(), sum.values());
  const Bare three(ACL_FLOAT16, {3});
  const Bare single(ACL_FLOAT, {2});
  EXPECT_EQ(
      RUN_OP(AddRmsNorm, x1.get(), three.get(), gamma.get(), 0.0, out.get(), rstd.get(), sum.get()),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      RUN_OP(AddRmsNorm, x1.get(), x2.get(), gamma.get(), 0.0, out.get(), rstd.get(), single.get()),
      ACLNN_ERR_PARAM_INVALID);
}

// --- Softmax

Row softmax_of(const Row& row) {
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  Row result;
  for (const double x : row) result.push_back(std::exp(x) / sum);
  return result;
}

TEST_F(Norms, SoftmaxOfAnyDimension) {
  const Tensor<float> self(ACL_FLOAT, {4, 3}, kValues);
  const Tensor<float> out(ACL_FLOAT, {4, 3}, std::vector<float>(12));
  for (const std::int64_t dim : {1, -1}) {
    ASSERT_EQ(RUN_OP(Softmax, self.get(), dim, out.get()), ACL_SUCCESS);
    Row exact;
    for (std::size_t i = 0; i < 4; ++i) {
      for (const double x : softmax_of(row_of(3 * i, 3))) exact.push_back(x);
    }
    expect_floats(out.values(), exact);
  }
  for (const std::int64_t dim : {0, -2}) {
    ASSERT_EQ(RUN_OP(LogSoftmax, self.get(), dim, out.get()), ACL_SUCCESS);
    Row exact(12);
    for (std::size_t column = 0; column < 3; ++column) {
      Row values;
      for (std::size_t i = 0; i < 4; ++i) values.push_back(row_of(3 * i + column, 1)[0]);
      for (std::size_t i = 0; i < 4; ++i) exact[3 * i + column] = std::log(softmax_of(values)[i]);
    }
    expect_floats(out.values(), exact, 1e-12);
  }
}

TEST_F(Norms, SoftmaxOfAStridedViewAndOfANumber) {
  const Strided<float> self(ACL_FLOAT, {2, 3}, {1, 2}, 1, {9, 1, 4, 2, 5, 3, 7});
  const Strided<float> out(ACL_FLOAT, {2, 3}, {1, 2}, 0, std::vector<float>(6));
  ASSERT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{1}, out.get()), ACL_SUCCESS);
  const Row first = softmax_of({1, 2, 3});
  const Row second = softmax_of({4, 5, 7});
  expect_floats(out.storage(), {first[0], second[0], first[1], second[1], first[2], second[2]});
  const Tensor<float> number(ACL_FLOAT, {}, {5});
  ASSERT_EQ(RUN_OP(Softmax, number.get(), std::int64_t{0}, number.get()), ACL_SUCCESS);
  EXPECT_EQ(number.values(), (std::vector<float>{1}));
  EXPECT_EQ(RUN_OP(Softmax, number.get(), std::int64_t{1}, number.get()), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(Norms, SoftmaxOfLargeNumbersAndMasks) {
  const Tensor<float> self(ACL_FLOAT, {3, 2},
                           {1e30F, 1e30F, -kInfinityF, 5, -kInfinityF, -kInfinityF});
  const Tensor<float> out(ACL_FLOAT, {3, 2}, std::vector<float>(6));
  ASSERT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{1}, out.get()), ACL_SUCCESS);
  expect_floats(out.values(), {0.5, 0.5, 0, 1, std::nan(""), std::nan("")});
}

TEST_F(Norms, ARowThatIsHiddenAltogetherIsZeroOnA310P) {
  restart({{"PROFILE", "310p"}});
  const Tensor<float> self(ACL_FLOAT, {2}, {-kInfinityF, -kInfinityF});
  const Tensor<float> out(ACL_FLOAT, {2}, {7, 7});
  ASSERT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{0}, out.get()), ACL_SUCCESS);
  EXPECT_EQ(out.values(), (std::vector<float>{0, 0}));
}

TEST_F(Norms, SoftmaxRefusesAndNeedsWorkspaceThatShrinks) {
  const Bare self(ACL_FLOAT, {4, 3});
  const Bare turned(ACL_FLOAT, {3, 4});
  const Bare integers(ACL_INT32, {4, 3});
  EXPECT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{2}, self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{-3}, self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{1}, turned.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Softmax, self.get(), std::int64_t{1}, integers.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(Softmax, integers.get(), std::int64_t{1}, self.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(LogSoftmax, nullptr, std::int64_t{1}, self.get()), ACLNN_ERR_PARAM_NULLPTR);
  const Bare many(ACL_FLOAT, {400, 3});
  const auto bytes = [](const Bare& tensor) {
    return workspace_of(aclnnSoftmaxGetWorkspaceSize, tensor.get(), std::int64_t{1}, tensor.get());
  };
  EXPECT_GT(bytes(many), 0U);
  EXPECT_GT(bytes(self), bytes(many));
}

TEST_F(Norms, CrossEntropyAndItsGradient) {
  const Tensor<float> features(ACL_FLOAT, {2, 3}, {1, 2, 4, -3, 0.5F, 0.25F});
  const Tensor<float> labels(ACL_FLOAT, {2, 3}, {0, 1, 0, 0.25F, 0.25F, 0.5F});
  const Tensor<float> loss(ACL_FLOAT, {2}, {0, 0});
  const Tensor<float> gradient(ACL_FLOAT, {2, 3}, std::vector<float>(6));
  ASSERT_EQ(RUN_OP(SoftmaxCrossEntropyWithLogits, features.get(), labels.get(), loss.get(),
                   gradient.get()),
            ACL_SUCCESS);
  const Row a = softmax_of({1, 2, 4});
  const Row b = softmax_of({-3, 0.5, 0.25});
  expect_floats(loss.values(), {-std::log(a[1]), -0.25 * std::log(b[0]) - 0.25 * std::log(b[1]) -
                                                     0.5 * std::log(b[2])});
  expect_floats(gradient.values(), {a[0], a[1] - 1, a[2], b[0] - 0.25, b[1] - 0.25, b[2] - 0.5},
                1e-12);
  EXPECT_EQ(
      RUN_OP(SoftmaxCrossEntropyWithLogits, features.get(), loss.get(), loss.get(), gradient.get()),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(RUN_OP(SoftmaxCrossEntropyWithLogits, loss.get(), loss.get(), loss.get(), loss.get()),
            ACLNN_ERR_PARAM_INVALID);
  const Bare half(ACL_FLOAT16, {2});
  EXPECT_EQ(RUN_OP(SoftmaxCrossEntropyWithLogits, features.get(), labels.get(), half.get(),
                   gradient.get()),
            ACLNN_ERR_PARAM_INVALID);
}

}  // namespace
}  // namespace ascend_test::elementwise::norms
