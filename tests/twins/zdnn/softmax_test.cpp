#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinSoftmax : public TwinTest {};

TEST_F(ZdnnTwinSoftmax, RowsOfStacksMatchExactValues) {
  constexpr std::uint32_t s = 2, rows = 3, n = 70;
  const auto values = some_numbers(s * rows * n);
  for (const auto act : {SOFTMAX_ACT_NONE, SOFTMAX_ACT_LOG}) {
    for (const char* model : {"single", "double"}) {
      set("ZDNN_TWIN_ACCUMULATE", model);
      Tensor in(ZDNN_3DS, {s, rows, n}, values);
      Tensor out(ZDNN_3DS, {s, rows, n});
      ASSERT_EQ(zdnn_softmax(in, nullptr, act, out), ZDNN_OK);
      const auto got = out.get(values.size());
      for (std::size_t row = 0; row < s * rows; ++row) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i)
          sum += std::exp(static_cast<double>(values[row * n + i]));
        for (std::size_t i = 0; i < n; ++i) {
          const double x = static_cast<double>(values[row * n + i]);
          const double expected = act == SOFTMAX_ACT_LOG ? x - std::log(sum) : std::exp(x) / sum;
          ASSERT_NEAR(static_cast<double>(got[row * n + i]), expected,
                      std::fabs(expected) / 1024 * 1.001);  // half of the last place
        }
      }
    }
  }
}

TEST_F(ZdnnTwinSoftmax, MaskCountsElementsFromTheFront) {
  // The vendor's example: exact DLFLOAT16 numbers.
  Tensor in(ZDNN_3DS, {1, 1, 5}, {-1.4f, -2.8f, -3.12f, 5, 6});
  Tensor out(ZDNN_3DS, {1, 1, 5});
  EXPECT_EQ(zdnn_softmax_mask(in, nullptr, SOFTMAX_ACT_NONE, 3, out), ZDNN_OK);
  const auto near = [](const std::vector<float>& got, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(static_cast<double>(got[i]), expected[i], std::fabs(expected[i]) / 512);
    EXPECT_EQ(got[3], 0.0f);
    EXPECT_EQ(got[4], 0.0f);
  };
  near(out.get(5), {0.701172, 0.172852, 0.125488});
  EXPECT_EQ(zdnn_softmax_mask(in, nullptr, SOFTMAX_ACT_LOG, 3, out), ZDNN_OK);
  near(out.get(5), {-0.354492, -1.753906, -2.074219});
  EXPECT_EQ(zdnn_softmax_mask(in, nullptr, SOFTMAX_ACT_NONE, 0, out), ZDNN_OK);
  const auto all = out.get(5);
  EXPECT_EQ(zdnn_softmax(in, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_OK);
  EXPECT_EQ(out.get(5), all);
  EXPECT_EQ(zdnn_softmax_mask(in, nullptr, SOFTMAX_ACT_NONE, 5, out), ZDNN_OK);
  EXPECT_EQ(out.get(5), all);
  EXPECT_EQ(zdnn_softmax_mask(in, nullptr, SOFTMAX_ACT_NONE, 6, out), ZDNN_FUNC_RC_F002);
}

TEST_F(ZdnnTwinSoftmax, NinfPoisonsItsRowOnly) {
  Tensor in(ZDNN_3DS, {1, 2, 3}, {1, 2, 3, 1, 1, 1});
  in.set_cell(2, 0xFFFF);  // "minus infinity"
  Tensor out(ZDNN_3DS, {1, 2, 3});
  EXPECT_EQ(zdnn_softmax(in, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_ELEMENT_RANGE_VIOLATION);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(out.cell(2 * i), kNinf);
    EXPECT_EQ(out.cell(128 + 2 * i), nearest(1.0 / 3));
  }
}

TEST_F(ZdnnTwinSoftmax, FiniteMaskOfMinus10000GivesZero) {
  Tensor in(ZDNN_3DS, {1, 1, 3}, {1, -1e4f, 1});
  Tensor out(ZDNN_3DS, {1, 1, 3});
  EXPECT_EQ(zdnn_softmax(in, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_OK);
  EXPECT_EQ(out.get(3), (std::vector<float>{0.5f, 0, 0.5f}));
}

TEST_F(ZdnnTwinSoftmax, SaveAreaReplacesTheAllocation) {
  Tensor in(ZDNN_3DS, {1, 1, 3}, {1, 2, 3});
  Tensor out(ZDNN_3DS, {1, 1, 3});
  alignas(4096) static char area[8192];
  zdnn_twin_reset_counts();
  EXPECT_EQ(zdnn_softmax(in, area, SOFTMAX_ACT_NONE, out), ZDNN_OK);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_ALLOCATIONS), 0u);
  EXPECT_NE(area[0], 0);  // it is written to, all of it
  EXPECT_NE(area[8191], 0);
  EXPECT_EQ(zdnn_softmax(in, area + 8, SOFTMAX_ACT_NONE, out), ZDNN_MISALIGNED_SAVEAREA);
  EXPECT_EQ(zdnn_softmax(in, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_OK);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_ALLOCATIONS), 1u);
  EXPECT_EQ(zdnn_twin_count(ZDNN_TWIN_FREES), 1u);
}

TEST_F(ZdnnTwinSoftmax, RejectsInvalidCallsAndMasksOnZ16) {
  Tensor in(ZDNN_3D, {2, 1, 3}, {1, 2, 3, 4, 5, 6});  // dim3 = 2
  Tensor out(ZDNN_3D, {2, 1, 3});
  EXPECT_EQ(zdnn_softmax(in, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_FUNC_RC_F000);
  Tensor row(ZDNN_3DS, {1, 1, 3}, {1, 2, 3});
  Tensor result(ZDNN_3DS, {1, 1, 3});
  EXPECT_EQ(zdnn_softmax(row, nullptr, static_cast<zdnn_softmax_act>(2), result),
            ZDNN_FUNC_RC_F001);
  EXPECT_EQ(zdnn_softmax(row, nullptr, SOFTMAX_ACT_NONE, out), ZDNN_INVALID_SHAPE);
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(zdnn_softmax(row, nullptr, SOFTMAX_ACT_NONE, result), ZDNN_OK);
  EXPECT_EQ(zdnn_softmax_mask(row, nullptr, SOFTMAX_ACT_NONE, 1, result),
            ZDNN_UNAVAILABLE_FUNCTION);
}

TEST_F(ZdnnTwinSoftmax, BitsAreTheSameOnEveryMachine) {
  constexpr std::uint32_t s = 2, rows = 33, n = 300;
  const auto digests = [](zdnn_softmax_act act, std::uint32_t mask) {
    return in_each_accumulation([&] {
      Tensor in(ZDNN_3DS, {s, rows, n}, rough_numbers(s * rows * n));
      Tensor out(ZDNN_3DS, {s, rows, n});
      EXPECT_EQ(zdnn_softmax_mask(in, nullptr, act, mask, out), ZDNN_OK);
      return digest_of({&out});
    });
  };
  EXPECT_EQ(digests(SOFTMAX_ACT_NONE, 0), (Digests{2584188095u, 1150816784u, 1946181793u}));
  EXPECT_EQ(digests(SOFTMAX_ACT_NONE, 77), (Digests{615010678u, 615010678u, 3746676867u}));
  EXPECT_EQ(digests(SOFTMAX_ACT_LOG, 0), (Digests{123490457u, 123490457u, 2566899565u}));
  EXPECT_EQ(digests(SOFTMAX_ACT_LOG, 77), (Digests{1754899120u, 1754899120u, 1862256793u}));
}

}  // namespace
