// The reading of a piece of an attention mask, at every level that this machine runs, against a
// loop over its elements. The pieces have every length and start anywhere.
#include "backends/cpu/simd/mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/every_level.h"
#include "tensor/formats/half.h"

namespace shunt::cpu::simd::simd_mask_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kLongest = 200;
constexpr std::size_t kStarts = 9;

using Mask = std::vector<float>;

/// The elements as they are in memory. Elements that would continue the piece surround it, so that
/// looking beyond its ends gives a wrong answer.
class Stored {
 public:
  Stored(DType type, const Mask& mask, std::size_t start, float before, float after)
      : type_(type), start_(start) {
    Mask all(start, before);
    all.insert(all.end(), mask.begin(), mask.end());
    all.insert(all.end(), kLongest, after);
    for (const float value : all) {
      halves_.push_back(formats::f32_to_f16(value));
      floats_.push_back(value);
    }
  }
  const std::byte* data() const {
    return type_ == DType::kF16 ? reinterpret_cast<const std::byte*>(halves_.data() + start_)
                                : reinterpret_cast<const std::byte*>(floats_.data() + start_);
  }

 private:
  DType type_;
  std::size_t start_;
  std::vector<std::uint16_t> halves_;
  std::vector<float> floats_;
};

std::string text(DType type, const Mask& mask, std::size_t start) {
  std::string text(to_string(type));
  text += " from element " + std::to_string(start) + ":";
  for (const float value : mask) text += " " + std::to_string(value);
  return text;
}

class CpuSimdMask : public AtLevel {
 protected:
  static void expect_seen(const Mask& mask, std::size_t start) {
    std::int64_t count = 0;
    bool zeros = true;
    bool has_minus_zero = false;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != -kInfinity) count = static_cast<std::int64_t>(i) + 1;
      zeros = zeros && mask[i] == 0;
      has_minus_zero = has_minus_zero || (mask[i] == 0 && std::signbit(mask[i]));
    }
    for (const DType type : {DType::kF16, DType::kF32}) {
      for (const float around : {0.0F, -kInfinity}) {
        const Stored stored(type, mask, start, around, around);
        const SeenKeys seen =
            look_at_mask(test_level(), type, stored.data(), static_cast<std::int64_t>(mask.size()));
        EXPECT_EQ(seen.count, count) << text(type, mask, start);
        EXPECT_EQ(seen.hidden(), count == 0);
        // Of zeros below zero it may say that they are not plain: adding them is as good.
        if (!has_minus_zero || seen.plain) {
          EXPECT_EQ(seen.plain, zeros || count == 0) << text(type, mask, start);
        }
      }
    }
  }
  /// At all starts, with as many elements as a vector has and a few more or fewer.
  static void expect_seen_anywhere(const Mask& mask) {
    for (std::size_t start = 0; start < kStarts; ++start) expect_seen(mask, start);
  }
};

TEST_P(CpuSimdMask, OfOnlyZerosOrOnlyMaskedKeys) {
  for (std::size_t n = 0; n <= kLongest; ++n) {
    expect_seen_anywhere(Mask(n, 0.0F));
    expect_seen_anywhere(Mask(n, -kInfinity));
  }
}

TEST_P(CpuSimdMask, OfCausalMasks) {
  for (std::size_t n = 1; n <= kLongest; n += n < 40 ? 1 : 7) {
    for (std::size_t seen = 0; seen <= n; ++seen) {
      Mask mask(n, -kInfinity);
      std::fill_n(mask.begin(), seen, 0.0F);
      expect_seen(mask, seen % kStarts);
    }
  }
}

TEST_P(CpuSimdMask, FindsOneDifferentElement) {
  for (const float other : {1.0F, -1.0F, kInfinity, -kInfinity, 0.0F, -0.0F, std::nanf(""),
                            -65504.0F, std::numeric_limits<float>::denorm_min()}) {
    for (const float rest : {0.0F, -kInfinity}) {
      for (const std::size_t n : {1U, 2U, 7U, 8U, 31U, 64U, 65U, 130U}) {
        for (std::size_t at = 0; at < n; ++at) {
          Mask mask(n, rest);
          mask[at] = other;
          // Halves have nothing that small.
          if (other != 0 && std::fabs(other) < 1e-8F) mask[at] = 0x1p-24F;
          expect_seen(mask, at % kStarts);
        }
      }
    }
  }
}

TEST_P(CpuSimdMask, FindsHolesAndTailsOfSharedCaches) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    Mask mask;
    const std::size_t runs = random() % 5;
    for (std::size_t run = 0; run < runs; ++run) {
      const float value = random() % 2 == 0 ? 0.0F : -kInfinity;
      mask.insert(mask.end(), random() % 45, value);
    }
    if (!mask.empty() && random() % 4 == 0) mask[random() % mask.size()] = -0.5F;
    expect_seen(mask, random() % kStarts);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CpuSimdMask, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::simd_mask_test
