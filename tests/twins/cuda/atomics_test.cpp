// atom and red. Expected values come from plain sequences of operations on the host.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "atomics.h"

namespace atomics_test {
namespace {

using twin_test::atomic_kernel;
using twin_test::Buffer;
using twin_test::compile_error;
using twin_test::Dim;
using twin_test::expect_in_order;
using twin_test::Gpu;
using twin_test::launch;
using twin_test::module;
using twin_test::run_atomic;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

const std::vector<U32> kWords = {1, 5, 0xFFFFFFFF, 7, 0x80000000, 0x7FFFFFFF, 0, 42};
const std::vector<U64> kLongs = {1, 5,           ~U64{0}, 7, U64{1} << 63, (U64{1} << 63) - 1,
                                 0, U64{1} << 40};

TEST(CudaAtomics, IntegersOf32Bits) {
  Gpu gpu;
  const auto as_signed = [](U32 x) { return static_cast<std::int32_t>(x); };
  expect_in_order<U32>("atom.global.add.u32 %d, [%rd0], %a;", 10, kWords,
                       [](U32 m, U32 a) { return m + a; });
  expect_in_order<U32>("atom.global.add.s32 %d, [%rd0], %a;", 10, kWords,
                       [](U32 m, U32 a) { return m + a; });
  expect_in_order<U32>("atom.global.and.b32 %d, [%rd0], %a;", 0xFFFF, kWords,
                       [](U32 m, U32 a) { return m & a; });
  expect_in_order<U32>("atom.or.b32 %d, [%rd0], %a;", 2, kWords,
                       [](U32 m, U32 a) { return m | a; });
  expect_in_order<U32>("atom.global.xor.b32 %d, [%rd0], %a;", 2, kWords,
                       [](U32 m, U32 a) { return m ^ a; });
  expect_in_order<U32>("atom.global.exch.b32 %d, [%rd0], %a;", 2, kWords,
                       [](U32, U32 a) { return a; });
  expect_in_order<U32>("atom.global.min.u32 %d, [%rd0], %a;", 6, kWords,
                       [](U32 m, U32 a) { return std::min(m, a); });
  expect_in_order<U32>("atom.global.max.u32 %d, [%rd0], %a;", 6, kWords,
                       [](U32 m, U32 a) { return std::max(m, a); });
  expect_in_order<U32>("atom.global.min.s32 %d, [%rd0], %a;", 6, kWords,
                       [&](U32 m, U32 a) { return as_signed(a) < as_signed(m) ? a : m; });
  expect_in_order<U32>("atom.global.max.s32 %d, [%rd0], %a;", 0xFFFFFFF0, kWords,
                       [&](U32 m, U32 a) { return as_signed(a) > as_signed(m) ? a : m; });
}

TEST(CudaAtomics, CountersWrapAtTheirBound) {
  Gpu gpu;
  // The document: inc is (m >= b) ? 0 : m + 1; dec is (m == 0 || m > b) ? b : m - 1.
  expect_in_order<U32>("atom.global.inc.u32 %d, [%rd0], %a;", 3, {4, 4, 4, 2, 0, 9, 9, 9},
                       [](U32 m, U32 b) { return m >= b ? 0 : m + 1; });
  expect_in_order<U32>("atom.global.dec.u32 %d, [%rd0], %a;", 1,
                       {4, 4, 4, 2, 9, 0, 9, 9, 3, 3, 1, 9},
                       [](U32 m, U32 b) { return m == 0 || m > b ? b : m - 1; });
}

TEST(CudaAtomics, IntegersOf64Bits) {
  Gpu gpu;
  const auto as_signed = [](U64 x) { return static_cast<std::int64_t>(x); };
  expect_in_order<U64>("atom.global.add.u64 %d, [%rd0], %a;", 10, kLongs,
                       [](U64 m, U64 a) { return m + a; });
  expect_in_order<U64>("atom.global.and.b64 %d, [%rd0], %a;", ~U64{0}, kLongs,
                       [](U64 m, U64 a) { return m & a; });
  expect_in_order<U64>("atom.global.or.b64 %d, [%rd0], %a;", 2, kLongs,
                       [](U64 m, U64 a) { return m | a; });
  expect_in_order<U64>("atom.global.xor.b64 %d, [%rd0], %a;", 2, kLongs,
                       [](U64 m, U64 a) { return m ^ a; });
  expect_in_order<U64>("atom.global.exch.b64 %d, [%rd0], %a;", 2, kLongs,
                       [](U64, U64 a) { return a; });
  expect_in_order<U64>("atom.global.min.u64 %d, [%rd0], %a;", 6, kLongs,
                       [](U64 m, U64 a) { return std::min(m, a); });
  expect_in_order<U64>("atom.global.max.u64 %d, [%rd0], %a;", 6, kLongs,
                       [](U64 m, U64 a) { return std::max(m, a); });
  expect_in_order<U64>("atom.global.min.s64 %d, [%rd0], %a;", 6, kLongs,
                       [&](U64 m, U64 a) { return as_signed(a) < as_signed(m) ? a : m; });
  expect_in_order<U64>("atom.global.max.s64 %d, [%rd0], %a;", ~U64{0} - 9, kLongs,
                       [&](U64 m, U64 a) { return as_signed(a) > as_signed(m) ? a : m; });
}

TEST(CudaAtomics, CompareAndSwap) {
  Gpu gpu;
  // Each lane swaps the value of the lane before it.
  expect_in_order<U32>("add.u32 %c, %a, 1; atom.global.cas.b32 %d, [%rd0], %a, %c;", 5,
                       {5, 6, 9, 7, 8, 0}, [](U32 m, U32 a) { return m == a ? a + 1 : m; });
  expect_in_order<U64>("add.u64 %c, %a, 1; atom.global.cas.b64 %d, [%rd0], %a, %c;", 5,
                       {5, 6, 9, 7, 8, 0}, [](U64 m, U64 a) { return m == a ? a + 1 : m; });
  expect_in_order<std::uint16_t>("add.u16 %c, %a, 1; atom.global.cas.b16 %d, [%rd0], %a, %c;", 5,
                                 {5, 6, 9, 7}, [](std::uint16_t m, std::uint16_t a) {
                                   return static_cast<std::uint16_t>(m == a ? a + 1 : m);
                                 });
}

TEST(CudaAtomics, FloatsAddInTheOrderOfLanes) {
  Gpu gpu;
  const std::vector<float> values = {1e8f, 1.0f, -1e8f, 0.5f, 3.0f, 1e-3f, 7e7f, -0.0f};
  std::vector<U32> bits;
  for (const float value : values) bits.push_back(std::bit_cast<U32>(value));
  expect_in_order<U32>("atom.global.add.f32 %d, [%rd0], %a;", 0, bits, [](U32 m, U32 a) {
    return std::bit_cast<U32>(std::bit_cast<float>(m) + std::bit_cast<float>(a));
  });
  std::vector<U64> wide;
  for (const float value : values) wide.push_back(std::bit_cast<U64>(value * 1e100));
  expect_in_order<U64>("atom.global.add.f64 %d, [%rd0], %a;", 0, wide, [](U64 m, U64 a) {
    return std::bit_cast<U64>(std::bit_cast<double>(m) + std::bit_cast<double>(a));
  });
}

TEST(CudaAtomics, SubnormalsAreFlushedInGlobalMemoryOnly) {
  Gpu gpu;
  const U32 tiny = 0x00400000;  // half of the least normal number
  EXPECT_EQ(run_atomic<U32>("atom.global.add.f32 %d, [%rd0], %a;", tiny, {tiny}).cell, 0u);
  EXPECT_EQ(run_atomic<U32>("atom.add.f32 %d, [%rd0], %a;", 0x80800000, {tiny}).cell, 0x80800000u);
  const std::string shared =
      ".shared .b32 s; mov.u32 %r1, s; st.shared.u32 [s], %a; atom.shared.add.f32 %d, [s], %a; "
      "ld.shared.u32 %d, [s];";
  EXPECT_EQ(run_atomic<U32>(shared, 0, {tiny}).before[0], 2 * tiny);
}

/// A 16-bit float's value, from its definition.
double half_value(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}
/// The nearest finite value of the format, ties to an even fraction: found by bisection.
std::uint16_t nearest_half(double value, int exponent_bits) {
  std::uint16_t low = 0;
  auto high = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
  const double magnitude = std::fabs(value);
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (half_value(middle, exponent_bits) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - half_value(low, exponent_bits);
  const double above = half_value(high, exponent_bits) - magnitude;
  const bool up = above < below || (above == below && low % 2 == 1);
  return static_cast<std::uint16_t>((up ? high : low) | (value < 0 ? 0x8000 : 0));
}

TEST(CudaAtomics, HalvesRoundOnce) {
  Gpu gpu;
  const std::vector<std::uint16_t> values = {0x3C00, 0x0001, 0x3555, 0xB800,
                                             0x4A01, 0x83FF, 0x2E66, 0x0400};
  for (const auto& [type, exponent_bits] : {std::pair<std::string, int>{"f16", 5}, {"bf16", 8}}) {
    expect_in_order<std::uint16_t>(
        "atom.global.add.noftz." + type + " %d, [%rd0], %a;", 0x3C01, values,
        [bits = exponent_bits](std::uint16_t m, std::uint16_t a) {
          return nearest_half(half_value(m, bits) + half_value(a, bits), bits);
        });
    std::vector<U32> pairs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      pairs.push_back(values[i] | U32{values[values.size() - 1 - i]} << 16);
    }
    expect_in_order<U32>(
        "atom.global.add.noftz." + type + "x2 %d, [%rd0], %a;", 0x3C013C02, pairs,
        [bits = exponent_bits](U32 m, U32 a) {
          const auto sum = [&](unsigned shift) {
            return U32{nearest_half(half_value(static_cast<std::uint16_t>(m >> shift), bits) +
                                        half_value(static_cast<std::uint16_t>(a >> shift), bits),
                                    bits)}
                   << shift;
          };
          return sum(0) | sum(16);
        });
  }
}

TEST(CudaAtomics, ReductionsAndSemanticsCountTheSame) {
  Gpu gpu;
  for (const char* const code :
       {"red.global.add.u32 [%rd0], %a;", "red.add.u32 [%rd0], %a;",
        "red.relaxed.gpu.global.add.u32 [%rd0], %a;", "red.release.sys.global.add.u32 [%rd0], %a;",
        "atom.acq_rel.gpu.global.add.u32 %d, [%rd0], %a;",
        "atom.acquire.cta.global.add.u32 %d, [%rd0], %a;", "atom.global.add.u32 _, [%rd0], %a;",
        "atom.gpu.global.add.u32 %d, [%rd0], %a;",
        "createpolicy.fractional.L2::evict_first.b64 %rd4; "
        "atom.global.add.L2::cache_hint.u32 %d, [%rd0], %a, %rd4;"}) {
    EXPECT_EQ(run_atomic<U32>(code, 100, std::vector<U32>(32, 3)).cell, 196u) << code;
  }
}

/// The words before and after `code`, which works on the four words at [%rd0].
std::pair<std::vector<U32>, std::vector<U32>> of_words(const std::string& code,
                                                       const std::vector<U32>& start) {
  Buffer<U32> cell(start);
  Buffer<U32> out(4, 0);
  const std::string text = module(
      ".visible .entry k(.param .u64 cell, .param .u64 out)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<9>; "
      ".reg .b16 %h<9>;\nld.param.u64 %rd0, [cell];\nld.param.u64 %rd1, [out];\n" +
      code + "\nret;\n}\n");
  std::string log;
  EXPECT_EQ(launch(text, "k", 1, 1, {&cell.address, &out.address}, 0, &log), CUDA_SUCCESS)
      << code << ": " << log;
  return {out.read(), cell.read()};
}

// 0x3C00 is 1 in f16, 0x3F80 in bf16; a number wins over a NaN, and -0 is less than +0.
TEST(CudaAtomics, VectorsOfHalvesHaveExtremes) {
  Gpu gpu;
  const std::string f16 =
      "mov.b16 %h1, 0xBC00; mov.b16 %h2, 0x8000; mov.b16 %h3, 0x7E00; mov.b16 %h4, 0x3C01;\n";
  const std::vector<U32> start{0x00003C00, 0x7E013C00, 0, 0};
  const auto least = of_words(f16 +
                                  "atom.global.min.noftz.v4.f16 {%h5, %h6, %h7, %h8}, [%rd0], "
                                  "{%h1, %h2, %h3, %h4};\n"
                                  "st.global.v4.b16 [%rd1], {%h5, %h6, %h7, %h8};",
                              start);
  EXPECT_EQ(least.first, start);
  EXPECT_EQ(least.second, (std::vector<U32>{0x8000BC00, 0x3C013C00, 0, 0}));
  const auto most = of_words(f16 + "red.global.max.noftz.v4.f16 [%rd0], {%h1, %h2, %h3, %h4};",
                             {0x00003C00, 0x7E013C00});
  EXPECT_EQ(most.second, (std::vector<U32>{0x00003C00, 0x3C013C00}));
  const auto pairs = of_words(
      "mov.b32 %r1, 0x3F817FC1; mov.b32 %r2, 0xFF800001;\n"
      "red.global.max.noftz.v2.bf16x2 [%rd0], {%r1, %r2};",
      {0x3F807FC0, 0xBF808001});
  EXPECT_EQ(pairs.second, (std::vector<U32>{0x3F817FFF, 0xBF800001}));
  const auto smaller = of_words(
      "mov.b32 %r1, 0x3F817F80; mov.b32 %r2, 0xFF800001;\n"
      "red.global.min.noftz.v2.bf16x2 [%rd0], {%r1, %r2};",
      {0x3F807FC0, 0xBF808001});
  EXPECT_EQ(smaller.second, (std::vector<U32>{0x3F807F80, 0xFF808001}));
  EXPECT_NE(compile_error("atom.global.min.v2.f16 {%h1, %h2}, [%l0], {%h3, %h4};"), CUDA_SUCCESS);
  EXPECT_NE(compile_error("atom.global.min.noftz.f16 %h1, [%l0], %h3;"), CUDA_SUCCESS);
  EXPECT_NE(compile_error("atom.global.min.v2.f32 {%f0, %f1}, [%l0], {%f2, %f3};"), CUDA_SUCCESS);
  EXPECT_EQ(compile_error("atom.global.min.noftz.v2.f16 {%h1, %h2}, [%l0], {%h3, %h4};"),
            CUDA_SUCCESS);
}

// Of 1 and 2, which is 0x4000 in both formats.
TEST(CudaAtomics, VectorsOfTwoHalvesHaveExtremes) {
  Gpu gpu;
  for (const auto& [type, one] : {std::pair<std::string, U32>{"f16", 0x3C00}, {"bf16", 0x3F80}}) {
    const std::vector<U32> start = {one << 16 | 0x4000, 5, 5, 5};
    const std::string operands = "mov.b16 %h1, " + std::to_string(one) + "; mov.b16 %h2, 0x4000;\n";
    const auto of = [&, t = type](const std::string& operation) {
      return of_words(operands + "atom.global." + operation + ".noftz.v2." + t +
                          " {%h3, %h4}, [%rd0], {%h1, %h2};\nst.global.v2.b16 [%rd1], {%h3, %h4};",
                      start);
    };
    EXPECT_EQ(of("max").second, (std::vector<U32>{0x40004000, 5, 5, 5})) << type;
    EXPECT_EQ(of("min").second, (std::vector<U32>{one << 16 | one, 5, 5, 5})) << type;
    EXPECT_EQ(of("max").first[0], start[0]) << type;
  }
}

// 1 + 1 is 0x4000 in f16 and in bf16.
TEST(CudaAtomics, VectorsOfHalvesAdd) {
  Gpu gpu;
  const struct {
    const char* type;
    U32 one;
    unsigned words;
    const char* in;
    const char* out;
  } forms[] = {
      {"v2.f16", 0x3C003C00, 1, "%h1, %h1", "%h2, %h3"},
      {"v2.bf16", 0x3F803F80, 1, "%h1, %h1", "%h2, %h3"},
      {"v4.f16", 0x3C003C00, 2, "%h1, %h1, %h1, %h1", "%h2, %h3, %h4, %h5"},
      {"v4.bf16", 0x3F803F80, 2, "%h1, %h1, %h1, %h1", "%h2, %h3, %h4, %h5"},
      {"v8.bf16", 0x3F803F80, 4, "%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1",
       "%h2, %h3, %h4, %h5, %h6, %h7, %h8, %h0"},
      {"v2.f16x2", 0x3C003C00, 2, "%r1, %r1", "%r2, %r3"},
      {"v2.bf16x2", 0x3F803F80, 2, "%r1, %r1", "%r2, %r3"},
      {"v4.bf16x2", 0x3F803F80, 4, "%r1, %r1, %r1, %r1", "%r2, %r3, %r4, %r5"},
      {"v8.f16", 0x3C003C00, 4, "%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1",
       "%h2, %h3, %h4, %h5, %h6, %h7, %h8, %h0"},
      {"v4.f16x2", 0x3C003C00, 4, "%r1, %r1, %r1, %r1", "%r2, %r3, %r4, %r5"},
  };
  for (const auto& form : forms) {
    const std::string ones =
        "mov.b32 %r1, " + std::to_string(form.one) + "; mov.b32 {%h1, _}, %r1; ";
    const std::string add = std::string(".global.add.noftz.") + form.type;
    const std::string in = std::string("[%rd0], {") + form.in + "};";
    std::vector<U32> expected(4, form.one);
    std::fill_n(expected.begin(), form.words, 0x40004000u);
    for (const std::string& code :
         {"atom" + add + " {" + form.out + "}, " + in, "red" + add + " " + in}) {
      EXPECT_EQ(of_words(ones + code, std::vector<U32>(4, form.one)).second, expected) << code;
    }
  }
}

TEST(CudaAtomics, VectorsAddEachElement) {
  Gpu gpu;
  Buffer<float> cell({1, 2, 3, 4});
  Buffer<float> out(4, 0);
  const std::string text = module(R"(
.visible .entry k(.param .u64 cell, .param .u64 out)
{
  .reg .b64 %rd<4>;
  .reg .f32 %f<12>;
  ld.param.u64 %rd0, [cell];
  ld.param.u64 %rd1, [out];
  mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f40000000; mov.f32 %f2, 0f40400000; mov.f32 %f3, 0f40800000;
  atom.global.add.v4.f32 {%f4, %f5, %f6, %f7}, [%rd0], {%f0, %f1, %f2, %f3};
  st.global.v4.f32 [%rd1], {%f4, %f5, %f6, %f7};
  red.global.add.v2.f32 [%rd0+8], {%f0, %f1};
  ret;
}
)");
  ASSERT_EQ(launch(text, "k", Dim(1), Dim(1), {&cell.address, &out.address}), CUDA_SUCCESS);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(cell.read(), (std::vector<float>{2, 4, 7, 10}));
}

TEST(CudaAtomics, BlocksOnHostThreadsLoseNothing) {
  Gpu gpu;
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_THREADS", "4"), 1);
  Buffer<U64> cells(2, 0);
  const std::string text = module(R"(
.visible .entry k(.param .u64 cells)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .pred %p;
  ld.param.u64 %rd0, [cells];
  mov.u32 %r0, 0;
  mov.u64 %rd1, 1;
LOOP:
  red.global.add.u64 [%rd0], %rd1;
  atom.global.inc.u32 %r1, [%rd0+8], 1000000000;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, 20;
  @%p bra LOOP;
  ret;
}
)");
  ASSERT_EQ(launch(text, "k", Dim(200), Dim(64), {&cells.address}), CUDA_SUCCESS)
      << cuda_twin_last_fault();
  EXPECT_EQ(cells.read(), (std::vector<U64>{200 * 64 * 20, 200 * 64 * 20}));
}

TEST(CudaAtomics, WhatIsNoAtomicIsAnError) {
  Gpu gpu;
  for (const char* const code :
       {"atom.global.add.b32 %r0, [%l0], %r1;", "atom.global.mul.u32 %r0, [%l0], %r1;",
        "atom.local.add.u32 %r0, [%l0], %r1;", "atom.global.add.f16 %h0, [%l0], %h1;",
        "atom.global.inc.u64 %l1, [%l0], %l2;", "red.global.exch.b32 [%l0], %r1;",
        "atom.global.cas.b32 %r0, [%l0], %r1;", "red.acquire.gpu.global.add.u32 [%l0], %r1;",
        "atom.shared.add.v2.f32 {%f0,%f1}, [%r0], {%f2,%f3};",
        "atom.global.min.f32 %f0, [%l0], %f1;", "atom.global.exch.b128 %r0, [%l0], %r1;",
        "atom.global.add.noftz.u32 %r0, [%l0], %r1;"}) {
    EXPECT_EQ(compile_error<>(code), CUDA_ERROR_INVALID_PTX) << code;
  }
}

TEST(CudaAtomics, AddressesAreChecked) {
  Gpu gpu;
  Buffer<U32> cell(1, 0);
  const std::string text =
      atomic_kernel("b32", "add.u64 %rd0, %rd0, 2; red.global.add.u32 [%rd0], %a;", "b32");
  Buffer<U32> in(32, 0);
  EXPECT_EQ(launch(text, "k", Dim(1), Dim(32), {&cell.address, &in.address, &in.address}),
            CUDA_ERROR_MISALIGNED_ADDRESS);
}

/// The rule of add.f64: the first NaN, quiet; without one the NaN of an invalid operation.
TEST(CudaAtomics, NansOf64BitsAreThoseOfAdd) {
  Gpu gpu;
  struct Case {
    U64 memory, value, result;
  };
  for (const Case& c : {Case{0x7FF0000000000000u, 0xFFF0000000000000u, 0xFFF8000000000000u},
                        Case{0x7FF0000000001234u, 0x3FF0000000000000u, 0x7FF8000000001234u},
                        Case{0x3FF0000000000000u, 0xFFF0000000000001u, 0xFFF8000000000001u}}) {
    Buffer<U64> memory(1, c.memory);
    Buffer<U64> value(1, c.value);
    const std::string text = module(
        ".visible .entry k(.param .u64 m, .param .u64 v) {\n  .reg .b64 %rd<4>;\n"
        "  ld.param.u64 %rd0, [m];\n  ld.param.u64 %rd1, [v];\n  ld.global.u64 %rd2, [%rd1];\n"
        "  red.global.add.f64 [%rd0], %rd2;\n  ret;\n}\n");
    ASSERT_EQ(launch(text, "k", Dim(1), Dim(1), {&memory.address, &value.address}), CUDA_SUCCESS);
    EXPECT_EQ(memory.read()[0], c.result) << std::hex << memory.read()[0];
  }
}

}  // namespace
}  // namespace atomics_test
