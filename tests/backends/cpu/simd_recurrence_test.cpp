// Rows of a recurrence's state, gradients and optimiser steps, at every level that this machine
// runs, against formulas in double precision: tails of every length, and nothing beyond them.
#include "backends/cpu/simd/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/simd/training.h"

namespace shunt::cpu::simd::simd_recurrence_test {
namespace {

using Row = std::vector<float>;

constexpr int kLongest = 70;
constexpr float kGuard = 12345.0F;

/// A row with one more element, which no function may read into a result or write.
Row random_row(int n, float low = -2, float high = 2) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(low, high);
  Row row(static_cast<std::size_t>(n) + 1, kGuard);
  for (int i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = uniform(random);
  return row;
}

class CpuSimdRecurrence : public AtLevel {
 protected:
  /// Row y against formula(i), for each of its elements.
  template <class F>
  static void expect_row(const Row& y, F formula) {
    for (std::size_t i = 0; i + 1 < y.size(); ++i) {
      EXPECT_NEAR(y[i], formula(i), 2e-6 * (1 + std::fabs(formula(i)))) << i << " of " << y.size();
    }
    EXPECT_EQ(y.back(), kGuard);
  }

  /// The state after update_and_read against formula(i), and the value that was read.
  template <class F>
  static void expect_read(float got, const Row& state, const Row& read, F formula) {
    expect_row(state, formula);
    double sum = 0;
    for (std::size_t i = 0; i + 1 < state.size(); ++i) sum += read[i] * formula(i);
    EXPECT_NEAR(got, sum, 1e-4);
  }
};

TEST_P(CpuSimdRecurrence, SumsProductsOfRows) {
  for (int n = 0; n <= kLongest; ++n) {
    std::vector<Row> a;
    std::vector<Row> b;
    std::vector<const float*> a_rows;
    std::vector<const float*> b_rows;
    for (std::size_t count = 1; count <= 5; ++count) {
      a_rows.push_back(a.emplace_back(random_row(n)).data());
      b_rows.push_back(b.emplace_back(random_row(n)).data());
      Row y = random_row(n);
      sum_of_products(test_level(), a_rows.data(), b_rows.data(), static_cast<std::int64_t>(count),
                      y.data(), n);
      expect_row(y, [&](std::size_t i) {
        double sum = 0;
        for (std::size_t k = 0; k < count; ++k) sum += double{a[k][i]} * b[k][i];
        return sum;
      });
    }
  }
}

TEST_P(CpuSimdRecurrence, UpdatesAndReads) {
  for (int n = 0; n <= kLongest; ++n) {
    const Row before = random_row(n);
    const Row keep = random_row(n);
    const Row add = random_row(n);
    const Row add2 = random_row(n);
    const Row read = random_row(n);
    Row state = before;
    float got =
        update_and_read(test_level(), state.data(), keep.data(), add.data(), 0.7F, read.data(), n);
    expect_read(got, state, read,
                [&](std::size_t i) { return double{keep[i]} * before[i] + double{add[i]} * 0.7F; });
    state = before;
    got = update_and_read(test_level(), state.data(), 0.3F, add.data(), 0.7F, read.data(), n);
    expect_read(got, state, read,
                [&](std::size_t i) { return 0.3F * double{before[i]} + double{add[i]} * 0.7F; });
    state = before;
    got = update_and_read(test_level(), state.data(), keep.data(), add.data(), 0.7F, add2.data(),
                          -1.5F, read.data(), n);
    expect_read(got, state, read, [&](std::size_t i) {
      return double{keep[i]} * before[i] + double{add[i]} * 0.7F - double{add2[i]} * 1.5F;
    });
  }
}

TEST_P(CpuSimdRecurrence, ReadsAndUpdates) {
  const RowUpdate update = {.read = 2, .read_keep = 0.5F, .read_add = 3, .keep = -0.4F, .add = 5};
  for (int n = 0; n <= kLongest; ++n) {
    const Row before = random_row(n);
    const Row v = random_row(n);
    const Row y_before = random_row(n);
    Row state = before;
    Row y = y_before;
    read_and_update(test_level(), state.data(), update, v.data(), y.data(), n);
    expect_row(y, [&](std::size_t i) {
      return double{y_before[i]} + 2 * (0.5 * before[i] + 3 * double{v[i]});
    });
    expect_row(state, [&](std::size_t i) { return -0.4F * double{before[i]} + 5 * double{v[i]}; });
  }
}

TEST_P(CpuSimdRecurrence, ComputesTheGradientOfSilu) {
  for (int n = 0; n <= kLongest; ++n) {
    const Row dy = random_row(n);
    const Row x = random_row(n, -20, 20);
    const auto exact = [&](std::size_t i) {
      const double s = 1 / (1 + std::exp(-double{x[i]}));
      return dy[i] * s * (1 + x[i] * (1 - s));
    };
    Row dx(static_cast<std::size_t>(n) + 1, kGuard);
    silu_back(test_level(), dy.data(), x.data(), dx.data(), n);
    expect_row(dx, exact);
    Row in_place = dy;
    silu_back(test_level(), in_place.data(), x.data(), in_place.data(), n);
    EXPECT_EQ(in_place, dx);
  }
}

TEST_P(CpuSimdRecurrence, ComputesAnAdamStep) {
  const AdamStep step = {.keep = 0.9F, .rate = 0.2F, .v_scale = 3, .eps = 0.01F};
  for (int n = 0; n <= kLongest; ++n) {
    const Row before = random_row(n);
    const Row m = random_row(n);
    const Row v = random_row(n, 0, 4);
    Row w = before;
    adam_step(test_level(), step, m.data(), v.data(), w.data(), n);
    expect_row(w, [&](std::size_t i) {
      return 0.9F * double{before[i]} - 0.2F * double{m[i]} / (std::sqrt(3 * double{v[i]}) + 0.01F);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdRecurrence, testing::ValuesIn(level_names()),
                         name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_recurrence_test
