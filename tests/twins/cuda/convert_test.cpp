// cvt: integers, floats and both, in all roundings, against long double and 128-bit integers.
#include <algorithm>

#include "conversions.h"

namespace convert_test {
namespace {

using namespace twin_test;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

// --- Integers to integers, in registers as wide as the type and wider

TEST(CudaConvert, IntegersExtendChopAndSaturate) {
  Gpu gpu;
  const auto inputs = integer_inputs();
  for (const IntegerType& to : kIntegers) {
    for (const IntegerType& from : kIntegers) {
      const std::string types = std::string(".") + to.name + "." + from.name + " %d, %a";
      const auto wide = [&](Big value) {
        // A result in a wider register is extended by its own signedness.
        return static_cast<uint64_t>(value_of(static_cast<uint64_t>(value), to));
      };
      expect_lanes<uint64_t>(
          "cvt" + types, [&](uint64_t x) { return wide(value_of(x, from)); }, inputs);
      if (to.holds(from)) {
        EXPECT_EQ((compile_error<uint64_t, uint64_t>("cvt.sat" + types)), CUDA_ERROR_INVALID_PTX)
            << types;
        continue;
      }
      expect_lanes<uint64_t>(
          "cvt.sat" + types,
          [&](uint64_t x) { return wide(std::clamp(value_of(x, from), to.least(), to.most())); },
          inputs);
    }
  }
}

TEST(CudaConvert, IntegersInNarrowRegisters) {
  Gpu gpu;
  const auto all = all16<uint16_t>();
  expect_lanes<uint16_t>(
      "cvt.s16.s8 %d, %a",
      [](uint16_t x) { return static_cast<std::int16_t>(static_cast<std::int8_t>(x)); }, all);
  expect_lanes<uint16_t>(
      "cvt.u16.u8 %d, %a", [](uint16_t x) { return x % 256; }, all);
  expect_lanes<uint32_t>(
      "cvt.s32.s16 %d, %a", [](uint16_t x) { return int32_t{static_cast<std::int16_t>(x)}; }, all);
  expect_lanes<uint64_t>(
      "cvt.s64.s16 %d, %a", [](uint16_t x) { return int64_t{static_cast<std::int16_t>(x)}; }, all);
  expect_lanes<uint16_t>(
      "cvt.sat.s8.u16 %d, %a", [](uint16_t x) { return std::min<uint16_t>(x, 127); }, all);
  // The register's upper part stays clear: it reads as zero when it is packed.
  expect_lanes<uint32_t>(
      "cvt.s8.s16 %h0, %a; mov.b32 %d, {%h0, 0}",
      [](uint16_t x) { return static_cast<uint16_t>(static_cast<std::int8_t>(x)); }, all);
}

// --- Integers to floats

Format plain(const Format& f, uint64_t nan) {
  Format result = f;
  result.nan = nan;
  return result;
}

TEST(CudaConvert, IntegersToFloatsInAllRoundings) {
  Gpu gpu;
  const auto inputs = integer_inputs();
  for (const FloatType& to : kFloats) {
    for (const IntegerType& from : kIntegers) {
      for (const Mode& mode : kModes) {
        const bool wide = to.format.fraction == kBf16.fraction;
        const std::string code = std::string("cvt.") + mode.name + "." + to.name + "." + from.name;
        const auto expected = [&](uint64_t x) {
          return encode(static_cast<Real>(value_of(x, from)), to.format, mode.fenv);
        };
        if (wide) {  // registers of a conversion with bf16 have exactly their types' sizes
          const std::string type = from.name;
          expect_lanes<uint16_t>(
              "{ .reg ." + type + " own; cvt." + type + ".u64 own, %a; " + code + " %d, own; }",
              expected, inputs);
        } else {
          expect_lanes<uint64_t>(code + " %d, %a", expected, inputs);
        }
      }
    }
  }
}

TEST(CudaConvert, NarrowIntegersToFloats) {
  Gpu gpu;
  const auto all = all16<uint16_t>();
  expect_lanes<uint32_t>(
      "cvt.rn.f32.s16 %d, %a",
      [](uint16_t x) {
        return std::bit_cast<uint32_t>(static_cast<float>(static_cast<std::int16_t>(x)));
      },
      all);
  expect_lanes<uint16_t>(
      "cvt.rn.f16.u16 %d, %a", [](uint16_t x) { return encode(x, kF16); }, all);
  expect_lanes<uint16_t>(
      "cvt.rz.f16.u16 %d, %a", [](uint16_t x) { return encode(x, kF16, FE_TOWARDZERO); }, all);
  expect_lanes<uint32_t>(
      "cvt.rn.sat.f32.s16 %d, %a",
      [](uint16_t x) { return x != 0 && x < 0x8000 ? 0x3F800000u : 0u; }, all);
}

// --- Floats to integers

template <class Bits>
void expect_integers(const FloatType& from) {
  std::vector<Bits> values;
  if constexpr (sizeof(Bits) == 2) values = all16<Bits>();
  if constexpr (sizeof(Bits) != 2) values = float_inputs<Bits>(from.format);
  for (const IntegerType& to : kIntegers) {
    for (const Mode& mode : kModes) {
      const std::string type = to.name;
      const std::string code =
          std::string("cvt.") + mode.integer_name + "." + type + "." + from.name;
      const bool exact = from.format.fraction == kBf16.fraction;
      expect_lanes<uint64_t>(
          exact ? "{ .reg ." + type + " own; " + code + " own, %a; cvt." +
                      (to.is_signed ? "s64." : "u64.") + type + " %d, own; }"
                : code + " %d, %a",
          [&](Bits x) { return as_integer(decode(x, from.format), from, to, mode.fenv); }, values);
    }
  }
}

TEST(CudaConvert, FloatsToIntegersInAllRoundings) {
  Gpu gpu;
  expect_integers<uint16_t>(kFloats[0]);
  expect_integers<uint16_t>(kFloats[1]);
  expect_integers<uint32_t>(kFloats[2]);
  expect_integers<uint64_t>(kFloats[3]);
}

TEST(CudaConvert, FtzFlushesBeforeTheRounding) {
  Gpu gpu;
  const std::vector<uint32_t> inputs = {1, 0x80000001u, 0x00800000u, 0x80800000u};
  const auto of = [&](const char* code) { return lanes<uint32_t>(code, inputs); };
  EXPECT_EQ(of("cvt.rpi.ftz.s32.f32 %d, %a"), (std::vector<uint32_t>{0, 0, 1, 0}));
  EXPECT_EQ(of("cvt.rpi.s32.f32 %d, %a"), (std::vector<uint32_t>{1, 0, 1, 0}));
  EXPECT_EQ(of("cvt.rmi.ftz.sat.s32.f32 %d, %a"), (std::vector<uint32_t>{0, 0, 0, ~0u}));
  EXPECT_EQ(of("cvt.rpi.ftz.f32.f32 %d, %a"),
            (std::vector<uint32_t>{0, 0x80000000u, 0x3F800000u, 0x80000000u}));
  EXPECT_EQ(of("cvt.ftz.f32.f32 %d, %a"),
            (std::vector<uint32_t>{0, 0x80000000u, 0x00800000u, 0x80800000u}));
  EXPECT_EQ(of("cvt.rp.ftz.f16.f32 %h0, %a; cvt.u32.u16 %d, %h0"),
            (std::vector<uint32_t>{0, 0x8000, 1, 0x8000}));
  const std::vector<uint64_t> small = {std::bit_cast<uint64_t>(0x1p-140),
                                       std::bit_cast<uint64_t>(-0x1p-126)};
  EXPECT_EQ(lanes<uint32_t>("cvt.rn.ftz.f32.f64 %d, %a", small),
            (std::vector<uint32_t>{0, 0x80800000u}));
  EXPECT_EQ(lanes<uint64_t>("cvt.ftz.f64.f32 %d, %a", std::vector<uint32_t>{0x80000001u})[0],
            uint64_t{1} << 63);
  const std::vector<uint16_t> brains = {0x0001, 0x8001, 0x3F80};
  EXPECT_EQ(lanes<uint32_t>("cvt.ftz.f32.bf16 %d, %a", brains),
            (std::vector<uint32_t>{0, 0x80000000u, 0x3F800000u}));
}

// --- Floats to floats

TEST(CudaConvert, HalvesWidenExactly) {
  Gpu gpu;
  const auto all = all16<uint16_t>();
  expect_lanes<uint32_t>(
      "cvt.f32.f16 %d, %a", [](uint16_t x) { return encode(decode(x, kF16), kF32); }, all);
  std::vector<uint16_t> numbers;
  for (const uint16_t x : all) {
    if (!is_nan(x, kF16)) numbers.push_back(x);
  }
  expect_lanes<uint64_t>(
      "cvt.f64.f16 %d, %a", [](uint16_t x) { return encode(decode(x, kF16), kF64); }, numbers);
  // The bits of such a NaN are not documented.
  for (const uint64_t bits : lanes<uint64_t>("cvt.f64.f16 %d, %a", std::vector<uint16_t>{0x7C01})) {
    EXPECT_TRUE(is_nan(bits, kF64));
  }
  for (const uint32_t bits :
       lanes<uint32_t>("cvt.f32.bf16 %d, %a", std::vector<uint16_t>{0x7FC1})) {
    EXPECT_TRUE(is_nan(bits, kF32));
  }
  numbers.clear();
  for (const uint16_t x : all) {
    if (!is_nan(x, kBf16)) numbers.push_back(x);
  }
  expect_lanes<uint32_t>(
      "cvt.f32.bf16 %d, %a", [](uint16_t x) { return uint32_t{x} << 16; }, numbers);
  expect_lanes<uint64_t>(
      "cvt.f64.bf16 %d, %a", [](uint16_t x) { return encode(decode(x, kBf16), kF64); }, numbers);
}

template <class Out, class In>
void expect_narrowing(const FloatType& to, const FloatType& from) {
  std::vector<In> values;
  if constexpr (sizeof(In) == 2) values = all16<In>();
  if constexpr (sizeof(In) != 2) values = around<In>(to.format, from.format);
  for (const Mode& mode : kModes) {
    expect_lanes<Out>(
        std::string("cvt.") + mode.name + "." + to.name + "." + from.name + " %d, %a",
        [&](In x) { return encode(decode(x, from.format), to.format, mode.fenv); }, values);
  }
}

TEST(CudaConvert, FloatsNarrowInAllRoundings) {
  Gpu gpu;
  expect_narrowing<uint16_t, uint32_t>(kFloats[0], kFloats[2]);
  expect_narrowing<uint16_t, uint32_t>(kFloats[1], kFloats[2]);
  expect_narrowing<uint32_t, uint64_t>(kFloats[2], kFloats[3]);
  expect_narrowing<uint16_t, uint64_t>(kFloats[0], kFloats[3]);
  expect_narrowing<uint16_t, uint64_t>(kFloats[1], kFloats[3]);
  expect_narrowing<uint16_t, uint16_t>(kFloats[0], kFloats[1]);
  expect_narrowing<uint16_t, uint16_t>(kFloats[1], kFloats[0]);
}

TEST(CudaConvert, DoublesRoundOnceToHalves) {
  Gpu gpu;
  // A tie of f16 plus less than f32 can tell.
  const std::vector<uint64_t> inputs = {std::bit_cast<uint64_t>(1 + 0x1p-11),
                                        std::bit_cast<uint64_t>(1 + 0x1p-11 + 0x1p-40),
                                        std::bit_cast<uint64_t>(1 + 0x3p-11 - 0x1p-45)};
  EXPECT_EQ(lanes<uint16_t>("cvt.rn.f16.f64 %d, %a", inputs),
            (std::vector<uint16_t>{0x3C00, 0x3C01, 0x3C01}));
  EXPECT_EQ(lanes<uint16_t>("cvt.rp.f16.f64 %d, %a", inputs),
            (std::vector<uint16_t>{0x3C01, 0x3C01, 0x3C02}));
}

TEST(CudaConvert, FloatsOfOneTypeRoundToIntegers) {
  Gpu gpu;
  for (const Mode& mode : kModes) {
    const std::string name = std::string("cvt.") + mode.integer_name;
    const auto rounded = [&](uint64_t x, const Format& f) {
      const Real value = decode(x, f);
      if (std::isnan(value)) return f.nan;
      return encode(std::copysign(integral(value, mode.fenv), value), f);
    };
    expect_lanes<uint32_t>(
        name + ".f32.f32 %d, %a", [&](uint32_t x) { return rounded(x, kF32); },
        float_inputs<uint32_t>(kF32));
    expect_lanes<uint64_t>(
        name + ".f64.f64 %d, %a",
        [&](uint64_t x) { return is_nan(x, kF64) ? x | 0x0008000000000000u : rounded(x, kF64); },
        float_inputs<uint64_t>(kF64));
    expect_lanes<uint16_t>(
        name + ".f16.f16 %d, %a", [&](uint16_t x) { return rounded(x, kF16); }, all16<uint16_t>());
    expect_lanes<uint16_t>(
        name + ".bf16.bf16 %d, %a", [&](uint16_t x) { return rounded(x, kBf16); },
        all16<uint16_t>());
  }
}

TEST(CudaConvert, SatClampsFloats) {
  Gpu gpu;
  const auto singles = around<uint32_t>(kF16, kF32);
  expect_lanes<uint16_t>(
      "cvt.rn.sat.f16.f32 %d, %a",
      [](uint32_t x) { return clamped(encode(decode(x, kF32), kF16), kF16); }, singles);
  expect_lanes<uint32_t>(
      "cvt.sat.f32.f32 %d, %a", [](uint32_t x) { return clamped(x, kF32); }, singles);
  expect_lanes<uint32_t>(
      "cvt.sat.f32.f16 %d, %a",
      [](uint16_t x) { return clamped(encode(decode(x, kF16), kF32), kF32); }, all16<uint16_t>());
  expect_lanes<uint64_t>(
      "cvt.sat.f64.f32 %d, %a",
      [](uint32_t x) {
        return clamped(encode(decode(x, kF32), plain(kF64, ~uint64_t{0} >> 1)), kF64);
      },
      singles);
  expect_lanes<uint32_t>(
      "cvt.rm.sat.f32.f64 %d, %a",
      [](uint64_t x) { return clamped(encode(decode(x, kF64), kF32, FE_DOWNWARD), kF32); },
      around<uint64_t>(kF32, kF64));
}

TEST(CudaConvert, WiderNansKeepTheirPayload) {
  Gpu gpu;
  const std::vector<uint32_t> inputs = {0x7F800001u, 0xFFC12345u};
  EXPECT_EQ(lanes<uint64_t>("cvt.f64.f32 %d, %a", inputs),
            (std::vector<uint64_t>{0x7FF8000020000000u, 0xFFF82468A0000000u}));
  EXPECT_EQ(lanes<uint32_t>("cvt.rn.f32.f64 %d, %a", std::vector<uint64_t>{0xFFF0000000000001u})[0],
            0x7FFFFFFFu);
}

// --- .relu, .satfinite, pairs, tf32 and fp8

uint64_t finished(uint64_t bits, const Format& f, bool relu, bool satfinite) {
  if (is_nan(bits, f)) return f.nan;
  if (relu && (bits & f.sign()) != 0) return 0;
  if (satfinite && (bits & (f.sign() - 1)) == f.infinity()) return bits - 1;
  return bits;
}

struct HalfModifiers {
  const char* text;
  int mode;
  bool relu, satfinite;
};
constexpr HalfModifiers kHalfModifiers[] = {
    {"rn", FE_TONEAREST, false, false},
    {"rz", FE_TOWARDZERO, false, false},
    {"rn.relu", FE_TONEAREST, true, false},
    {"rz.relu", FE_TOWARDZERO, true, false},
    {"rn.satfinite", FE_TONEAREST, false, true},
    {"rz.satfinite", FE_TOWARDZERO, false, true},
    {"rn.relu.satfinite", FE_TONEAREST, true, true},
    {"rz.relu.satfinite", FE_TOWARDZERO, true, true},
};

void expect_pairs(const Format& f, const std::string& name) {
  const auto a = around<uint32_t>(f, kF32);
  auto b = a;
  std::rotate(b.begin(), b.begin() + 77, b.end());
  for (const HalfModifiers& m : kHalfModifiers) {
    const auto one = [&](uint32_t x) {
      return finished(encode(decode(x, kF32), f, m.mode), f, m.relu, m.satfinite);
    };
    const std::string start = std::string("cvt.") + m.text + "." + name;
    expect_lanes<uint32_t>(
        start + "x2.f32 %d, %a, %b", [&](uint32_t x, uint32_t y) { return one(x) << 16 | one(y); },
        a, b);
    expect_lanes<uint16_t>(start + ".f32 %d, %a", one, a);
  }
}

TEST(CudaConvert, HalvesAndTheirPairsFromFloats) {
  Gpu gpu;
  expect_pairs(kF16, "f16");
  expect_pairs(kBf16, "bf16");
}

TEST(CudaConvert, Tf32KeepsTenBitsOfTheFraction) {
  Gpu gpu;
  const auto inputs = around<uint32_t>(kTf32, kF32);
  const auto of = [&](uint32_t x, int mode, bool relu) -> uint64_t {
    if (is_nan(x, kF32)) return 0x7FFFFFFFu;
    const uint64_t bits = encode(decode(x, kF32), kTf32, mode);
    return relu && (bits & kTf32.sign()) != 0 ? 0 : bits << 13;
  };
  expect_lanes<uint32_t>(
      "cvt.rn.tf32.f32 %d, %a", [&](uint32_t x) { return of(x, FE_TONEAREST, false); }, inputs);
  expect_lanes<uint32_t>(
      "cvt.rz.relu.tf32.f32 %d, %a", [&](uint32_t x) { return of(x, FE_TOWARDZERO, true); },
      inputs);
  // Ties away: as upward of the magnitude less the least.
  expect_lanes<uint32_t>(
      "cvt.rna.tf32.f32 %d, %a",
      [&](uint32_t x) -> uint64_t {
        if (is_nan(x, kF32)) return 0x7FFFFFFFu;
        const uint64_t low = of(x, FE_TOWARDZERO, false);
        const bool is_infinite = (x & 0x7FFFFFFFu) == 0x7F800000u;
        return !is_infinite && x - low >= 0x1000 ? low + 0x2000 : low;
      },
      inputs);
  const std::vector<uint32_t> large = {0x7F7FFFFFu, 0xFF800000u, 0x7FC00000u};
  EXPECT_EQ(lanes<uint32_t>("cvt.rna.satfinite.tf32.f32 %d, %a", large),
            (std::vector<uint32_t>{0x7F7FE000u, 0xFF7FE000u, 0x7FFFFFFFu}));
  EXPECT_EQ(lanes<uint32_t>("cvt.rna.tf32.f32 %d, %a", large)[0], 0x7F800000u);
}

struct ByteType {
  const char* name;
  Format format;
  uint64_t most;
};
constexpr ByteType kBytes[] = {{"e4m3x2", kE4m3, 0x7E}, {"e5m2x2", kE5m2, 0x7B}};

uint64_t byte_of(Real value, const ByteType& type, bool relu) {
  if (std::isnan(value)) return 0x7F;
  if (relu && std::signbit(value)) return 0;
  const uint64_t bits = encode(value, type.format);
  return (bits & 0x80) | std::min(bits & 0x7F, type.most);
}

TEST(CudaConvert, BytesFromFloatsAndHalves) {
  Gpu gpu;
  for (const ByteType& type : kBytes) {
    const auto a = around<uint32_t>(kF16, kF32);
    auto b = a;
    std::rotate(b.begin(), b.begin() + 77, b.end());
    const auto halves = all16<uint16_t>();
    std::vector<uint32_t> pairs;
    pairs.reserve(halves.size());
    for (const uint16_t x : halves) {
      pairs.push_back(x | static_cast<uint32_t>(static_cast<uint16_t>(x * 40503u)) << 16);
    }
    for (const bool relu : {false, true}) {
      const std::string name =
          std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + type.name;
      expect_lanes<uint16_t>(
          name + ".f32 %d, %a, %b",
          [&](uint32_t x, uint32_t y) {
            return byte_of(decode(x, kF32), type, relu) << 8 | byte_of(decode(y, kF32), type, relu);
          },
          a, b);
      expect_lanes<uint16_t>(
          name + ".f16x2 %d, %a",
          [&](uint32_t x) {
            return byte_of(decode(x >> 16, kF16), type, relu) << 8 |
                   byte_of(decode(x & 0xFFFF, kF16), type, relu);
          },
          pairs);
    }
  }
  EXPECT_EQ(lanes<uint16_t>("cvt.rn.relu.satfinite.e5m2x2.f16x2 %d, %a",
                            std::vector<uint32_t>{0xBC007C00u})[0],
            0x007B);
}

TEST(CudaConvert, HalvesFromBytes) {
  Gpu gpu;
  const auto all = all16<uint16_t>();
  for (const ByteType& type : kBytes) {
    for (const bool relu : {false, true}) {
      const auto one = [&](uint64_t byte) {
        return finished(encode(decode(byte, type.format), kF16), kF16, relu, false);
      };
      expect_lanes<uint32_t>(
          std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + type.name + " %d, %a",
          [&](uint16_t x) { return one(x >> 8) << 16 | one(x & 0xFF); }, all);
    }
  }
}

// --- cvt.pack

void expect_pack(const char* name, unsigned bits, int least, int most) {
  std::vector<uint32_t> a;
  for (const uint64_t x : integer_inputs()) a.push_back(static_cast<uint32_t>(x));
  auto b = a;
  std::rotate(b.begin(), b.begin() + 13, b.end());
  const auto limited = [&](uint32_t x) {
    const int value = std::clamp(static_cast<int>(x), least, most);
    return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  };
  if (bits == 16) {
    expect_lanes<uint32_t>(
        std::string("cvt.pack.sat.") + name + ".s32 %d, %a, %b",
        [&](uint32_t x, uint32_t y) { return limited(x) << 16 | limited(y); }, a, b);
    return;
  }
  expect_lanes<uint32_t>(
      std::string("cvt.pack.sat.") + name + ".s32.b32 %d, %a, %b, %a",
      [&](uint32_t x, uint32_t y) {
        return uint64_t{x} << (2 * bits) | limited(x) << bits | limited(y);
      },
      a, b);
}

TEST(CudaConvert, PackSaturatesAndJoins) {
  Gpu gpu;
  expect_pack("u16", 16, 0, 65535);
  expect_pack("s16", 16, -32768, 32767);
  expect_pack("u8", 8, 0, 255);
  expect_pack("s8", 8, -128, 127);
  expect_pack("u4", 4, 0, 15);
  expect_pack("s4", 4, -8, 7);
  expect_pack("u2", 2, 0, 3);
  expect_pack("s2", 2, -2, 1);
  // The document's way to pack four bytes.
  const std::vector<uint32_t> x = {300};
  EXPECT_EQ(lanes<uint32_t>("cvt.pack.sat.u8.s32.b32 %r0, 1, 2, 0;"
                            "cvt.pack.sat.u8.s32.b32 %d, -5, %a, %r0",
                            x)[0],
            0x010200FFu);
}

TEST(CudaConvert, InactiveLanesKeepTheirValues) {
  Gpu gpu;
  std::vector<uint32_t> index;
  index.reserve(32);
  for (uint32_t i = 0; i < 32; ++i) index.push_back(i);
  expect_lanes<uint32_t>(
      "mov.u32 %d, 77; setp.lt.u32 %p0, %a, 9; @%p0 cvt.rn.f32.u32 %d, %a;"
      "setp.gt.u32 %p1, %a, 25; @%p1 cvt.u32.u8 %d, 1000; "
      "setp.eq.u32 %p2, %a, 20; @%p2 cvt.rzi.u32.f32 %d, 0f41280000",
      [](uint32_t i) {
        if (i < 9) return std::bit_cast<uint32_t>(static_cast<float>(i));
        return i > 25 ? 1000u % 256 : i == 20 ? 10u : 77u;
      },
      index);
}

TEST(CudaConvert, FormsThatPtxDoesNotHaveAreRefused) {
  Gpu gpu;
  expect_refused({"cvt.f16.f32 %h0, %f0",
                  "cvt.f32.f64 %f0, %g0",
                  "cvt.f32.s32 %f0, %r0",
                  "cvt.s32.f32 %r0, %f0",
                  "cvt.rn.s32.f32 %r0, %f0",
                  "cvt.rni.f32.s32 %f0, %r0",
                  "cvt.rn.f64.f32 %g0, %f0",
                  "cvt.rn.f32.f16 %f0, %h0",
                  "cvt.rn.f32.f32 %f0, %f1",
                  "cvt.rzi.f64.f32 %g0, %f0",
                  "cvt.rn.s32.s64 %r0, %l0",
                  "cvt.rzi.u32.u32 %r0, %r1",
                  "cvt.ftz.f64.f64 %g0, %g1",
                  "cvt.ftz.f16.f16 %h0, %h1",
                  "cvt.rn.sat.bf16.f32 %h0, %f0",
                  "cvt.rn.bf16.bf16 %h0, %h1",
                  "cvt.rn.bf16.f32 %h0, %l0",
                  "cvt.rzi.s8.bf16 %h0, %h1",
                  "cvt.rzi.sat.s32.bf16 %r0, %h1",
                  "cvt.rn.relu.f32.f64 %f0, %g0",
                  "cvt.rp.relu.f16.f32 %h0, %f0",
                  "cvt.rn.e4m3x2.f32 %h0, %f0, %f1",
                  "cvt.rz.satfinite.e4m3x2.f32 %h0, %f0, %f1",
                  "cvt.rn.satfinite.e4m3x2.f32 %h0, %f0",
                  "cvt.rn.satfinite.f16x2.e4m3x2 %r0, %h0",
                  "cvt.rn.bf16x2.e4m3x2 %r0, %h0",
                  "cvt.rn.e4m3x2.e5m2x2 %h0, %h1",
                  "cvt.f16x2.f32 %r0, %f0, %f1",
                  "cvt.rm.f16x2.f32 %r0, %f0, %f1",
                  "cvt.rna.f16.f32 %h0, %f0",
                  "cvt.tf32.f32 %r0, %f0",
                  "cvt.rna.relu.tf32.f32 %r0, %f0",
                  "cvt.rn.tf32.f16 %r0, %h0",
                  "cvt.rn.f16x2.f16 %r0, %h0",
                  "cvt.b32.u32 %r0, %r1",
                  "cvt.u32.b32 %r0, %r1",
                  "cvt.u32.u64 %h0, %l0",
                  "cvt.u64.u32 %l0, %h0",
                  "cvt.u32 %r0, %r1",
                  "cvt.rn.rn.f16.f32 %h0, %f0",
                  "cvt.rn.ftz.ftz.f16.f32 %h0, %f0",
                  "cvt.rn.bf16.f32 %r0, %f0",
                  "cvt.f32.bf16 %f0, %r0",
                  "cvt.pack.u16.s32 %r0, %r1, %r2",
                  "cvt.pack.sat.u16.u32 %r0, %r1, %r2",
                  "cvt.pack.sat.u8.s32 %r0, %r1, %r2",
                  "cvt.pack.sat.u32.s32 %r0, %r1, %r2",
                  "cvt.rn.f32.s32 %f0",
                  "cvt.rs.f16x2.f32 %r0, %f0, %f1, %r2"});
}

TEST(CudaConvert, NewerFormsNeedTheirVersionAndTarget) {
  Gpu gpu;
  expect_needs("6.5", "sm_90", {"cvt.rn.bf16.f32 %h0, %f0", "cvt.rn.f16x2.f32 %r0, %f0, %f1"});
  expect_needs("8.0", "sm_75", {"cvt.rn.relu.f16.f32 %h0, %f0", "cvt.rna.tf32.f32 %r0, %f0"});
  expect_needs("7.0", "sm_80", {"cvt.f32.bf16 %f0, %h0"});
  expect_needs(
      "8.0", "sm_80",
      {"cvt.rn.f16.bf16 %h0, %h1", "cvt.rni.s32.bf16 %r0, %h0", "cvt.rn.tf32.f32 %r0, %f0",
       "cvt.ftz.f32.bf16 %f0, %h0", "cvt.rm.bf16.f32 %h0, %f0", "cvt.rz.f32.bf16 %f0, %h0"});
  expect_needs("8.0", "sm_89", {"cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1"});
  expect_needs("8.1", "sm_80", {"cvt.rn.f16x2.e5m2x2 %r0, %h0"});
  expect_needs("7.7", "sm_90", {"cvt.rn.f16x2.e5m2x2 %r0, %h0"});
  expect_needs("8.0", "sm_90",
               {"cvt.rn.satfinite.f16.f32 %h0, %f0", "cvt.rna.satfinite.tf32.f32 %r0, %f0"});
  expect_needs("8.0", "sm_70", {"cvt.pack.sat.u16.s32 %r0, %r1, %r2"});
  expect_needs("8.0", "sm_72", {"cvt.pack.sat.u4.s32.b32 %r0, %r1, %r2, %r3"});
  std::string log;  // of a later target
  EXPECT_EQ(compile_error("cvt.rn.satfinite.tf32.f32 %r0, %f0", &log), CUDA_ERROR_INVALID_PTX);
}

}  // namespace
}  // namespace convert_test
