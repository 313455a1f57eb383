// cvt of packed floats of 4, 6 and 8 bits, of scales, and with random bits, against long double.
#include <algorithm>

#include "conversions.h"

namespace convert_small_test {
namespace {

using namespace twin_test;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

constexpr Isa kIsa = {"8.7", "sm_100a"};

struct SmallType {
  std::string name;
  Format format;
  unsigned slot;  // bits of an element in the packed value
  uint64_t most;  // the largest number
  uint64_t element(uint64_t packed, unsigned index) const {
    return packed >> (slot * index) & ((uint64_t{1} << format.bits()) - 1);
  }
};
const SmallType kPairs[] = {
    {"e2m1x2", kE2m1, 4, 0x7}, {"e2m3x2", kE2m3, 8, 0x1F}, {"e3m2x2", kE3m2, 8, 0x1F}};
const SmallType kFours[] = {{"e4m3x4", kE4m3, 8, 0x7E},
                            {"e5m2x4", kE5m2, 8, 0x7B},
                            {"e2m1x4", kE2m1, 4, 0x7},
                            {"e2m3x4", kE2m3, 8, 0x1F},
                            {"e3m2x4", kE3m2, 8, 0x1F}};

/// Each number of the format, the middles between them, and their neighbours.
std::vector<uint32_t> near_numbers(const SmallType& type) {
  auto values = float_edges<uint32_t>(kF32, 300);
  for (uint64_t i = 0; i <= type.most; ++i) {
    const Real low = decode(i, type.format);
    const Real high = i == type.most ? low * 1.25L : decode(i + 1, type.format);
    for (const Real value : {low, (low + high) / 2, (3 * low + high) / 4}) {
      const auto bits = static_cast<uint32_t>(encode(value, kF32));
      for (const uint32_t near : {bits - 1, bits, bits + 1}) {
        values.push_back(near & 0x7FFFFFFFu);
        values.push_back(near | 0x80000000u);
      }
    }
  }
  return values;
}

template <class T>
std::vector<T> rotated(std::vector<T> values, std::size_t by) {
  std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(by % values.size()),
              values.end());
  return values;
}

/// A pair of 4 bits is in a register of 8.
std::string to_pair(const std::string& name, const SmallType& type) {
  if (type.slot == 8) return name + " %d, %a, %b";
  return "{ .reg .b8 small; " + name + " small, %a, %b; cvt.u16.u8 %d, small; }";
}
std::string from_pair(const std::string& name, const SmallType& type) {
  if (type.slot == 8) return name + " %d, %a";
  return "{ .reg .b8 small; cvt.u8.u16 small, %a; " + name + " %d, small; }";
}

TEST(CudaConvertSmall, PairsFromFloats) {
  Gpu gpu("b200");
  for (const SmallType& type : kPairs) {
    const auto a = near_numbers(type);
    for (const bool relu : {false, true}) {
      const auto one = [&](uint32_t x) {
        const Real value = decode(x, kF32);
        return relu && std::signbit(value) && !std::isnan(value) ? 0 : encode(value, type.format);
      };
      const std::string name =
          std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + type.name + ".f32";
      expect_lanes_of<uint16_t>(
          kIsa, to_pair(name, type),
          [&](uint32_t x, uint32_t y) { return one(x) << type.slot | one(y); }, a, rotated(a, 77));
    }
  }
}

TEST(CudaConvertSmall, HalvesFromPairs) {
  Gpu gpu("b200");
  for (const SmallType& type : kPairs) {
    std::vector<uint16_t> all;
    for (unsigned high = 0; high < 1u << type.format.bits(); ++high) {
      for (unsigned low = 0; low < 1u << type.format.bits(); ++low) {
        all.push_back(static_cast<uint16_t>(high << type.slot | low));
      }
    }
    for (const bool relu : {false, true}) {
      const auto one = [&](uint64_t bits) {
        const Real value = decode(bits, type.format);
        return relu && std::signbit(value) ? 0 : encode(value, kF16);
      };
      const std::string name =
          std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + type.name;
      expect_lanes_of<uint32_t>(
          kIsa, from_pair(name, type),
          [&](uint16_t x) { return one(type.element(x, 1)) << 16 | one(type.element(x, 0)); }, all);
    }
  }
}

// --- Scales: powers of two from 2^-127 to 2^127

uint64_t scale_of(Real value, bool up, bool satfinite) {
  if (std::isnan(value)) return 255;
  const uint64_t above = satfinite ? 254 : 255;
  const Real magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return above;
  if (magnitude <= 0x1p-127L) return 0;
  int exponent = 0;
  const bool is_power = std::frexp(magnitude, &exponent) == 0.5L;
  const int power = exponent - 1 + (up && !is_power ? 1 : 0);
  return power > 127 ? above : static_cast<uint64_t>(power + 127);
}

std::vector<uint32_t> near_powers() {
  auto values = float_edges<uint32_t>(kF32, 300);
  for (int power = -149; power < 128; ++power) {
    const auto bits = static_cast<uint32_t>(encode(std::ldexp(1.0L, power), kF32));
    for (const uint32_t near : {bits - 1, bits, bits + 1, bits + 0x3FFFFF}) {
      values.push_back(near);
      values.push_back(near | 0x80000000u);
    }
  }
  return values;
}

TEST(CudaConvertSmall, ScalesFromFloats) {
  Gpu gpu("b200");
  const auto a = near_powers();
  std::vector<uint32_t> brains;
  for (uint32_t i = 0; i < 65536; ++i) brains.push_back(i << 16 | (i * 40503u & 0xFFFF));
  for (const bool up : {false, true}) {
    for (const bool satfinite : {false, true}) {
      const std::string name =
          std::string("cvt.") + (up ? "rp" : "rz") + (satfinite ? ".satfinite" : "") + ".ue8m0x2";
      expect_lanes_of<uint16_t>(
          kIsa, name + ".f32 %d, %a, %b",
          [&](uint32_t x, uint32_t y) {
            return scale_of(decode(x, kF32), up, satfinite) << 8 |
                   scale_of(decode(y, kF32), up, satfinite);
          },
          a, rotated(a, 77));
      expect_lanes_of<uint16_t>(
          kIsa, name + ".bf16x2 %d, %a",
          [&](uint32_t x) {
            return scale_of(decode(x >> 16, kBf16), up, satfinite) << 8 |
                   scale_of(decode(x & 0xFFFF, kBf16), up, satfinite);
          },
          brains);
    }
  }
}

TEST(CudaConvertSmall, BrainsFromScales) {
  Gpu gpu("b200");
  const auto one = [](unsigned scale) {
    return scale == 255 ? kBf16.nan
                        : encode(std::ldexp(1.0L, static_cast<int>(scale) - 127), kBf16);
  };
  expect_lanes_of<uint32_t>(
      kIsa, "cvt.rn.bf16x2.ue8m0x2 %d, %a",
      [&](uint16_t x) { return one(x >> 8) << 16 | one(x & 0xFF); }, all16<uint16_t>());
}

// --- Random bits

struct Rounded {
  bool relu, satfinite;
  std::string text() const {
    return std::string(relu ? ".relu" : "") + (satfinite ? ".satfinite" : "");
  }
};

/// The magnitude in units of the last place: its whole part, and one more if the first `count` bits
/// of its fraction and the random bits have a carry.
uint64_t by_random(Real value, const Format& f, uint64_t most, uint64_t random, int count,
                   const Rounded& how) {
  if (std::isnan(value)) return f.nan;
  const bool negative = std::signbit(value);
  if (how.relu && negative) return 0;
  const uint64_t sign = negative ? f.sign() : 0;
  const uint64_t above = sign | (how.satfinite ? most : most + 1);
  if (std::isinf(value)) return above;
  int exponent = 0;
  std::frexp(std::fabs(value), &exponent);
  const int least = 2 - f.bias();
  exponent = value == 0 ? least : std::max(exponent, least);
  const int unit = exponent - 1 - static_cast<int>(f.fraction);
  const Real scaled = std::ldexp(std::fabs(value), -unit);
  const Real whole = std::floor(scaled);
  const Real first = std::floor(std::ldexp(scaled - whole, count));
  const bool carry = first + static_cast<Real>(random) >= std::ldexp(1.0L, count);
  const uint64_t number = (static_cast<uint64_t>(exponent - least) << f.fraction) +
                          static_cast<uint64_t>(whole) + (carry ? 1 : 0);
  return number > most ? above : sign | number;
}

std::vector<uint32_t> random_bits(std::size_t count) {
  std::vector<uint32_t> values = {0,           0xFFFFFFFFu, 0x0000FFFFu, 0xFFFF0000u, 0x80008000u,
                                  0xE000E000u, 0x1FFF1FFFu, 0x00FF00FFu, 0xFF00FF00u};
  RandomNumbers numbers(3);
  while (values.size() < count) values.push_back(static_cast<uint32_t>(numbers.next()));
  return values;
}

TEST(CudaConvertSmall, PairsOfHalvesByRandomBits) {
  Gpu gpu("b200");
  struct Row {
    const char* name;
    Format format;
    uint64_t most;
    int count;
  };
  for (const Row& row : {Row{"f16x2", kF16, 0x7BFF, 13}, Row{"bf16x2", kBf16, 0x7F7F, 16}}) {
    const auto a = around<uint32_t>(row.format, kF32);
    const auto random = random_bits(a.size());
    const uint64_t mask = (uint64_t{1} << row.count) - 1;
    for (const Rounded& how : {Rounded{false, false}, Rounded{true, false}, Rounded{false, true}}) {
      expect_lanes_of<uint32_t>(
          kIsa, "cvt.rs" + how.text() + "." + row.name + ".f32 %d, %a, %b, %c",
          [&](uint32_t x, uint32_t y, uint32_t r) {
            const auto one = [&](uint32_t bits, uint64_t part) {
              return by_random(decode(bits, kF32), row.format, row.most, part & mask, row.count,
                               how);
            };
            return one(x, r >> 16) << 16 | one(y, r);
          },
          a, rotated(a, 77), random);
    }
  }
}

TEST(CudaConvertSmall, FoursByRandomBits) {
  Gpu gpu("b200");
  for (const SmallType& type : kFours) {
    const auto a = near_numbers(type);
    const auto random = random_bits(a.size());
    for (const Rounded& how : {Rounded{false, true}, Rounded{true, true}}) {
      const auto expected = [&](uint32_t x, uint32_t y, uint32_t r) {
        uint64_t upper = r >> 16, lower = r & 0xFFFF;
        if (type.slot == 4) {
          upper = (r >> 24 << 8) | (r >> 8 & 0xFF);
          lower = (r >> 16 & 0xFF) << 8 | (r & 0xFF);
        }
        uint64_t packed = 0;
        for (const auto& [bits, part] :
             {std::pair{x, upper}, std::pair{y, upper}, std::pair{y, lower}, std::pair{x, lower}}) {
          packed = packed << type.slot |
                   by_random(decode(bits, kF32), type.format, type.most, part, 16, how);
        }
        return packed;
      };
      const std::string code =
          "cvt.rs" + how.text() + "." + type.name + ".f32 %d, {%a, %b, %b, %a}, %c";
      if (type.slot == 4) {
        expect_lanes_of<uint16_t>(kIsa, code, expected, a, rotated(a, 77), random);
      } else {
        expect_lanes_of<uint32_t>(kIsa, code, expected, a, rotated(a, 77), random);
      }
    }
  }
}

CUresult compiled(const Isa& isa, const std::string& code, std::string& log) {
  CUmodule loaded = nullptr;
  const std::string text =
      frame<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(code, isa.version, isa.target);
  const CUresult result = load(text, &loaded, &log);
  if (result == CUDA_SUCCESS) (void)cuModuleUnload(loaded);
  return result;
}

TEST(CudaConvertSmall, RefusesFormsThatPtxDoesNotHave) {
  Gpu gpu("b200");
  for (const char* code : {"cvt.rn.e2m3x2.f32 %h0, %f0, %f1",
                           "cvt.rz.satfinite.e2m3x2.f32 %h0, %f0, %f1",
                           "cvt.rn.satfinite.e2m1x2.f32 %h0, %f0, %f1",
                           "cvt.rn.satfinite.e2m3x2.f16x2 %h0, %r0",
                           "cvt.rn.satfinite.f16x2.e2m3x2 %r0, %h0",
                           "cvt.rn.bf16x2.e2m3x2 %r0, %h0",
                           "cvt.rn.ue8m0x2.f32 %h0, %f0, %f1",
                           "cvt.rp.relu.ue8m0x2.f32 %h0, %f0, %f1",
                           "cvt.rz.ue8m0x2.f16x2 %h0, %r0",
                           "cvt.rn.f16x2.ue8m0x2 %r0, %h0",
                           "cvt.rn.satfinite.bf16x2.ue8m0x2 %r0, %h0",
                           "cvt.rs.f16.f32 %h0, %f0, %r0",
                           "cvt.rs.e4m3x4.f32 %r0, {%f0, %f1, %f2, %f3}, %r1",
                           "cvt.rn.satfinite.e4m3x4.f32 %r0, {%f0, %f1, %f2, %f3}, %r1",
                           "cvt.rs.satfinite.e4m3x4.f32 %r0, {%f0, %f1}, %r1",
                           "cvt.rs.f16x2.f32 %r0, %f0, %f1",
                           "cvt.rs.satfinite.e4m3x2.f32 %h0, %f0, %f1, %r1",
                           "cvt.rs.rn.f16x2.f32 %r0, %f0, %f1, %r1",
                           "cvt.rs.ftz.f16x2.f32 %r0, %f0, %f1, %r1",
                           "cvt.e2m1x4.f32 %h0, %f0"}) {
    std::string log;
    EXPECT_EQ(compiled(kIsa, code, log), CUDA_ERROR_INVALID_PTX) << code;
    EXPECT_NE(log, "") << code;
  }
}

TEST(CudaConvertSmall, FormsNeedTheirVersionAndTarget) {
  Gpu gpu("b200");
  struct Row {
    const char* code;
    Isa good, older, general;
  };
  for (const Row& row : {Row{"cvt.rn.satfinite.e3m2x2.f32 %h0, %f0, %f1",
                             {"8.6", "sm_100a"},
                             {"8.5", "sm_90"},
                             {"8.6", "sm_100"}},
                         Row{"cvt.rn.bf16x2.ue8m0x2 %r0, %h0",
                             {"8.6", "sm_100a"},
                             {"8.5", "sm_90"},
                             {"8.6", "sm_100"}},
                         Row{"cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1",
                             {"8.7", "sm_100a"},
                             {"8.6", "sm_100a"},
                             {"8.7", "sm_100"}}}) {
    std::string log;
    EXPECT_EQ(compiled(row.good, row.code, log), CUDA_SUCCESS) << row.code << log;
    for (const Isa& isa : {row.older, row.general}) {
      EXPECT_EQ(compiled(isa, row.code, log), CUDA_ERROR_INVALID_PTX) << row.code << isa.version;
    }
  }
}

}  // namespace
}  // namespace convert_small_test
