// Norms and reductions against their formulas in double precision.
#include <algorithm>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinNorms : public TwinTest {};

constexpr double kHalfPlace = 1.001 / 1024;  // relative

TEST_F(ZdnnTwinNorms, NormIsTheLengthOfTheDifference) {
  constexpr std::uint32_t s = 2, rows = 3, n = 70;
  const auto a = some_numbers(s * rows * n, 1);
  const auto b = some_numbers(s * rows * n, 2);
  Tensor ta(ZDNN_3DS, {s, rows, n}, a);
  Tensor tb(ZDNN_3DS, {s, rows, n}, b);
  Tensor out(ZDNN_3DS, {s, rows, 1});
  ASSERT_EQ(zdnn_norm(ta, tb, out), ZDNN_OK);
  const auto got = out.get(s * rows);
  for (std::size_t row = 0; row < s * rows; ++row) {
    double sum = 0;
    for (std::size_t i = row * n; i < row * n + n; ++i)
      sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    EXPECT_NEAR(static_cast<double>(got[row]), std::sqrt(sum), std::sqrt(sum) * kHalfPlace);
  }
  EXPECT_EQ(zdnn_norm(ta, tb, ta), ZDNN_INVALID_SHAPE);
  Tensor planes(ZDNN_3D, {2, 3, 4}, some_numbers(24));
  Tensor planes_out(ZDNN_3D, {2, 3, 1});
  EXPECT_EQ(zdnn_norm(planes, planes, planes_out), ZDNN_INVALID_SHAPE);  // dim3 is not 1
  // The square root of a sum of squares beyond the range fits, but the twin takes no risk: 2^32
  // each.
  Tensor large(ZDNN_3DS, {1, 1, 2}, {65536, 65536});
  Tensor zero(ZDNN_3DS, {1, 1, 2}, {0, 0});
  Tensor one(ZDNN_3DS, {1, 1, 1});
  EXPECT_EQ(zdnn_norm(large, zero, one), ZDNN_OK);
  EXPECT_EQ(one.cell(0), nearest(65536 * std::sqrt(2)));
}

TEST_F(ZdnnTwinNorms, MomentsAreOverAllButDim4) {
  constexpr std::uint32_t s = 3, h = 2, w = 5, c = 66;
  constexpr std::size_t count = h * w * c;
  const auto x = some_numbers(s * count);
  Tensor in(ZDNN_NHWC, {s, h, w, c}, x);
  for (const auto bessel : {MOMENTS_BESSEL_POPULATION, MOMENTS_BESSEL_SAMPLE}) {
    Tensor mean(ZDNN_NHWC, {s, 1, 1, 1});
    Tensor variance(ZDNN_NHWC, {s, 1, 1, 1});
    ASSERT_EQ(zdnn_moments(in, bessel, mean, variance), ZDNN_OK);
    EXPECT_TRUE(mean.tensor.is_transformed);
    EXPECT_FALSE(variance.tensor.is_transformed);  // as the vendor's library leaves it
    variance.tensor.is_transformed = true;
    const auto means = mean.get(s);
    const auto variances = variance.get(s);
    for (std::size_t i = 0; i < s; ++i) {
      double sum = 0, squares = 0;
      for (std::size_t k = 0; k < count; ++k) sum += static_cast<double>(x[i * count + k]);
      const double middle = sum / count;
      for (std::size_t k = 0; k < count; ++k)
        squares += std::pow(static_cast<double>(x[i * count + k]) - middle, 2);
      const double expected = squares / (bessel == MOMENTS_BESSEL_SAMPLE ? count - 1.0 : count);
      EXPECT_NEAR(static_cast<double>(means[i]), middle, std::fabs(middle) * kHalfPlace + 1e-6);
      EXPECT_NEAR(static_cast<double>(variances[i]), expected, expected * kHalfPlace);
    }
  }
}

TEST_F(ZdnnTwinNorms, SampleMomentsNeedTwoElements) {
  Tensor in(ZDNN_NHWC, {3, 1, 1, 1}, {1, 2, 3});
  Tensor mean(ZDNN_NHWC, {3, 1, 1, 1});
  Tensor variance(ZDNN_NHWC, {3, 1, 1, 1});
  EXPECT_EQ(zdnn_moments(in, MOMENTS_BESSEL_SAMPLE, mean, variance),
            ZDNN_INVALID_BESSEL_CORRECTION);
  EXPECT_EQ(zdnn_moments(in, static_cast<zdnn_moments_bessel>(2), mean, variance),
            ZDNN_INVALID_BESSEL_CORRECTION);
  EXPECT_EQ(zdnn_moments(in, MOMENTS_BESSEL_POPULATION, mean, variance), ZDNN_OK);
  EXPECT_EQ(mean.get(3), (std::vector<float>{1, 2, 3}));
  Tensor wrong(ZDNN_NHWC, {1, 1, 1, 3});
  EXPECT_EQ(zdnn_moments(in, MOMENTS_BESSEL_POPULATION, mean, wrong), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_moments(in, MOMENTS_BESSEL_POPULATION, wrong, variance), ZDNN_INVALID_SHAPE);
}

TEST_F(ZdnnTwinNorms, LayerNormMatchesExactValues) {
  constexpr std::uint32_t s = 2, n = 130;
  const auto x = some_numbers(s * n);
  Tensor in(ZDNN_NHWC, {s, 1, 1, n}, x);
  Tensor mean(ZDNN_NHWC, {s, 1, 1, 1}, {0.25f, -0.5f});
  Tensor variance(ZDNN_NHWC, {s, 1, 1, 1}, {2, 0.125f});
  Tensor out(ZDNN_NHWC, {s, 1, 1, n});
  const float beta = 0.5f, gamma = 1.25f, epsilon = 0.001f;
  ASSERT_EQ(zdnn_layernorm(in, mean, variance, beta, gamma, epsilon, out), ZDNN_OK);
  const auto got = out.get(s * n);
  const double means[] = {0.25, -0.5};
  const double variances[] = {2, 0.125};
  for (std::size_t i = 0; i < s * n; ++i) {
    const double expected =
        (static_cast<double>(x[i]) - means[i / n]) /
            std::sqrt(variances[i / n] + rounded(static_cast<double>(epsilon))) * 1.25 +
        0.5;
    ASSERT_NEAR(static_cast<double>(got[i]), expected, std::fabs(expected) * kHalfPlace);
  }
  for (const float bad : {NAN, INFINITY, 1e10f}) {
    EXPECT_EQ(zdnn_layernorm(in, mean, variance, bad, bad, bad, out), ZDNN_INVALID_BETA);
    EXPECT_EQ(zdnn_layernorm(in, mean, variance, 0, bad, bad, out), ZDNN_INVALID_GAMMA);
    EXPECT_EQ(zdnn_layernorm(in, mean, variance, 0, 1, bad, out), ZDNN_INVALID_EPSILON);
  }
  Tensor other(ZDNN_NHWC, {1, 1, 1, 1}, {0});
  EXPECT_EQ(zdnn_layernorm(in, other, other, 0, 1, 0, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_layernorm(in, mean, other, 0, 1, 0, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_layernorm(in, mean, variance, 0, 1, 0, other), ZDNN_INVALID_SHAPE);
}

TEST_F(ZdnnTwinNorms, BatchNormScalesEachChannel) {
  const auto x = some_numbers(2 * 3 * 4 * 65, 1);
  const auto scale = some_numbers(65, 2);
  const auto bias = some_numbers(65, 3);
  Tensor in(ZDNN_NHWC, {2, 3, 4, 65}, x);
  Tensor b(ZDNN_1D, {65}, scale);
  Tensor c(ZDNN_1D, {65}, bias);
  Tensor out(ZDNN_NHWC, {2, 3, 4, 65});
  for (const char* profile : {"z16", "z17"}) {
    set("ZDNN_TWIN_PROFILE", profile);
    ASSERT_EQ(zdnn_batchnorm(in, b, c, out), ZDNN_OK);
    const auto got = out.get(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(static_cast<double>(got[i]),
                rounded(static_cast<double>(scale[i % 65]) * static_cast<double>(x[i]) +
                        static_cast<double>(bias[i % 65])));
  }
  EXPECT_EQ(zdnn_batchnorm(in, in, c, out), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_batchnorm(in, b, in, out), ZDNN_INVALID_SHAPE);
}

TEST_F(ZdnnTwinNorms, ReductionsMatchKnownValues) {
  const auto reduce = [](const std::vector<float>& x, zdnn_reduce_ops op) {
    Tensor in(ZDNN_2D, {1, static_cast<std::uint32_t>(x.size())}, x);
    Tensor out(ZDNN_2D, {1, 1});
    EXPECT_EQ(zdnn_reduce(in, nullptr, op, out), ZDNN_OK);
    return out.get(1)[0];
  };
  const auto index = [](const std::vector<float>& x, zdnn_reduce_ops op) {
    Tensor in(ZDNN_2D, {1, static_cast<std::uint32_t>(x.size())}, x);
    Tensor out(ZDNN_2D, INT32, {1, 1});
    EXPECT_EQ(zdnn_reduce(in, nullptr, op, out), ZDNN_OK);
    std::int32_t found = -1;
    EXPECT_EQ(zdnn_transform_origtensor(out, &found), ZDNN_OK);
    return found;
  };
  const std::vector<float> x = {3, -1, 7, -1, 7, 2};
  EXPECT_EQ(reduce(x, REDUCE_OP_MINIMUM), -1.0f);
  EXPECT_EQ(reduce(x, REDUCE_OP_MAXIMUM), 7.0f);
  EXPECT_EQ(index(x, REDUCE_OP_MINIMUM_IDX), 1);  // the first of equals
  EXPECT_EQ(index(x, REDUCE_OP_MAXIMUM_IDX), 2);
  std::vector<float> far(200, 0);
  far[199] = 1;
  EXPECT_EQ(index(far, REDUCE_OP_MAXIMUM_IDX), 199);
}

TEST_F(ZdnnTwinNorms, ReductionsAreOverEachRow) {
  const auto x = some_numbers(2 * 3 * 40 * 70);
  Tensor in(ZDNN_4D, {2, 3, 40, 70}, x);
  Tensor out(ZDNN_4D, INT32, {2, 3, 40, 1});
  ASSERT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MAXIMUM_IDX, out), ZDNN_OK);
  std::vector<std::int32_t> got(240);
  ASSERT_EQ(zdnn_transform_origtensor(out, got.data()), ZDNN_OK);
  for (std::size_t row = 0; row < got.size(); ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * 70);
    EXPECT_EQ(got[row], std::max_element(first, first + 70) - first);
  }
}

TEST_F(ZdnnTwinNorms, RejectsInvalidReductions) {
  Tensor in(ZDNN_2D, {2, 3}, some_numbers(6));
  Tensor value(ZDNN_2D, {2, 1});
  Tensor position(ZDNN_2D, INT32, {2, 1});
  EXPECT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MINIMUM, position), ZDNN_INVALID_TYPE);
  EXPECT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MINIMUM_IDX, value), ZDNN_INVALID_TYPE);
  EXPECT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MINIMUM, in), ZDNN_INVALID_SHAPE);
  EXPECT_EQ(zdnn_reduce(in, nullptr, static_cast<zdnn_reduce_ops>(4), value), ZDNN_FUNC_RC_F000);
  in.set_cell(2, kNinf);
  EXPECT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MINIMUM, value), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(value.tensor.is_transformed);
  EXPECT_EQ(zdnn_reduce(in, nullptr, REDUCE_OP_MAXIMUM_IDX, position),
            ZDNN_ELEMENT_RANGE_VIOLATION);
}

TEST_F(ZdnnTwinNorms, Z17FunctionsAreUnavailableOnZ16) {
  set("ZDNN_TWIN_PROFILE", "z16");
  Tensor x(ZDNN_NHWC, {2, 1, 1, 3}, some_numbers(6));
  Tensor one(ZDNN_NHWC, {2, 1, 1, 1}, {1, 1});
  Tensor out(ZDNN_NHWC, {2, 1, 1, 1});
  EXPECT_EQ(zdnn_norm(x, x, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_moments(x, MOMENTS_BESSEL_SAMPLE, one, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_layernorm(x, one, one, 0, 1, 0, x), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_EQ(zdnn_reduce(x, nullptr, REDUCE_OP_MAXIMUM, out), ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_FALSE(out.tensor.is_transformed);
}

TEST_F(ZdnnTwinNorms, BitsAreTheSameOnEveryMachine) {
  constexpr std::uint32_t s = 33, n = 300;
  const auto x = rough_numbers(s * n, 1);
  const auto y = rough_numbers(s * n, 2);
  EXPECT_EQ(in_each_accumulation([&] {
              Tensor a(ZDNN_3DS, {s, 1, n}, x);
              Tensor b(ZDNN_3DS, {s, 1, n}, y);
              Tensor out(ZDNN_3DS, {s, 1, 1});
              EXPECT_EQ(zdnn_norm(a, b, out), ZDNN_OK);
              return digest_of({&out});
            }),
            (Digests{2372036555u, 2372036555u, 3190229202u}));
  // Moments, and the layer norm with them.
  const auto layer_norm = [&](zdnn_moments_bessel bessel) {
    return in_each_accumulation([&] {
      Tensor in(ZDNN_NHWC, {s, 1, 1, n}, x);
      Tensor mean(ZDNN_NHWC, {s, 1, 1, 1});
      Tensor variance(ZDNN_NHWC, {s, 1, 1, 1});
      Tensor out(ZDNN_NHWC, {s, 1, 1, n});
      EXPECT_EQ(zdnn_moments(in, bessel, mean, variance), ZDNN_OK);
      EXPECT_EQ(zdnn_layernorm(in, mean, variance, 0.3f, 1.7f, 0.001f, out), ZDNN_OK);
      return digest_of({&mean, &variance, &out});
    });
  };
  EXPECT_EQ(layer_norm(MOMENTS_BESSEL_POPULATION),
            (Digests{1491434148u, 1491434148u, 1491434148u}));
  EXPECT_EQ(layer_norm(MOMENTS_BESSEL_SAMPLE), (Digests{3141296427u, 3141296427u, 969155701u}));
  Tensor in(ZDNN_NHWC, {s, 1, 1, n}, x);
  Tensor scale(ZDNN_1D, {n}, rough_numbers(n, 3));
  Tensor bias(ZDNN_1D, {n}, rough_numbers(n, 4));
  Tensor out(ZDNN_NHWC, {s, 1, 1, n});
  EXPECT_EQ(zdnn_batchnorm(in, scale, bias, out), ZDNN_OK);
  EXPECT_EQ(digest_of({&out}), 505970709u);
}

}  // namespace
