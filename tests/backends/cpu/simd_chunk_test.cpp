// Products of a chunk of tokens with a panel of a state, at every level that this machine runs,
// against formulas in double precision.
#include "backends/cpu/simd/chunk.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/every_level.h"

namespace shunt::cpu::simd::simd_chunk_test {
namespace {

constexpr std::size_t kTokens = kChunkTokens;
constexpr std::size_t kLanes = kPanelLanes;
constexpr std::size_t kPadding = kChannelPadding;
constexpr float kGuard = 12345.0F;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float random_number() {
  static std::mt19937 random(1);
  return std::uniform_real_distribution<float>(-1, 1)(random);
}

/// Rows of kLanes floats, aligned as panels are, with a guard behind them.
class Rows {
 public:
  explicit Rows(std::size_t rows, bool random = true) : lines_(rows * 2 + 1), rows_(rows) {
    for (std::size_t i = 0; i < rows * kLanes; ++i) data()[i] = random ? random_number() : kGuard;
    std::fill_n(data() + rows * kLanes, 16, kGuard);
  }
  float* data() { return lines_[0].floats; }
  const float* data() const { return lines_[0].floats; }
  float& at(std::size_t row, std::size_t lane) { return data()[row * kLanes + lane]; }
  float at(std::size_t row, std::size_t lane) const { return data()[row * kLanes + lane]; }
  bool is_guarded() const { return data()[rows_ * kLanes] == kGuard; }

 private:
  struct alignas(64) Line {
    float floats[16];
  };
  std::vector<Line> lines_;
  std::size_t rows_;
};

std::size_t padded(std::size_t n) {
  return (n + kPadding - 1) / kPadding * kPadding;
}

/// Tokens and a panel of n channels; their padding is 0.
Rows channels(std::size_t n) {
  Rows rows(padded(n));
  std::fill(rows.data() + n * kLanes, rows.data() + padded(n) * kLanes, 0.0F);
  return rows;
}

ChunkNumbers random_numbers(std::size_t count) {
  ChunkNumbers made = {};
  made.count = static_cast<std::int64_t>(count);
  made.keep = random_number();
  for (std::size_t i = 0; i < count; ++i) {
    made.found[i] = random_number();
    made.read[i] = random_number();
    made.share[i] = random_number();
    made.last[i] = random_number();
    for (std::size_t j = i; j < count; ++j) {
      if (j > i) made.found_of[i][j] = random_number();
      made.read_of[i][j] = random_number();
    }
  }
  return made;
}

constexpr std::size_t kSizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 128};

class CpuSimdChunk : public AtLevel {};

TEST_P(CpuSimdChunk, PacksRowsOfTokens) {
  for (const std::size_t n : kSizes) {
    for (std::size_t count = 0; count <= kTokens; ++count) {
      std::vector<std::vector<float>> sources(count, std::vector<float>(n));
      const float* rows[kTokens] = {};
      for (std::size_t r = 0; r < count; ++r) {
        for (float& value : sources[r]) value = random_number();
        rows[r] = sources[r].data();
      }
      Rows packed(padded(n), false);
      pack_tokens(test_level(), rows, static_cast<std::int64_t>(count),
                  static_cast<std::int64_t>(n), packed.data() + kTokens);
      for (std::size_t k = 0; k < padded(n); ++k) {
        for (std::size_t r = 0; r < kTokens; ++r) {
          const float expected = k < n && r < count ? sources[r][k] : 0;
          ASSERT_EQ(packed.at(k, kTokens + r), expected) << n << " " << k << " " << r;
          ASSERT_EQ(packed.at(k, r), kGuard);
        }
      }
      ASSERT_TRUE(packed.is_guarded());
    }
  }
}

TEST_P(CpuSimdChunk, TurnsPanelsAndBack) {
  for (const std::size_t n : kSizes) {
    for (const std::size_t count : {0, 1, 5, 8, 16, 20, 31, 32}) {
      const std::size_t stride = n + 3;
      std::vector<float> rows(count * stride + 1, kGuard);
      for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t k = 0; k < n; ++k) rows[r * stride + k] = random_number();
      }
      const auto size = [](std::size_t value) { return static_cast<std::int64_t>(value); };
      Rows panel(padded(n), false);
      load_panel(test_level(), rows.data(), size(stride), size(count), size(n), panel.data());
      for (std::size_t k = 0; k < padded(n); ++k) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const float expected = k < n && lane < count ? rows[lane * stride + k] : 0;
          ASSERT_EQ(panel.at(k, lane), expected) << n << " " << count;
        }
      }
      ASSERT_TRUE(panel.is_guarded());
      std::vector<float> back(rows.size(), kGuard);
      store_panel(test_level(), panel.data(), size(count), size(n), back.data(), size(stride));
      ASSERT_EQ(back, rows);
    }
  }
}

TEST_P(CpuSimdChunk, MultipliesTokensWithAPanel) {
  for (const std::size_t n : kSizes) {
    const Rows tokens = channels(n);
    const Rows panel = channels(n);
    for (const auto& [begin, end] :
         {std::pair<std::size_t, std::size_t>(0, 32), {16, 32}, {8, 16}}) {
      for (const bool half : {false, true}) {
        Rows y(kLanes, false);
        multiply_panel(test_level(), tokens.data(), static_cast<std::int64_t>(n),
                       static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                       panel.data(), half, y.data());
        for (std::size_t r = 0; r < kLanes; ++r) {
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            if (r < begin || r >= end || (half && lane >= kTokens)) {
              ASSERT_EQ(y.at(r, lane), kGuard);
              continue;
            }
            double sum = 0;
            for (std::size_t k = 0; k < n; ++k) sum += double{tokens.at(k, r)} * panel.at(k, lane);
            ASSERT_NEAR(y.at(r, lane), sum, 2e-5) << n << " " << r << " " << lane;
          }
        }
        ASSERT_TRUE(y.is_guarded());
      }
    }
  }
}

TEST_P(CpuSimdChunk, SolvesForWhatTokensAdd) {
  for (std::size_t count = 1; count <= kTokens; ++count) {
    const ChunkNumbers c = random_numbers(count);
    const Rows seen(kTokens);
    const Rows values(kTokens);
    Rows u = values;
    solve_panel(test_level(), c, seen.data(), u.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      double solved[kTokens] = {};
      for (std::size_t i = 0; i < count; ++i) {
        double rest = values.at(i, lane) - double{c.found[i]} * seen.at(i, lane);
        for (std::size_t j = 0; j < i; ++j) rest -= double{c.found_of[j][i]} * solved[j];
        solved[i] = c.share[i] * rest;
        ASSERT_NEAR(u.at(i, lane), solved[i], 1e-5 * (1 + std::fabs(solved[i]))) << count;
      }
    }
    ASSERT_TRUE(u.is_guarded());
  }
}

TEST_P(CpuSimdChunk, ReadsTheStateAndWhatTokensAdd) {
  for (std::size_t count = 1; count <= kTokens; ++count) {
    const ChunkNumbers c = random_numbers(count);
    const Rows seen(kTokens);
    const Rows added(kTokens);
    Rows y = seen;
    Rows u = added;
    read_panel(test_level(), c, y.data(), u.data());
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t i = 0; i < count; ++i) {
        double sum = double{c.read[i]} * seen.at(i, lane);
        for (std::size_t j = 0; j <= i; ++j) sum += double{c.read_of[j][i]} * added.at(j, lane);
        ASSERT_NEAR(y.at(i, lane), sum, 1e-5) << count;
        ASSERT_FLOAT_EQ(u.at(i, lane), c.last[i] * added.at(i, lane));
      }
    }
    ASSERT_TRUE(y.is_guarded());
    ASSERT_TRUE(u.is_guarded());
  }
}

TEST_P(CpuSimdChunk, UpdatesAPanel) {
  for (const std::size_t n : kSizes) {
    for (std::size_t count = 1; count <= kTokens; count += 3) {
      const ChunkNumbers c = random_numbers(count);
      const Rows tokens = channels(n);
      const Rows before = channels(n);
      const Rows u(kTokens);
      Rows panel = before;
      update_panel(test_level(), c, tokens.data(), static_cast<std::int64_t>(padded(n)), u.data(),
                   panel.data());
      for (std::size_t k = 0; k < padded(n); ++k) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          double sum = double{c.keep} * before.at(k, lane);
          for (std::size_t i = 0; i < count; ++i) sum += double{tokens.at(k, i)} * u.at(i, lane);
          ASSERT_NEAR(panel.at(k, lane), sum, 1e-5) << n << " " << count;
        }
      }
      ASSERT_TRUE(panel.is_guarded());
    }
  }
}

/// A token's numbers do not reach those before it, whatever they are.
TEST_P(CpuSimdChunk, KeepsNotANumberFromEarlierTokens) {
  constexpr std::size_t kBad = 9;
  ChunkNumbers c = random_numbers(kTokens);
  for (std::size_t i = kBad; i < kTokens; ++i) {
    c.found_of[kBad][i] = kNan;
    c.read_of[kBad][i] = kNan;
  }
  const Rows seen(kTokens);
  Rows u(kTokens);
  Rows y(kTokens);
  for (std::size_t lane = 0; lane < kLanes; ++lane) u.at(kBad, lane) = kNan;
  solve_panel(test_level(), c, seen.data(), u.data());
  read_panel(test_level(), c, y.data(), u.data());
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(std::isnan(u.at(i, lane)), i >= kBad) << i;
      EXPECT_EQ(std::isnan(y.at(i, lane)), i >= kBad) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdChunk, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_chunk_test
