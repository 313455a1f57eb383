// Rows of F32, at every level that this machine runs, against formulas in double precision: tails
// of every length, numbers from end to end, and those that are none.
#include "backends/cpu/simd/vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/simd/gated.h"
#include "backends/cpu/simd/level.h"

namespace shunt::cpu::simd::simd_vector_test {
namespace {

using Row = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kLongest = 70;
constexpr float kGuard = 12345.0F;

/// A row with one more element, which no function may read into a result or write.
Row random_row(int n, float low, float high) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  Row row(static_cast<std::size_t>(n) + 1, kGuard);
  for (int i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = uniform(random);
  return row;
}

/// Distance from the exact value in units of the last place of a float of its size.
double ulps(float got, double exact) {
  const auto nearest = static_cast<float>(exact);
  if (got == nearest) return 0;
  const float magnitude = std::max(std::fabs(nearest), std::numeric_limits<float>::min());
  const double unit = std::ldexp(1.0, std::ilogb(magnitude) - 23);
  return std::fabs(got - exact) / unit;
}

class CpuSimdVector : public AtLevel {
 protected:
  /// f(rows, y, n) against formula(elements) for every length, into a row of its own and in place.
  template <class F, class G>
  void check_map(int sources, double max_ulps, F f, G formula) {
    for (int n = 0; n <= kLongest; ++n) {
      std::vector<Row> rows;
      for (int s = 0; s < sources; ++s) rows.push_back(random_row(n, -20, 20));
      Row y(static_cast<std::size_t>(n) + 1, kGuard);
      f(rows, y.data(), n);
      std::vector<Row> again = rows;
      f(again, again[0].data(), n);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        EXPECT_LE(ulps(y[i], formula(rows, i)), max_ulps) << "n " << n << " i " << i;
        EXPECT_EQ(again[0][i], y[i]);
      }
      EXPECT_EQ(y.back(), kGuard);
      EXPECT_EQ(again[0].back(), kGuard);
    }
  }
};

using Rows = std::vector<Row>;

TEST_P(CpuSimdVector, AddsAndMultiplies) {
  check_map(
      2, 0.5, [](Rows& r, float* y, int n) { add(test_level(), r[0].data(), r[1].data(), y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} + r[1][i]; });
  check_map(
      1, 0.5, [](Rows& r, float* y, int n) { add(test_level(), r[0].data(), 0.1F, y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} + 0.1F; });
  check_map(
      2, 0.5, [](Rows& r, float* y, int n) { mul(test_level(), r[0].data(), r[1].data(), y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} * r[1][i]; });
  check_map(
      1, 0.5, [](Rows& r, float* y, int n) { mul(test_level(), r[0].data(), 0.1F, y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} * 0.1F; });
}

TEST_P(CpuSimdVector, SubtractsAndDivides) {
  check_map(
      2, 0.5, [](Rows& r, float* y, int n) { sub(test_level(), r[0].data(), r[1].data(), y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} - r[1][i]; });
  check_map(
      1, 0.5, [](Rows& r, float* y, int n) { sub(test_level(), r[0].data(), 0.1F, y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} - 0.1F; });
  check_map(
      2, 0.5, [](Rows& r, float* y, int n) { div(test_level(), r[0].data(), r[1].data(), y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} / r[1][i]; });
  check_map(
      1, 0.5, [](Rows& r, float* y, int n) { div(test_level(), r[0].data(), 0.1F, y, n); },
      [](const Rows& r, std::size_t i) { return double{r[0][i]} / 0.1F; });
}

TEST_P(CpuSimdVector, SigmoidAndGeluMatchExactValues) {
  const auto sigmoid_of = [](double x) { return 1 / (1 + std::exp(-x)); };
  check_map(
      1, 3, [](Rows& r, float* y, int n) { sigmoid(test_level(), r[0].data(), y, n); },
      [&](const Rows& r, std::size_t i) { return sigmoid_of(r[0][i]); });
  // The exponent is rounded: of 34 for x = -20, half a unit is 2e-6 of the result.
  check_map(
      1, 40, [](Rows& r, float* y, int n) { gelu_quick(test_level(), r[0].data(), y, n); },
      [&](const Rows& r, std::size_t i) { return r[0][i] * sigmoid_of(1.702 * r[0][i]); });
  const Row x = random_row(1000, -6, 6);
  Row y = x;
  gelu(test_level(), x.data(), y.data(), 1000);
  for (std::size_t i = 0; i < 1000; ++i) {
    const double u = std::sqrt(2 / std::acos(-1.0)) * (x[i] + 0.044715 * std::pow(x[i], 3));
    EXPECT_NEAR(y[i], x[i] * sigmoid_of(2 * u), 1e-6 * std::fabs(x[i]));
  }
  EXPECT_EQ(y.back(), kGuard);
}

TEST_P(CpuSimdVector, ScalesAndAdds) {
  // Without a fused multiply-add the product is rounded first: bounded by its own size, not the
  // sum's.
  for (int n = 0; n <= kLongest; ++n) {
    const Row x = random_row(n, -20, 20);
    const Row a = random_row(n, -20, 20);
    Row y = x;
    Row z = x;
    scale(test_level(), x.data(), 0.3F, -2.5F, y.data(), n);
    scale_add(test_level(), x.data(), 0.3F, a.data(), z.data(), n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      EXPECT_NEAR(y[i], double{x[i]} * 0.3F - 2.5, 1e-6);
      EXPECT_NEAR(z[i], double{x[i]} * 0.3F + a[i], 2e-6);
    }
    EXPECT_EQ(y.back(), kGuard);
    EXPECT_EQ(z.back(), kGuard);
  }
}

TEST_P(CpuSimdVector, SiluAndSwigluMatchExactValues) {
  const auto exact = [](double x) { return x / (1 + std::exp(-x)); };
  check_map(
      1, 3, [](Rows& r, float* y, int n) { silu(test_level(), r[0].data(), y, n); },
      [&](const Rows& r, std::size_t i) { return exact(r[0][i]); });
  check_map(
      2, 4, [](Rows& r, float* y, int n) { swiglu(test_level(), r[0].data(), r[1].data(), y, n); },
      [&](const Rows& r, std::size_t i) { return exact(r[0][i]) * r[1][i]; });
}

TEST_P(CpuSimdVector, SiluAtSpecialValues) {
  const Row x = {0.0F, -0.0F, -1e4F, 1e4F, kInfinity, 3e38F, -3e38F, -95.0F, kNan};
  Row y(x.size());
  silu(test_level(), x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 0.0F);
  EXPECT_EQ(y[2], 0.0F);
  EXPECT_TRUE(std::signbit(y[2]));
  EXPECT_EQ(y[3], 1e4F);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_EQ(y[5], 3e38F);
  EXPECT_EQ(y[6], 0.0F);
  EXPECT_LE(ulps(y[7], -95.0 / (1 + std::exp(95.0))), 1);  // subnormal
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST_P(CpuSimdVector, SwigluKeepsPrecisionOfSubnormalGates) {
  const Row gate(3, -95.0F);
  const Row up(3, 1e30F);
  Row y(3);
  swiglu(test_level(), gate.data(), up.data(), y.data(), 3);
  EXPECT_LE(ulps(y[1], -95.0 / (1 + std::exp(95.0)) * up[1]), 4);
}

TEST_P(CpuSimdVector, GatesPropagateNaN) {
  constexpr std::size_t kCount = 70;
  const Row ones(kCount, 1.0F);
  const Row nan(kCount, kNan);
  using Function = void (*)(Level, const float*, const float*, float*, std::int64_t);
  const Function oai = [](Level level, const float* gate, const float* up, float* y,
                          std::int64_t n) { swiglu_oai(level, gate, up, 1.702F, 7.0F, y, n); };
  for (const Function f :
       {Function{reglu}, Function{geglu}, Function{geglu_quick}, Function{swiglu}, oai}) {
    Row y(kCount);
    f(test_level(), nan.data(), ones.data(), y.data(), kCount);
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isnan(v); }));
    f(test_level(), ones.data(), nan.data(), y.data(), kCount);
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isnan(v); }));
  }
}

TEST_P(CpuSimdVector, ExpIsWithinTwoUlps) {
  Row x;
  for (float value = -104; value < 89; value += 0.0037F) x.push_back(value);
  for (float value : {-0.0F, 0.0F, 1e-30F, -1e-30F, 1e-8F, 0.34657359F, 88.72283F, -87.33654F}) {
    x.push_back(value);
  }
  Row y(x.size());
  exp(test_level(), x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(double{x[i]});
    if (exact > std::numeric_limits<float>::max()) {
      EXPECT_EQ(y[i], kInfinity) << x[i];
    } else {
      worst = std::max(worst, ulps(y[i], exact));
    }
  }
  EXPECT_LE(worst, 2);
}

TEST_P(CpuSimdVector, ExpAtSpecialValues) {
  const Row x = {-kInfinity, kInfinity, kNan, -1e30F, 1e30F, -120.0F, 100.0F, -0.0F};
  Row y(x.size());
  exp(test_level(), x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(y[4], kInfinity);
  EXPECT_EQ(y[5], 0.0F);
  EXPECT_EQ(y[6], kInfinity);
  EXPECT_EQ(y[7], 1.0F);
}

TEST_P(CpuSimdVector, ExpShiftedReturnsValuesAndSum) {
  for (int n = 0; n <= kLongest; ++n) {
    Row x = random_row(n, -10, 3);
    if (n > 2) x[static_cast<std::size_t>(n) / 2] = -kInfinity;
    Row y(x.size(), kGuard);
    const float sum = exp_shifted(test_level(), x.data(), 3, y.data(), n);
    double exact = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      EXPECT_LE(ulps(y[i], std::exp(static_cast<double>(x[i] - 3.0F))), 2);
      exact += y[i];
    }
    EXPECT_NEAR(sum, exact, 1e-6 * exact);
    if (n > 2) {
      EXPECT_EQ(y[static_cast<std::size_t>(n) / 2], 0.0F);
    }
    EXPECT_EQ(y.back(), kGuard);
  }
}

TEST_P(CpuSimdVector, ComputesDotSumAndSumOfSquares) {
  for (int n = 0; n <= kLongest; ++n) {
    const Row a = random_row(n, -3, 3);
    const Row b = random_row(n, -3, 3);
    double product = 0;
    double squares = 0;
    double all = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      product += double{a[i]} * b[i];
      squares += double{a[i]} * a[i];
      all += a[i];
    }
    EXPECT_NEAR(dot(test_level(), a.data(), b.data(), n), product, 1e-6 * (1 + n));
    EXPECT_NEAR(sum(test_level(), a.data(), n), all, 1e-6 * (1 + n));
    EXPECT_NEAR(sum_squares(test_level(), a.data(), n), squares, 1e-6 * squares);
  }
}

TEST_P(CpuSimdVector, FindsTheMaximumAndItsIndex) {
  for (int n = 0; n <= kLongest; ++n) {
    Row x = random_row(n, -9, -1);
    const float largest = n == 0 ? -kInfinity : *std::max_element(x.begin(), x.end() - 1);
    EXPECT_EQ(max(test_level(), x.data(), n), largest);
    const auto first = std::find(x.begin(), x.end() - 1, largest) - x.begin();
    EXPECT_EQ(find(test_level(), x.data(), largest, n), first);
    EXPECT_EQ(find(test_level(), x.data(), kGuard, n), n);
    for (int at : {0, n / 2, n - 1}) {
      if (n == 0) break;
      Row y = x;
      y[static_cast<std::size_t>(at)] = kNan;
      EXPECT_TRUE(std::isnan(max(test_level(), y.data(), n))) << n;
      y[static_cast<std::size_t>(at)] = kInfinity;
      EXPECT_EQ(max(test_level(), y.data(), n), kInfinity);
      EXPECT_EQ(find(test_level(), y.data(), kInfinity, n), at);
    }
    std::fill(x.begin(), x.end() - 1, -kInfinity);
    EXPECT_EQ(max(test_level(), x.data(), n), -kInfinity) << n;
    EXPECT_EQ(find(test_level(), x.data(), -kInfinity, n), 0);
  }
}

TEST_P(CpuSimdVector, RotatesPairs) {
  for (int n = 0; n <= kLongest; ++n) {
    const Row angles = random_row(n, -4, 4);
    Row c = angles;
    Row s = angles;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      c[i] = std::cos(angles[i]);
      s[i] = std::sin(angles[i]);
    }
    const Row u = random_row(n, -2, 2);
    const Row v = random_row(n, -2, 2);
    Row yu = u;
    Row yv = v;
    rotate(test_level(), yu.data(), yv.data(), c.data(), s.data(), yu.data(), yv.data(), n);
    Row pairs = random_row(2 * n, 0, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      pairs[2 * i] = u[i];
      pairs[2 * i + 1] = v[i];
    }
    rotate_adjacent(test_level(), pairs.data(), c.data(), s.data(), pairs.data(), n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double exact_u = double{u[i]} * c[i] - double{v[i]} * s[i];
      const double exact_v = double{u[i]} * s[i] + double{v[i]} * c[i];
      EXPECT_NEAR(yu[i], exact_u, 1e-6);
      EXPECT_NEAR(yv[i], exact_v, 1e-6);
      EXPECT_NEAR(pairs[2 * i], exact_u, 1e-6);
      EXPECT_NEAR(pairs[2 * i + 1], exact_v, 1e-6);
    }
    EXPECT_EQ(yu.back(), kGuard);
    EXPECT_EQ(yv.back(), kGuard);
    EXPECT_EQ(pairs.back(), kGuard);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdVector, testing::ValuesIn(level_names()), name_of_level);

TEST(CpuSimdLevel, BestIsTheFirstAndTheDefaultTheLast) {
  const std::vector<std::string> names = level_names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(Level::best().name(), names.front());
  EXPECT_EQ(Level().name(), names.back());
  EXPECT_EQ(Level().name(), "scalar");
  EXPECT_FALSE(Level::find("abacus"));
  EXPECT_FALSE(Level::find(""));
}

TEST(CpuSimdLevel, ExcludesHigherLevels) {
  const std::vector<std::string> names = level_names();
  for (std::size_t number = 0; number < names.size(); ++number) {
    const auto level = Level::find(names[number]);
    ASSERT_TRUE(level);
    EXPECT_EQ(level->name(), names[number]);
    EXPECT_EQ(level->is_avx2_vnni(), names[number] == "avx2_vnni");
    EXPECT_EQ(level->has_tiles(), names[number] == "amx");
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(level->allows(names[i]), i >= number) << names[i] << " at " << names[number];
      EXPECT_EQ(*level == *Level::find(names[i]), i == number);
    }
    EXPECT_FALSE(level->allows("abacus"));
  }
}

TEST(CpuSimdLevel, DoesNotChangeWhenOthersAreLookedUp) {
  const Level lowest = Level::find(level_names().back()).value();
  (void)levels();
  EXPECT_FALSE(Level::find("abacus"));
  (void)Level::best();
  EXPECT_EQ(lowest.name(), level_names().back());
}

#if defined(__x86_64__)
/// Best first, and there if Linux sees the features that they need (AVX-512 apart, whose parts are
/// many).
TEST(CpuSimdLevel, NamesMatchTheFeaturesOfTheMachine) {
  const std::vector<std::string> names = level_names();
  std::vector<std::string> known = {"amx",  "avx3_dl", "avx3",  "avx2_vnni",
                                    "avx2", "sse4",    "scalar"};
  std::erase_if(known, [&](const std::string& name) { return !std::ranges::count(names, name); });
  EXPECT_EQ(names, known);

  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line);
    flags = {std::istream_iterator<std::string>(words), {}};
  }
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo has no flags";
  const bool avx2 = flags.contains("avx2") && flags.contains("fma") && flags.contains("f16c");
  EXPECT_EQ(std::ranges::count(names, "avx2"), avx2 ? 1 : 0);
  EXPECT_EQ(std::ranges::count(names, "avx2_vnni"), avx2 && flags.contains("avx_vnni") ? 1 : 0);
}
#elif defined(__aarch64__)
/// Whether it has AES or not.
TEST(CpuSimdLevel, NamesMatchTheFeaturesOfTheMachine) {
  EXPECT_EQ(level_names(), (std::vector<std::string>{"neon", "scalar"}));
}
#endif

}  // namespace
}  // namespace shunt::cpu::simd::simd_vector_test
