// DLFLOAT16: the result of each conversion, for all patterns and at the borders.
#include <cfenv>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinDlfloat : public TwinTest {};

struct Bits {
  std::uint32_t pattern;
  zdnn_status status;
};

std::uint16_t dlf_of_fp32(std::uint32_t pattern, zdnn_status expected = ZDNN_OK) {
  Tensor t(ZDNN_1D, FP32, {1});
  EXPECT_EQ(zdnn_transform_ztensor(t, &pattern), expected) << std::hex << pattern;
  return t.cell(0);
}

std::uint16_t dlf_of_half(zdnn_data_types type, std::uint16_t pattern,
                          zdnn_status expected = ZDNN_OK) {
  Tensor t(ZDNN_1D, type, {1});
  EXPECT_EQ(zdnn_transform_ztensor(t, &pattern), expected) << std::hex << pattern;
  return t.cell(0);
}

Bits host_of(zdnn_data_types type, std::uint16_t dlf) {
  Tensor t(ZDNN_1D, type, {1});
  t.set_cell(0, dlf);
  t.tensor.is_transformed = true;
  Bits bits{};
  if (type == FP32) {
    bits.status = zdnn_transform_origtensor(t, &bits.pattern);
  } else {
    std::uint16_t half = 0;
    bits.status = zdnn_transform_origtensor(t, &half);
    bits.pattern = half;
  }
  return bits;
}

TEST_F(ZdnnTwinDlfloat, Fp32ConvertsToKnownPatterns) {
  const struct {
    std::uint32_t in;
    std::uint16_t dlf;
  } cases[] = {
      {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x3F800000, 0x3E00}, {0x3DCCCCCD, 0x3733},
      {0x3EAAAAAB, 0x3AAB}, {0x40490FDB, 0x4124}, {0x3F802000, 0x3E01}, {0x3F806000, 0x3E02},
      {0x3F801FFF, 0x3E00}, {0x3F7FE000, 0x3E00}, {0x477FE000, 0x5E00}, {0x47800000, 0x5E00},
      {0x4F800000, 0x7E00}, {0x4FFF8000, 0x7FFE}, {0x4FFF9FFF, 0x7FFE}, {0x4FFFA000, 0x7FFF},
      {0x7F7FFFFF, 0x7FFF}, {0x4FFFC000, 0x7FFF}, {0xCFFFA000, 0xFFFF}, {0x00000FF0, 0x0000},
      {0x80000FF0, 0x8000}, {0x30000000, 0x0000}, {0x30001FFF, 0x0000}, {0x30002000, 0x0001},
      {0xB0002000, 0x8001}};
  for (const auto& c : cases) EXPECT_EQ(dlf_of_fp32(c.in), c.dlf) << std::hex << c.in;
  const struct {
    float in;
    std::uint16_t dlf;
  } numbers[] = {{0.5f, 0x3C00},       {2, 0x4000},          {3, 0x4100},
                 {10, 0x4480},         {100, 0x4B20},        {1234.5f, 0x5269},
                 {50000, 0x5D0D},      {1.7320508f, 0x3F77}, {5.4772256f, 0x42BD},
                 {2.4494897f, 0x4073}, {0.57735027f, 0x3C4F}};
  for (const auto& c : numbers) EXPECT_EQ(dlf_of_fp32(pattern_of(c.in)), c.dlf) << c.in;
}

TEST_F(ZdnnTwinDlfloat, InfinityAndNaNFailAndWriteNinf) {
  EXPECT_EQ(dlf_of_fp32(0x7F800000, ZDNN_CONVERT_FAILURE), 0x7FFF);
  EXPECT_EQ(dlf_of_fp32(0xFF800000, ZDNN_CONVERT_FAILURE), 0xFFFF);
  EXPECT_EQ(dlf_of_fp32(0x7FFFFFFF, ZDNN_CONVERT_FAILURE), 0x7FFF);
  EXPECT_EQ(dlf_of_fp32(0x7F800001, ZDNN_CONVERT_FAILURE), 0x7FFF);
  dlf_of_half(FP16, 0x7C00, ZDNN_CONVERT_FAILURE);
  dlf_of_half(FP16, 0x7C01, ZDNN_CONVERT_FAILURE);
  dlf_of_half(BFLOAT, 0x7F80, ZDNN_CONVERT_FAILURE);
  dlf_of_half(BFLOAT, 0xFFC0, ZDNN_CONVERT_FAILURE);
}

TEST_F(ZdnnTwinDlfloat, EveryPatternRoundTripsThroughFp32) {
  // One tensor of all 65536 patterns: dim2 = 1024 rows of one stick.
  Tensor t(ZDNN_2D, FP32, {1024, 64});
  for (std::uint32_t i = 0; i < 65536; ++i) t.set_cell(2 * i, static_cast<std::uint16_t>(i));
  t.tensor.is_transformed = true;
  std::vector<float> out(65536);
  EXPECT_EQ(zdnn_transform_origtensor(t, out.data()), ZDNN_ELEMENT_RANGE_VIOLATION);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const double expected = value_of(static_cast<std::uint16_t>(i));
    if (std::isnan(expected)) {
      EXPECT_EQ(pattern_of(out[i]), 0x7FC00000u);
      out[i] = 0;
    } else {
      EXPECT_EQ(static_cast<double>(out[i]), expected) << std::hex << i;
      EXPECT_EQ(std::signbit(out[i]), (i & 0x8000) != 0) << std::hex << i;
    }
  }
  Tensor back(ZDNN_2D, {1024, 64}, out);
  for (std::uint32_t i = 0; i < 65536; ++i)
    EXPECT_EQ(back.cell(2 * i), (i & 0x7FFF) == kNinf ? 0 : i);
}

TEST_F(ZdnnTwinDlfloat, TiesGoAwayFromZeroBetweenAllNeighbours) {
  std::vector<float> ties, below;
  for (int i = 1; i < 0x7FFE; ++i) {
    const double half =
        (value_of(static_cast<std::uint16_t>(i)) + value_of(static_cast<std::uint16_t>(i + 1))) / 2;
    ties.push_back(static_cast<float>(half));
    below.push_back(std::nextafter(ties.back(), 0.0f));
  }
  const auto count = static_cast<std::uint32_t>(ties.size());
  Tensor upper(ZDNN_2D, {count, 1}, ties);
  Tensor lower(ZDNN_2D, {count, 1}, below);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(upper.cell(128 * i), i + 2);
    EXPECT_EQ(lower.cell(128 * i), i + 1);
  }
}

TEST_F(ZdnnTwinDlfloat, EveryFp16NumberRoundsToNearest) {
  std::vector<std::uint16_t> numbers;
  std::vector<double> values;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const int exponent = (i >> 10) & 31;
    if (exponent == 31) continue;
    const double fraction = (i & 0x3FF) / 1024.0;
    const double size =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    numbers.push_back(static_cast<std::uint16_t>(i));
    values.push_back((i & 0x8000) != 0 ? -size : size);
  }
  const auto count = static_cast<std::uint32_t>(numbers.size());
  Tensor t(ZDNN_2D, FP16, {count, 1});
  ASSERT_EQ(zdnn_transform_ztensor(t, numbers.data()), ZDNN_OK);
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_EQ(t.cell(128 * i), values[i] == 0 ? (numbers[i] & 0x8000) : nearest(values[i]))
        << std::hex << numbers[i];
  EXPECT_EQ(dlf_of_half(FP16, 0x3C01), 0x3E01);
  EXPECT_EQ(dlf_of_half(FP16, 0x3C03), 0x3E02);
  EXPECT_EQ(dlf_of_half(FP16, 0x7BFF), 0x5E00);
  EXPECT_EQ(dlf_of_half(FP16, 0x0001), 0x0E00);
  EXPECT_EQ(dlf_of_half(FP16, 0x0003), 0x1100);
  EXPECT_EQ(dlf_of_half(FP16, 0x03FF), 0x21FF);
  EXPECT_EQ(dlf_of_half(FP16, 0x0400), 0x2200);
}

TEST_F(ZdnnTwinDlfloat, EveryFiniteBfloatNumberRoundsToNearest) {
  std::vector<std::uint16_t> numbers;
  for (std::uint32_t i = 0; i < 65536; ++i)
    if ((i & 0x7F80) != 0x7F80) numbers.push_back(static_cast<std::uint16_t>(i));
  const auto count = static_cast<std::uint32_t>(numbers.size());
  Tensor t(ZDNN_2D, BFLOAT, {count, 1});
  ASSERT_EQ(zdnn_transform_ztensor(t, numbers.data()), ZDNN_OK);
  for (std::uint32_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(std::bit_cast<float>(std::uint32_t{numbers[i]} << 16));
    const double smallest = std::ldexp(1 + std::ldexp(1, -10), -31);
    EXPECT_EQ(t.cell(128 * i), std::fabs(x) < smallest ? (numbers[i] & 0x8000) : nearest(x))
        << std::hex << numbers[i];
  }
}

TEST_F(ZdnnTwinDlfloat, ConversionToBfloatTruncates) {
  EXPECT_EQ(host_of(BFLOAT, 0x3E03).pattern, 0x3F80u);
  for (std::uint32_t i = 0; i < kNinf; i += 7) {
    const Bits bits = host_of(BFLOAT, static_cast<std::uint16_t>(i));
    const double back = static_cast<double>(std::bit_cast<float>(bits.pattern << 16));
    const double exact = value_of(static_cast<std::uint16_t>(i));
    EXPECT_LE(back, exact);
    EXPECT_LT(exact - back, std::max(exact, 1e-30) / 128);
  }
  EXPECT_EQ(host_of(BFLOAT, kNinf).status, ZDNN_CONVERT_FAILURE);
}

TEST_F(ZdnnTwinDlfloat, ConvertsToKnownFp16Patterns) {
  EXPECT_EQ(host_of(FP16, 0x3E01).pattern, 0x3C02u);
  EXPECT_EQ(host_of(FP16, 0x5DFF).pattern, 0x7BFEu);
  EXPECT_EQ(host_of(FP16, 0x2200).pattern, 0x0400u);
  EXPECT_EQ(host_of(FP16, 0x21FF).pattern, 0x03FFu);  // 1023 units of 2^-24, exact
  EXPECT_EQ(host_of(FP16, 0x0E00).pattern, 0x0001u);
  EXPECT_EQ(host_of(FP16, 0x0001).pattern, 0x0000u);
  EXPECT_EQ(host_of(FP16, 0x0001).status, ZDNN_OK);
  EXPECT_EQ(host_of(FP16, 0x8001).pattern, 0x8000u);
  EXPECT_EQ(host_of(FP16, 0x5DFF).status, ZDNN_OK);
  EXPECT_EQ(host_of(FP16, 0x5E00).status, ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(host_of(FP16, 0x7E00).status, ZDNN_CONVERT_FAILURE);
  EXPECT_EQ(host_of(FP16, 0xFFFF).status, ZDNN_CONVERT_FAILURE);
}

TEST_F(ZdnnTwinDlfloat, IgnoresTheRoundingModeOfTheThread) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const std::uint16_t tie = dlf_of_fp32(0x3F802000);
    Tensor x(ZDNN_1D, {1}, {0.1f});
    Tensor y(ZDNN_1D, {1});
    EXPECT_EQ(zdnn_exp(x, y), ZDNN_OK);
    EXPECT_EQ(std::fegetround(), mode);  // and it is left as it is
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(tie, 0x3E01);
    EXPECT_EQ(y.cell(0), nearest(std::exp(value_of(0x3733))));
  }
}

TEST_F(ZdnnTwinDlfloat, ReportsTheLimitsOfEachType) {
  float f = 0;
  std::uint16_t half = 0;
  std::int8_t byte = 0;
  std::int32_t word = 0;
  EXPECT_EQ(zdnn_get_max_limit(ZDNN_DLFLOAT16, FP32, &f), ZDNN_OK);
  EXPECT_EQ(f, 8573157376.0f);
  EXPECT_EQ(zdnn_get_min_limit(ZDNN_DLFLOAT16, FP32, &f), ZDNN_OK);
  EXPECT_EQ(f, -8573157376.0f);
  EXPECT_EQ(zdnn_get_max_limit(ZDNN_DLFLOAT16, BFLOAT, &half), ZDNN_OK);
  EXPECT_EQ(half, 0x4FFF);
  EXPECT_EQ(zdnn_get_min_limit(ZDNN_DLFLOAT16, FP16, &half), ZDNN_OK);
  EXPECT_EQ(half, 0xFBFF);
  EXPECT_EQ(zdnn_get_max_limit(ZDNN_BINARY_INT8, INT8, &byte), ZDNN_OK);
  EXPECT_EQ(byte, 127);
  EXPECT_EQ(zdnn_get_min_limit(ZDNN_BINARY_INT8, INT8, &byte), ZDNN_OK);
  EXPECT_EQ(byte, -128);
  EXPECT_EQ(zdnn_get_min_limit(ZDNN_BINARY_INT8, FP32, &f), ZDNN_OK);
  EXPECT_EQ(f, -128.0f);
  EXPECT_EQ(zdnn_get_max_limit(ZDNN_BINARY_INT8, FP16, &half), ZDNN_OK);
  EXPECT_EQ(half, 0x57F0);
  EXPECT_EQ(zdnn_get_min_limit(ZDNN_BINARY_INT32, INT32, &word), ZDNN_OK);
  EXPECT_EQ(word, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(zdnn_get_max_limit(ZDNN_BINARY_INT32, FP32, &f), ZDNN_INVALID_TYPE);
  EXPECT_EQ(zdnn_get_max_limit(FP32, FP32, &f), ZDNN_INVALID_TYPE);
}

}  // namespace
