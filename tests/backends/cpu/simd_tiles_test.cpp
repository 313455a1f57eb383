// Products by a matrix unit: packing, splitting and multiplying, with the machine's unit where it
// has one, and everywhere with one made of loops; against sums in double precision.
#include "backends/cpu/simd/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/every_level.h"
#include "backends/cpu/simd/int8.h"
#include "backends/cpu/simd/tile_product-inl.h"
#include "base/aligned_bytes.h"

namespace shunt::cpu::simd::simd_tiles_test {
namespace {

using Floats = std::vector<float>;

float bf16(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, 2);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Eight registers of 16 rows of 64 bytes, as Intel's manual describes TDPBF16PS, but for the order
/// in which sums are rounded.
class PlainUnit {
 public:
  template <int T>
  void zero() {
    std::memset(tiles_[T], 0, sizeof tiles_[T]);
  }
  template <int T>
  void load(const std::byte* from, std::int64_t stride) {
    for (int i = 0; i < 16; ++i) std::memcpy(tiles_[T][i], from + i * stride, 64);
  }
  template <int T>
  void store(std::byte* to, std::int64_t stride) {
    for (int i = 0; i < 16; ++i) std::memcpy(to + i * stride, tiles_[T][i], 64);
  }
  template <int C, int A, int B>
  void multiply_add() {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        float sum = 0;
        std::memcpy(&sum, tiles_[C][i] + 4 * j, 4);
        for (int l = 0; l < 16; ++l) {
          sum += bf16(tiles_[A][i] + 4 * l) * bf16(tiles_[B][l] + 4 * j);
          sum += bf16(tiles_[A][i] + 4 * l + 2) * bf16(tiles_[B][l] + 4 * j + 2);
        }
        std::memcpy(tiles_[C][i] + 4 * j, &sum, 4);
      }
    }
  }

 private:
  std::byte tiles_[8][16][64] = {};
};

Floats random_floats(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

/// To the nearest BF16, of two the even one: by the format's trait.
Floats as_bf16(Floats values) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<std::byte> rounded(values.size() * 2);
  trait(DType::kBF16).encode(values.data(), rounded.data(), n);
  trait(DType::kBF16).decode(rounded.data(), values.data(), n);
  return values;
}

constexpr std::int64_t kRows = 2 * kTileSide;

/// Weights of a type, the panel that is made of them, and their values.
struct Weights {
  Floats values;  ///< decoded, [kRows][k]
  AlignedBytes panel = allocate_aligned(kTilePanelBytes, 64);
  bool split = true;

  Weights(DType type, std::int64_t k) {
    const Floats random = random_floats(kRows * k, 5);
    const DTypeTrait& format = trait(type);
    const std::int64_t stride =
        k / format.block_elements * static_cast<std::int64_t>(format.block_bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(kRows * stride));
    format.encode(random.data(), bytes.data(), kRows * k);
    values.resize(random.size());
    format.decode(bytes.data(), values.data(), kRows * k);
    const AlignedBytes codes = allocate_aligned(kInt8PanelBytes, 64);
    decode_panel(test_level(), type, bytes.data(), stride, kRows, k, codes.get());
    split_panel(test_level(), int8_need(test_level(), type), codes.get(), k, panel.get());
  }
};

class CpuSimdTiles : public AtLevel {};

TEST_P(CpuSimdTiles, RoundsColumnsToNearestBf16) {
  constexpr std::int64_t kStride = 120;
  for (const std::int64_t count : {1, 7, 16}) {
    for (const std::int64_t k : {1, 31, 32, 33, 100}) {
      const Floats x = random_floats(count * kStride, 3);
      const Floats expected = as_bf16(x);
      const std::int64_t tiles = (k + 31) / 32;
      const AlignedBytes packed = allocate_aligned(static_cast<std::size_t>(tiles * 1024), 64);
      std::memset(packed.get(), 0x7f, static_cast<std::size_t>(tiles * 1024));
      pack_tile_columns(test_level(), x.data(), kStride, count, k, packed.get());
      for (std::int64_t c = 0; c < 16; ++c) {
        for (std::int64_t i = 0; i < tiles * 32; ++i) {
          const float want =
              c < count && i < k ? expected[static_cast<std::size_t>(c * kStride + i)] : 0;
          EXPECT_EQ(bf16(packed.get() + i / 32 * 1024 + c * 64 + i % 32 * 2), want)
              << "column " << c << " of " << count << ", " << i << " of " << k;
        }
      }
    }
  }
}

/// One type for each form of codes: an offset or minimums, one or two scales and minimums.
constexpr DType kForms[] = {DType::kQ4_0, DType::kQ8_0, DType::kQ4_1,  DType::kQ4_K,
                            DType::kQ6_K, DType::kQ2_K, DType::kIQ4_NL};

TEST_P(CpuSimdTiles, SumOfTwoBf16PartsIsTheWeight) {
  for (const DType type : kForms) {
    if (!has_codes(test_level(), type)) continue;  // one lane decodes to F32
    const std::int64_t k = kSplitDepth;
    const Weights w(type, k);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t i = 0; i < k; ++i) {
        const std::byte* at = w.panel.get() + i / 2 * kPanelRowBytes + r * 4 + i % 2 * 2;
        const double want = w.values[static_cast<std::size_t>(r * k + i)];
        const double upper = bf16(at);
        EXPECT_NEAR(upper + static_cast<double>(bf16(at + kLowerPart)), want,
                    std::abs(want) * 0x1p-16)
            << to_string(type) << " row " << r << ", element " << i;
        EXPECT_NEAR(upper, want, std::abs(want) * 0x1p-7);
      }
    }
  }
}

template <class Multiply>
void expect_products(const Multiply& multiply) {
  constexpr std::int64_t kStride = 40;  // of y
  constexpr float kUntouched = 77;
  for (const DType type : kForms) {
    if (!has_codes(test_level(), type)) continue;
    const std::int64_t k = kSplitDepth;
    const Weights w(type, k);
    const Floats x = as_bf16(random_floats(32 * k, 9));
    const std::int64_t group = k / kTileDepth * kTileBytes;
    const AlignedBytes packed = allocate_aligned(static_cast<std::size_t>(2 * group), 64);
    pack_tile_columns(test_level(), x.data(), k, 16, k, packed.get());
    pack_tile_columns(test_level(), x.data() + 16 * k, k, 16, k, packed.get() + group);
    for (const bool two : {false, true}) {
      for (const bool add : {false, true}) {
        Floats y(32 * kStride, kUntouched);
        multiply(TileRows::panel(w.panel.get(), true), TileColumns{packed.get(), two ? group : 0},
                 k / kTileDepth, y.data(), kStride, add);
        for (std::int64_t c = 0; c < 32; ++c) {
          for (std::int64_t r = 0; r < kStride; ++r) {
            const float got = y[static_cast<std::size_t>(c * kStride + r)];
            if (r >= kRows || (c >= 16 && !two)) {
              EXPECT_EQ(got, kUntouched);
              continue;
            }
            double sum = add ? kUntouched : 0;
            double size = std::abs(sum);
            for (std::int64_t i = 0; i < k; ++i) {
              const double product =
                  static_cast<double>(w.values[static_cast<std::size_t>(r * k + i)]) *
                  static_cast<double>(x[static_cast<std::size_t>(c * k + i)]);
              sum += product;
              size += std::abs(product);
            }
            // Weights are off by 2^-16, sums of F32 by less than k roundings of 2^-24.
            EXPECT_NEAR(got, sum, size * (0x1p-16 + static_cast<double>(k) * 0x1p-24))
                << to_string(type) << " row " << r << ", column " << c;
          }
        }
      }
    }
  }
}

TEST_P(CpuSimdTiles, PlainUnitGivesTheProducts) {
  expect_products([](const TileRows& w, const TileColumns& x, std::int64_t tiles, float* y,
                     std::int64_t y_stride, bool add) {
    PlainUnit unit;
    multiply_groups(unit, w, x, tiles, y, y_stride, add);
  });
}

/// Where the machine has one.
class CpuSimdMatrixUnit : public AtLevel {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CpuSimdMatrixUnit);

TEST_P(CpuSimdMatrixUnit, GivesTheProducts) {
  ASSERT_TRUE(test_level().has_tiles());
  expect_products([](const auto&... arguments) { TileUnit().multiply(arguments...); });
}

std::vector<std::string> levels_with_unit() {
  std::vector<std::string> names = level_names();
  std::erase_if(names, [](const std::string& name) { return name != "amx"; });
  return names;
}
INSTANTIATE_TEST_SUITE_P(EveryLevel, CpuSimdMatrixUnit, testing::ValuesIn(levels_with_unit()),
                         name_of_level);
INSTANTIATE_TEST_SUITE_P(EveryLevel, CpuSimdTiles, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_tiles_test
