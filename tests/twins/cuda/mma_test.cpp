#include "mma.h"

#include <array>

#include "numbers.h"

namespace mma_test {

using namespace twin_test;

std::uint64_t f32_bits(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
std::uint64_t f64_bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
std::uint64_t s32_bits(double value) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}
template <int kBits>
std::uint64_t low_bits(double value) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) & ((1u << kBits) - 1);
}

using ToBits = std::uint64_t (*)(double);
std::uint64_t f16_word(double value) {
  return f16_bits(value);
}
std::uint64_t bf16_word(double value) {
  return bf16_bits(value);
}

/// Small integers, whose sums are exact in every format: D must be A B + C whatever the order.
struct Exact {
  MmaForm form;
  ToBits a, b, d;
  int a_least, a_most, b_least, b_most;
};

/// -4 to 4: sign, exponent with bias 7 or 15, and the fraction, which only 3 has.
std::uint64_t small_e4m3(double value) {
  constexpr std::uint64_t kBits[] = {0x00, 0x38, 0x40, 0x44, 0x48};
  return kBits[static_cast<int>(std::fabs(value))] | (value < 0 ? 0x80u : 0u);
}
std::uint64_t small_e5m2(double value) {
  constexpr std::uint64_t kBits[] = {0x00, 0x3C, 0x40, 0x42, 0x44};
  return kBits[static_cast<int>(std::fabs(value))] | (value < 0 ? 0x80u : 0u);
}

std::vector<Exact> exact_forms() {
  std::vector<Exact> forms;
  for (const bool is_k16 : {false, true}) {
    const auto form = is_k16 ? mma_f16_k16 : mma_f16_k8;
    forms.push_back({form(".f32.f16.f16.f32"), f16_word, f16_word, f32_bits, -9, 9, -9, 9});
    forms.push_back({form(".f16.f16.f16.f16"), f16_word, f16_word, f16_word, -9, 9, -9, 9});
    forms.back().form.d_bits = 16;
    forms.push_back({form(".f32.bf16.bf16.f32"), bf16_word, bf16_word, f32_bits, -9, 9, -9, 9});
  }
  forms.push_back({mma_tf32_k4(), f32_bits, f32_bits, f32_bits, -99, 99, -99, 99});
  forms.push_back({mma_tf32_k8(), f32_bits, f32_bits, f32_bits, -99, 99, -99, 99});
  for (const auto& [shape, m, k] : {std::tuple(".m8n8k16", 8, 16), std::tuple(".m16n8k16", 16, 16),
                                    std::tuple(".m16n8k32", 16, 32)}) {
    for (const std::string a : {"s8", "u8"}) {
      for (const std::string b : {"s8", "u8"}) {
        forms.push_back({mma_small(shape + (".row.col.s32." + a + "." + b) + ".s32", 8, m, k),
                         low_bits<8>, low_bits<8>, s32_bits, a == "s8" ? -128 : 0,
                         a == "s8" ? 127 : 255, b == "s8" ? -128 : 0, b == "s8" ? 127 : 255});
      }
    }
  }
  for (const auto& [shape, m, k] : {std::tuple(".m8n8k32", 8, 32), std::tuple(".m16n8k32", 16, 32),
                                    std::tuple(".m16n8k64", 16, 64)}) {
    for (const std::string a : {"s4", "u4"}) {
      for (const std::string b : {"s4", "u4"}) {
        forms.push_back({mma_small(shape + (".row.col.s32." + a + "." + b) + ".s32", 4, m, k),
                         low_bits<4>, low_bits<4>, s32_bits, a == "s4" ? -8 : 0, a == "s4" ? 7 : 15,
                         b == "s4" ? -8 : 0, b == "s4" ? 7 : 15});
      }
    }
  }
  for (const std::string a : {"e4m3", "e5m2"}) {
    for (const std::string b : {"e4m3", "e5m2"}) {
      forms.push_back({mma_small(".m16n8k32.row.col.f32." + a + "." + b + ".f32", 8, 16, 32),
                       a == "e4m3" ? small_e4m3 : small_e5m2, b == "e4m3" ? small_e4m3 : small_e5m2,
                       f32_bits, -4, 4, -4, 4});
    }
  }
  for (const auto& [m, k] :
       {std::pair(8, 4), std::pair(16, 4), std::pair(16, 8), std::pair(16, 16)}) {
    forms.push_back({mma_f64(m, k), f64_bits, f64_bits, f64_bits, -999, 999, -999, 999});
  }
  return forms;
}

std::string expect_exact(const Exact& tested, Numbers& numbers) {
  const auto m = static_cast<std::size_t>(tested.form.m),
             k = static_cast<std::size_t>(tested.form.k);
  const std::vector<std::int32_t> a = numbers.integers(m * k, tested.a_least, tested.a_most);
  const std::vector<std::int32_t> b = numbers.integers(k * 8, tested.b_least, tested.b_most);
  const std::vector<std::int32_t> c = numbers.integers(m * 8, -99, 99);
  Bits words[3];
  for (const std::int32_t value : a) words[0].push_back(tested.a(value));
  for (const std::int32_t value : b) words[1].push_back(tested.b(value));
  for (const std::int32_t value : c) words[2].push_back(tested.d(value));
  const Bits d = multiply(tested.form, words[0], words[1], words[2]);
  for (std::size_t i = 0; i < d.size(); ++i) {
    std::int32_t sum = c[i];
    for (std::size_t l = 0; l < k; ++l) sum += a[i / 8 * k + l] * b[l * 8 + i % 8];
    if (d[i] != tested.d(sum)) return tested.form.name + " element " + std::to_string(i);
  }
  return "";
}

class MmaSums : public ::testing::TestWithParam<const char*> {
 protected:
  MmaSums() { EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MMA_SUM", GetParam()), 1); }
  bool is(const char* sum) const { return std::string(GetParam()) == sum; }
  Gpu gpu_;
};
INSTANTIATE_TEST_SUITE_P(Settings, MmaSums, ::testing::Values("single", "double", "truncated"));

TEST_P(MmaSums, ExactSumsInAllForms) {
  Numbers numbers(1);
  for (const Exact& tested : exact_forms()) EXPECT_EQ(expect_exact(tested, numbers), "");
}

/// D[0][0] for the first elements of A's first row and of B's first column.
std::uint64_t first_result(const MmaForm& form, const Bits& a, const Bits& b, std::uint64_t c) {
  const auto m = static_cast<std::size_t>(form.m), k = static_cast<std::size_t>(form.k);
  Bits full_a(m * k), full_b(k * 8), full_c(m * 8);
  for (std::size_t i = 0; i < a.size(); ++i) full_a[i] = a[i];
  for (std::size_t i = 0; i < b.size(); ++i) full_b[i * 8] = b[i];
  full_c[0] = c;
  return multiply(form, full_a, full_b, full_c)[0];
}
double first_float(const std::vector<double>& a, const std::vector<double>& b, double c) {
  Bits words[2];
  for (const double value : a) words[0].push_back(f16_bits(value));
  for (const double value : b) words[1].push_back(f16_bits(value));
  const MmaForm form = mma_f16_k16(".f32.f16.f16.f32");
  const std::uint64_t d = first_result(form, words[0], words[1], f32_bits(c));
  return std::bit_cast<float>(static_cast<std::uint32_t>(d));
}

TEST_P(MmaSums, HalvesOfTheLastPlaceAreLostInSingle) {
  const std::vector<double> small(4, 0x1p-12);
  // 1 + 2^-24 is 1 in single. Two of them are a unit of the last place for the others.
  const double expected = is("single") ? 1 : 1 + 0x1p-22;
  EXPECT_EQ(first_float(small, small, 1), expected);
}

TEST_P(MmaSums, TruncatedKeepsTwoBitsBelowTheLast) {
  // 2^-25 is kept, and four of them count; 2^-26 is not.
  const std::vector<double> kept(4, 0x1p-12), half(4, 0x1p-13), quarter(4, 0x1p-14);
  EXPECT_EQ(first_float(kept, half, 1), is("single") ? 1 : 1 + 0x1p-23);
  const std::vector<double> eight(8, 0x1p-12), below(8, 0x1p-14);
  EXPECT_EQ(first_float(eight, below, 1), is("double") ? 1 + 0x1p-23 : 1);
}

TEST_P(MmaSums, TruncatedCutsTowardsZero) {
  // 1 + 0.75 units of the last place.
  const double nearest = 1 + 0x1p-23;
  EXPECT_EQ(first_float({0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-13}, 1), is("double") ? nearest : 1);
  EXPECT_EQ(first_float({0x1p-12, 0x1p-12}, {-0x1p-12, -0x1p-13}, -1),
            is("double") ? -nearest : -1);
}

TEST_P(MmaSums, LargeAddendsOfOppositeSigns) {
  // In order of k, single loses 2^-12 beside 2^20; the unit of truncated is 2^-5.
  EXPECT_EQ(first_float({0x1p10, 0x1p-6, 0x1p10}, {0x1p10, 0x1p-6, -0x1p10}, 0),
            is("double") ? 0x1p-12 : 0);
}

TEST_P(MmaSums, SubnormalHalvesCount) {
  const MmaForm form = mma_f16_k8(".f32.f16.f16.f32");
  const std::uint64_t d = first_result(form, {0x0001, 0x8003}, {0x3C00, 0x0001}, 0);
  EXPECT_EQ(d, f32_bits(0x1p-24 - 3 * 0x1p-48));
}

TEST_P(MmaSums, InfinityAndNan) {
  constexpr std::uint64_t kInfinity = 0x7C00, kOne = 0x3C00, kNan = 0x7FFFFFFF;
  const MmaForm form = mma_f16_k8(".f32.f16.f16.f32");
  EXPECT_EQ(first_result(form, {kInfinity}, {kOne}, f32_bits(1)), 0x7F800000u);
  EXPECT_EQ(first_result(form, {kInfinity, kInfinity}, {kOne, kOne | 0x8000}, 0), kNan);
  EXPECT_EQ(first_result(form, {0x7E01}, {kOne}, 0), kNan);
  EXPECT_EQ(first_result(form, {kOne}, {kOne}, 0xFF812345), kNan);
  MmaForm narrow = mma_f16_k8(".f16.f16.f16.f16");
  narrow.d_bits = 16;
  EXPECT_EQ(first_result(narrow, {0x7E01}, {kOne}, 0), 0x7FFFu);
  EXPECT_EQ(first_result(narrow, {0x7BFF}, {kOne}, 0x7BFF), kInfinity);
}

TEST_P(MmaSums, HalfResultsAreRoundedOnce) {
  MmaForm form = mma_f16_k8(".f16.f16.f16.f16");
  form.d_bits = 16;
  // 1 + 2^-11 + 2^-13 is above the tie; each addend alone would be rounded away.
  const std::uint64_t d = first_result(form, {0x3C00, 0x3C00}, {0x1000, 0x0800}, 0x3C00);
  EXPECT_EQ(d, 0x3C01u);
}

TEST_P(MmaSums, Tf32IgnoresItsLowBits) {
  const std::uint64_t image = 0x3F800000 | 0x1FFF;
  EXPECT_EQ(first_result(mma_tf32_k8(), {image}, {image}, 0), f32_bits(1));
  EXPECT_EQ(first_result(mma_tf32_k8(), {0x3F802000}, {image}, 0), f32_bits(1 + 0x1p-10));
}

TEST_P(MmaSums, Bytes) {
  const std::string types = ".s32.u8.u8.s32";
  const Bits most(32, 255);
  const MmaForm wrapping = mma_small(".m16n8k32.row.col" + types, 8, 16, 32);
  const MmaForm saturating = mma_small(".m16n8k32.row.col.satfinite" + types, 8, 16, 32);
  constexpr std::uint32_t kSum = 32 * 255 * 255;
  EXPECT_EQ(first_result(wrapping, most, most, 0x7FFFFFFF), (0x7FFFFFFFu + kSum));
  EXPECT_EQ(first_result(saturating, most, most, 0x7FFFFFFF), 0x7FFFFFFFu);
  EXPECT_EQ(first_result(saturating, most, most, 0x80000000), 0x80000000u + kSum);
  const MmaForm negative = mma_small(".m16n8k16.row.col.satfinite.s32.s8.u8.s32", 8, 16, 16);
  EXPECT_EQ(first_result(negative, {0x80}, {1}, 0x80000005), 0x80000000u);
}

class Mma : public ::testing::Test {
 protected:
  Gpu gpu_;
};

/// C near both limits, so that sums of either sign pass them.
TEST_F(Mma, SmallIntegersSaturateInAllForms) {
  Numbers numbers(4);
  for (Exact tested : exact_forms()) {
    if (tested.form.name.find(".s32.") == std::string::npos) continue;
    tested.form.name.insert(tested.form.name.find(".s32."), ".satfinite");
    const auto m = static_cast<std::size_t>(tested.form.m),
               k = static_cast<std::size_t>(tested.form.k);
    const auto a = numbers.integers(m * k, tested.a_least, tested.a_most);
    const auto b = numbers.integers(k * 8, tested.b_least, tested.b_most);
    Bits words[3];
    for (const std::int32_t value : a) words[0].push_back(tested.a(value));
    for (const std::int32_t value : b) words[1].push_back(tested.b(value));
    for (std::size_t i = 0; i < m * 8; ++i) {
      words[2].push_back(i % 3 == 0 ? 0x7FFFFFF0 : i % 3 == 1 ? 0x8000000F : i);
    }
    const Bits d = multiply(tested.form, words[0], words[1], words[2]);
    for (std::size_t i = 0; i < d.size(); ++i) {
      std::int64_t sum = static_cast<std::int32_t>(words[2][i]);
      for (std::size_t l = 0; l < k; ++l) sum += a[i / 8 * k + l] * b[l * 8 + i % 8];
      const auto limited = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
      ASSERT_EQ(d[i], static_cast<std::uint32_t>(limited)) << tested.form.name << " " << i;
    }
  }
}

TEST_P(MmaSums, SingleBits) {
  for (const auto& [shape, m, k] :
       {std::tuple(".m8n8k128", 8, 128), std::tuple(".m16n8k128", 16, 128),
        std::tuple(".m16n8k256", 16, 256)}) {
    for (const bool conjunction : {false, true}) {
      MmaForm form = mma_small(std::string(shape) + ".row.col.s32.b1.b1.s32", 1, m, k);
      form.suffix = conjunction ? ".and.popc" : ".xor.popc";
      Numbers numbers(9);
      Bits a, b, c;
      for (int i = 0; i < m * k; ++i) a.push_back(numbers.bits() & 1);
      for (int i = 0; i < 8 * k; ++i) b.push_back(numbers.bits() & 1);
      for (int i = 0; i < 8 * m; ++i) c.push_back(static_cast<std::uint64_t>(i));
      const Bits d = multiply(form, a, b, c);
      for (std::size_t i = 0; i < d.size(); ++i) {
        std::uint64_t sum = i;
        for (std::size_t l = 0; l < static_cast<std::size_t>(k); ++l) {
          const std::uint64_t x = a[i / 8 * static_cast<std::size_t>(k) + l], y = b[l * 8 + i % 8];
          sum += conjunction ? x & y : x ^ y;
        }
        ASSERT_EQ(d[i], sum) << form.name << form.suffix << " " << i;
      }
    }
  }
}

TEST_P(MmaSums, BytesOfFloats) {
  // 1.5 in e4m3 is 0x3C, in e5m2 0x3E; -448 is 0xFE; the smallest subnormals are 2^-9 and 2^-16.
  const MmaForm mixed = mma_small(".m16n8k32.row.col.f32.e4m3.e5m2.f32", 8, 16, 32);
  EXPECT_EQ(first_result(mixed, {0x3C}, {0x3E}, f32_bits(1)), f32_bits(3.25));
  EXPECT_EQ(first_result(mixed, {0xFE}, {0x01}, 0), f32_bits(-448 * 0x1p-16));
  const MmaForm same = mma_small(".m16n8k32.row.col.f32.e4m3.e4m3.f32", 8, 16, 32);
  EXPECT_EQ(first_result(same, {0x01, 0x38}, {0x38, 0x38}, 0), f32_bits(1 + 0x1p-9));
  EXPECT_EQ(first_result(same, {0x7F}, {0x38}, 0), 0x7FFFFFFFu);
}

TEST_F(Mma, DoublesAreFusedInOrder) {
  // Products and sums of one rounding: (1 + 2^-30)^2 - (1 + 2^-29) is 2^-60.
  const double x = 1 + 0x1p-30;
  const std::uint64_t d =
      first_result(mma_f64(8, 4), {f64_bits(x)}, {f64_bits(x)}, f64_bits(-(1 + 0x1p-29)));
  EXPECT_EQ(d, f64_bits(0x1p-60));
}

/// D's registers are those of C in another order.
TEST_F(Mma, ResultsMayOverwriteTheirOwnAddends) {
  const std::string code =
      "  mov.b32 %r0, 0;  mov.b32 %r1, 1;  mov.b32 %r2, 2;  mov.b32 %r3, 3;\n"
      "  mov.b32 %r4, 0;\n"
      "  mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r3, %r2, %r1, %r0}, {%r4, %r4}, {%r4},"
      " {%r0, %r1, %r2, %r3};\n"
      "  mad.lo.u32 %r3, %r3, 1000, %r2;  mad.lo.u32 %r1, %r1, 100, %r0;\n"
      "  mad.lo.u32 %d, %r3, 100000, %r1;\n";
  // r3 = 0, r2 = 1, r1 = 2, r0 = 3.
  EXPECT_EQ(lanes<std::uint32_t>(code)[0], 100203u);
}

struct Refused {
  const char* text;
  const char* version;
  const char* target;
  const char* reason;
};
TEST_F(Mma, FormsThatDoNotExistAreRefusedWhenTheModuleIsLoaded) {
  const std::string operands4 =
      " {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};";
  const Refused refused[] = {
      {".sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", "8.5", "sm_90", "multiplicands"},
      {".sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "8.5", "sm_90", "shape"},
      {".sync.aligned.m16n8k16.row.col.f16.f16.f16.f32", "8.5", "sm_90", "results"},
      {".sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", "8.5", "sm_90", "results"},
      {".sync.aligned.m16n8k16.col.row.f32.f16.f16.f32", "8.5", "sm_90", ".row.col"},
      {".sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32", "8.5", "sm_90", "satfinite"},
      {".sync.m16n8k16.row.col.f32.f16.f16.f32", "8.5", "sm_90", ".sync.aligned"},
      {".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.rn", "8.5", "sm_90", "rn"},
      {".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "6.5", "sm_75", "7.0"},
      {".sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "7.0", "sm_75", "sm_80"},
      {".sync.aligned.m16n8k16.row.col.f32.f16.f16", "8.5", "sm_90", "results"},
      {"", "8.5", "sm_90", ".sync.aligned"},
  };
  for (const Refused& row : refused) {
    CUmodule loaded = nullptr;
    std::string log;
    const std::string text =
        frame<std::uint32_t>(std::string("mma") + row.text + operands4, row.version, row.target);
    EXPECT_EQ(load(text, &loaded, &log), CUDA_ERROR_INVALID_PTX) << row.text;
    EXPECT_NE(log.find(row.reason), std::string::npos) << row.text << ": " << log;
  }
  const std::string name = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  for (const char* operands :
       {"{%f0,%f1,%f2}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "{%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%l3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "{%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5};"}) {
    EXPECT_EQ(compile_error(name + operands), CUDA_ERROR_INVALID_PTX) << operands;
  }
}

TEST_F(Mma, NeedsAllLanesOfTheWarp) {
  const std::string code =
      "  .reg .pred %few;\n  setp.lt.u32 %few, %a, 20;\n  @!%few bra done;\n"
      "  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2},"
      " {%f0,%f1,%f2,%f3};\ndone:\n  mov.b32 %d, 5;\n";
  std::vector<std::uint32_t> index(32);
  for (std::uint32_t i = 0; i < 32; ++i) index[i] = i;
  const Buffer<std::uint32_t> in(index), out(32, 0);
  CUdeviceptr at[] = {in.address, out.address};
  const std::string text = frame<std::uint32_t, std::uint32_t>(code);
  EXPECT_EQ(launch(text, "lanes", Dim(1), Dim(32), {&at[0], &at[1]}), CUDA_ERROR_LAUNCH_FAILED);
  const char* check = nullptr;
  const char* reason = nullptr;
  ASSERT_EQ(cuda_twin_finding(0, &check, &reason), 1);
  EXPECT_NE(std::string(reason).find("mma"), std::string::npos) << reason;
}

}  // namespace mma_test
