// 8-bit numbers: how they are made, and their matrix multiplication against the vendor's worked
// example and the definition in real numbers.
#include <algorithm>

#include "support.h"

namespace {

using namespace zdnn_test;

class ZdnnTwinQuantized : public TwinTest {};

std::int8_t byte_of(const Tensor& t, std::uint64_t at) {
  return static_cast<const std::int8_t*>(t.tensor.buffer)[at];
}

TEST_F(ZdnnTwinQuantized, NumbersAreScaledRoundedAndClipped) {
  // Scale 0.5, offset 3: q = 2 x + 3, halves away from zero.
  const std::vector<float> x = {0, 1, -1, 0.25f, -1.75f, 100, -100, 0.74f};
  const std::vector<int> expected = {3, 5, 1, 4, -1, 60, -50, 4};
  Tensor t = Tensor::quantized(ZDNN_1D, FP32, {8}, QUANTIZED_INT8, 0.5f, 3);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(t, false, -50, 60, x.data()), ZDNN_OK);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(byte_of(t, i), expected[i]) << x[i];
  EXPECT_EQ(zdnn_transform_quantized_ztensor(t, false, -50, 60, x.data()), ZDNN_INVALID_STATE);
  // BFLOAT by software, on a z16, too.
  set("ZDNN_TWIN_PROFILE", "z16");
  const std::uint16_t brain[] = {0x3F80, 0xBF80};  // 1, -1
  Tensor b = Tensor::quantized(ZDNN_1D, BFLOAT, {2}, QUANTIZED_INT8, 0.5f, 3);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(b, false, -128, 127, brain), ZDNN_OK);
  EXPECT_EQ(byte_of(b, 0), 5);
  EXPECT_EQ(byte_of(b, 1), 1);
  Tensor f = Tensor::quantized(ZDNN_1D, FP32, {8}, QUANTIZED_INT8, 0.5f, 3);
  EXPECT_EQ(zdnn_transform_quantized_ztensor(f, false, -128, 127, x.data()),
            ZDNN_UNAVAILABLE_FUNCTION);
  EXPECT_FALSE(f.tensor.is_transformed);
}

TEST_F(ZdnnTwinQuantized, DlfloatTensorsKeepTheirScale) {
  const float x[] = {1, 1e10f};
  Tensor t = Tensor::quantized(ZDNN_1D, FP32, {2}, QUANTIZED_DLFLOAT16, 4, 3);
  EXPECT_EQ(zdnn_transform_quantized_ztensor(t, true, 0, 0, x), ZDNN_OK);
  EXPECT_EQ(t.cell(0), 0x3E00);
  EXPECT_EQ(t.cell(2), 0x7FFE);
  EXPECT_EQ(t.tensor.rec_scale, 0.25f);
  zdnn_reset_ztensor(t);
  EXPECT_EQ(zdnn_transform_quantized_ztensor(t, false, 0, 0, x), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_TRUE(t.tensor.is_transformed);
  EXPECT_EQ(t.cell(2), kNinf);
  const std::uint16_t nan = 0x7FFF;
  Tensor half = Tensor::quantized(ZDNN_1D, FP16, {1}, QUANTIZED_DLFLOAT16, 4, 3);
  EXPECT_EQ(zdnn_transform_quantized_ztensor(half, false, 0, 0, &nan), ZDNN_CONVERT_FAILURE);
  EXPECT_FALSE(half.tensor.is_transformed);
}

TEST_F(ZdnnTwinQuantized, RejectsInvalidTransforms) {
  const float x[] = {1, 2};
  Tensor t = Tensor::quantized(ZDNN_1D, FP32, {2}, QUANTIZED_INT8, 1, 0);
  const auto status = [&](std::int8_t low = -128, std::int8_t high = 127) {
    return zdnn_transform_quantized_ztensor(t, false, low, high, x);
  };
  EXPECT_EQ(status(5, 5), ZDNN_INVALID_CLIPPING_VALUE);
  EXPECT_EQ(status(6, 5), ZDNN_INVALID_CLIPPING_VALUE);
  t.tensor.rec_scale = 0;
  EXPECT_EQ(status(), ZDNN_FUNC_RC_F001);
  t.tensor.rec_scale = NAN;
  EXPECT_EQ(status(), ZDNN_FUNC_RC_F001);
  t.tensor.rec_scale = 1;
  t.tensor.offset = 1e10f;
  EXPECT_EQ(status(), ZDNN_FUNC_RC_F001);
  t.tensor.offset = 0;
  t.desc.format = ZDNN_FORMAT_4DWEIGHTS;  // weights are bytes already
  EXPECT_EQ(status(), ZDNN_INVALID_TYPE);
  t.desc.format = ZDNN_FORMAT_4DFEATURE;
  t.pre.type = INT32;
  EXPECT_EQ(status(), ZDNN_INVALID_TYPE);
  t.pre.type = FP32;
  t.pre.layout = ZDNN_NCHW;
  EXPECT_EQ(status(), ZDNN_INVALID_LAYOUT);
  t.tensor.is_transformed = true;
  EXPECT_EQ(status(), ZDNN_INVALID_STATE);  // before the layout
  t.tensor.buffer_size = 0;
  EXPECT_EQ(status(), ZDNN_INVALID_BUFFER);  // before the state
  t.tensor.buffer_size = 4096;
  t.tensor.is_transformed = false;
  t.pre.layout = ZDNN_1D;
  EXPECT_EQ(zdnn_transform_quantized_ztensor(t, false, 0, 1, nullptr), ZDNN_INVALID_BUFFER);
  const float nan[] = {1, NAN};
  EXPECT_EQ(zdnn_transform_quantized_ztensor(t, false, -5, 5, nan), ZDNN_ELEMENT_RANGE_VIOLATION);
  EXPECT_EQ(byte_of(t, 1), -5);
}

// The vendor's example, recomputed in real numbers.
struct Example {
  static constexpr float kSa = .70588235294f, kZa = 14, kSb = .11764705882f, kZb = 42;
  static constexpr float kSc = 3.92156862745f, kZc = 0, kSy = 23.5294117647f;
  std::vector<std::int8_t> qa = {12, 55, 26, 11, -20, 37, -16, 100};
  std::vector<std::int8_t> qb = {118, -30, 74, 7, 17, 108, -110, -106, -123, 84, 70, 94};
  std::vector<std::int8_t> qc = {122, 76, -10};
  Tensor a = Tensor::quantized(ZDNN_2D, INT8, {2, 4}, QUANTIZED_INT8, kSa, kZa);
  Tensor b, c;
  Tensor out = Tensor::quantized(ZDNN_2D, FP32, {2, 3}, QUANTIZED_DLFLOAT16, kSy, 0);

  explicit Example(float zb = kZb, float sb = kSb)
      : b(Tensor::quantized(ZDNN_2D, INT8, {4, 3}, QUANTIZED_WEIGHTS_INT8, sb, zb)),
        c(Tensor::quantized(ZDNN_1D, INT8, {3}, QUANTIZED_INT8, kSc, kZc)) {
    EXPECT_EQ(zdnn_transform_quantized_ztensor(a, false, -128, 127, qa.data()), ZDNN_OK);
    EXPECT_EQ(zdnn_transform_quantized_ztensor(b, false, -128, 127, qb.data()), ZDNN_OK);
    EXPECT_EQ(zdnn_transform_quantized_ztensor(c, false, -128, 127, qc.data()), ZDNN_OK);
  }
  zdnn_status run(bool disable_clipping, bool dequantize, zdnn_matmul_ops op = MATMUL_OP_ADDITION,
                  void* work_area = nullptr) {
    return zdnn_quantized_matmul_op(a, b, c, op, -128, 127, disable_clipping, dequantize, false,
                                    work_area, out);
  }
  // sum (qa - Za)(qb - Zb) in units of Sa Sb.
  double dot(std::size_t i, std::size_t j, double zb) const {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += (qa[i * 4 + k] - 14.0) * (qb[k * 3 + j] - zb);
    return sum;
  }
};

TEST_F(ZdnnTwinQuantized, MatmulMatchesTheWorkedExample) {
  Example x;
  ASSERT_EQ(x.run(true, false), ZDNN_OK);
  const double expected[] = {7.8498, 2.9925, 0.1192, 37.2145, 43.4467, 33.1051};
  const auto got = x.out.get(6);
  for (std::size_t i = 0; i < 6; ++i)  // two values near 57 and 55 have been rounded on the way
    EXPECT_NEAR(static_cast<double>(got[i]), expected[i], 0.15) << i;
  ASSERT_EQ(x.run(false, false), ZDNN_OK);
  EXPECT_EQ(x.out.get(6), (std::vector<float>{8, 3, 0, 37, 43, 33}));
  ASSERT_EQ(x.run(false, true), ZDNN_OK);
  const auto real = x.out.get(6);
  const double steps[] = {8, 3, 0, 37, 43, 33};
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(static_cast<double>(real[i]), steps[i] * static_cast<double>(Example::kSy),
                std::fabs(static_cast<double>(real[i])) / 1000);
}

TEST_F(ZdnnTwinQuantized, MatmulAcceptsSymmetricWeights) {
  Example x(0);
  ASSERT_EQ(x.run(true, true), ZDNN_OK);
  const auto got = x.out.get(6);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double real =
          static_cast<double>(Example::kSa) * static_cast<double>(Example::kSb) * x.dot(i, j, 0) +
          static_cast<double>(Example::kSc) * x.qc[j];
      EXPECT_NEAR(static_cast<double>(got[i * 3 + j]), real, 6);  // roundings of the parts
    }
}

TEST_F(ZdnnTwinQuantized, MatmulClipsAndRounds) {
  Example x;
  EXPECT_EQ(zdnn_quantized_matmul_op(x.a, x.b, x.c, MATMUL_OP_ADDITION, 3, 40, false, false, false,
                                     nullptr, x.out),
            ZDNN_OK);
  EXPECT_EQ(x.out.get(6), (std::vector<float>{8, 3, 3, 37, 40, 33}));
}

TEST_F(ZdnnTwinQuantized, ComparisonsMatchExactValues) {
  const auto compare = [](float sb, zdnn_matmul_ops op) {
    Example x(0, sb);
    EXPECT_EQ(x.run(false, false, op), ZDNN_OK);
    const auto got = x.out.get(6);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        const double dot =
            static_cast<double>(Example::kSa) * static_cast<double>(sb) * x.dot(i, j, 0);
        const double bias = static_cast<double>(Example::kSc) * x.qc[j];
        const bool holds = op == MATMUL_OP_GREATER ? dot > bias : dot <= bias;
        EXPECT_EQ(got[i * 3 + j], holds ? 1.0f : 0.0f);
      }
  };
  for (const float sb : {Example::kSb, -Example::kSb}) {
    compare(sb, MATMUL_OP_GREATER);
    compare(sb, MATMUL_OP_LESSER_EQUAL);
  }
}

TEST_F(ZdnnTwinQuantized, PreComputedAddendGivesTheSameResult) {
  Example x(0);
  ASSERT_EQ(x.run(true, false), ZDNN_OK);
  const auto expected = x.out.get(6);
  // Sc/Sy qc - M Za sum_k qb, as the library would have made it.
  std::vector<float> addend(3);
  const double m = static_cast<double>(Example::kSa) * static_cast<double>(Example::kSb) /
                   static_cast<double>(Example::kSy);
  for (std::size_t j = 0; j < 3; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += x.qb[k * 3 + j];
    addend[j] = static_cast<float>(static_cast<double>(Example::kSc) /
                                       static_cast<double>(Example::kSy) * x.qc[j] -
                                   m * 14 * sum);
  }
  Tensor c(ZDNN_1D, {3}, addend);
  const auto run = [&](zdnn_ztensor* with) {
    return zdnn_quantized_matmul_op(x.a, x.b, with, MATMUL_OP_ADDITION, -128, 127, true, false,
                                    true, nullptr, x.out);
  };
  ASSERT_EQ(run(c), ZDNN_OK);
  EXPECT_EQ(x.out.get(6), expected);
  EXPECT_EQ(run(x.c), ZDNN_INVALID_TYPE);
  x.b.tensor.offset = 1;
  EXPECT_EQ(run(c), ZDNN_INVALID_OFFSET);
  x.b.tensor.offset = 0;
  EXPECT_EQ(zdnn_quantized_matmul_op(x.a, x.b, c, MATMUL_OP_ADDITION, -128, 127, true, false, false,
                                     nullptr, x.out),
            ZDNN_INVALID_TYPE);
}

TEST_F(ZdnnTwinQuantized, MatmulQuantizesDlfloatOperandsOnTheFly) {
  Example x;
  // Real numbers whose 8-bit forms are the example's: x = Sa (q - Za).
  std::vector<float> real(8);
  for (std::size_t i = 0; i < 8; ++i) real[i] = Example::kSa * (static_cast<float>(x.qa[i]) - 14);
  Tensor a =
      Tensor::quantized(ZDNN_2D, FP32, {2, 4}, QUANTIZED_DLFLOAT16, Example::kSa, Example::kZa);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(a, false, 0, 0, real.data()), ZDNN_OK);
  const auto run = [&](std::int8_t low, std::int8_t high) {
    return zdnn_quantized_matmul_op(a, x.b, x.c, MATMUL_OP_ADDITION, low, high, true, false, false,
                                    nullptr, x.out);
  };
  ASSERT_EQ(x.run(true, false), ZDNN_OK);
  const auto expected = x.out.get(6);
  ASSERT_EQ(run(-128, 127), ZDNN_OK);
  EXPECT_EQ(x.out.get(6), expected);
  EXPECT_EQ(run(5, 5), ZDNN_INVALID_CLIPPING_VALUE);
  a.tensor.rec_scale = 0;
  EXPECT_EQ(run(-128, 127), ZDNN_INVALID_SCALE);
  a.tensor.rec_scale = NAN;
  EXPECT_EQ(run(-128, 127), ZDNN_INVALID_SCALE);
  a.tensor.rec_scale = 1;
  a.tensor.offset = INFINITY;
  EXPECT_EQ(run(-128, 127), ZDNN_INVALID_OFFSET);
}

TEST_F(ZdnnTwinQuantized, StacksAndLongRowsMatchExactValues) {
  constexpr std::uint32_t s = 3, m = 2, n = 133, p = 66;
  std::vector<std::int8_t> qa(s * m * n), qb(n * p), qc(p);
  for (std::size_t i = 0; i < qa.size(); ++i) qa[i] = static_cast<std::int8_t>(i * 37 % 251);
  for (std::size_t i = 0; i < qb.size(); ++i) qb[i] = static_cast<std::int8_t>(i * 91 % 241);
  Tensor a = Tensor::quantized(ZDNN_3DS, INT8, {s, m, n}, QUANTIZED_INT8, 1, 0);
  Tensor b = Tensor::quantized(ZDNN_2D, INT8, {n, p}, QUANTIZED_WEIGHTS_INT8, 1, 0);
  Tensor c = Tensor::quantized(ZDNN_1D, INT8, {p}, QUANTIZED_INT8, 1, 0);
  Tensor out = Tensor::quantized(ZDNN_3DS, FP32, {s, m, p}, QUANTIZED_DLFLOAT16, 64, 0);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(a, false, -128, 127, qa.data()), ZDNN_OK);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(b, false, -128, 127, qb.data()), ZDNN_OK);
  ASSERT_EQ(zdnn_transform_quantized_ztensor(c, false, -128, 127, qc.data()), ZDNN_OK);
  ASSERT_EQ(zdnn_quantized_matmul_op(a, b, c, MATMUL_OP_ADDITION, -128, 127, true, false, false,
                                     nullptr, out),
            ZDNN_OK);
  const auto got = out.get(s * m * p);
  for (std::size_t row = 0; row < s * m; ++row)
    for (std::size_t j = 0; j < p; ++j) {
      int dot = 0;
      for (std::size_t k = 0; k < n; ++k) dot += qa[row * n + k] * qb[k * p + j];
      ASSERT_EQ(static_cast<double>(got[row * p + j]), rounded(dot / 64.0));
    }
}

TEST_F(ZdnnTwinQuantized, RejectsInvalidCalls) {
  Example x;
  alignas(4096) static char area[2 * 4096];
  EXPECT_EQ(x.run(true, false, MATMUL_OP_ADDITION, area + 16), ZDNN_MISALIGNED_SAVEAREA);
  EXPECT_EQ(x.run(true, false, MATMUL_OP_ADDITION, area), ZDNN_OK);
  EXPECT_NE(area[4095], 0);  // the addend's tensor: one page
  EXPECT_EQ(area[4096], 0);
  EXPECT_EQ(x.run(true, false, static_cast<zdnn_matmul_ops>(7)), ZDNN_FUNC_RC_F000);
  x.out.tensor.rec_scale = 0;
  EXPECT_EQ(x.run(true, false), ZDNN_FUNC_RC_F002);
  x.out.tensor.rec_scale = 1;
  x.b.tensor.rec_scale = 0;
  EXPECT_EQ(x.run(true, false), ZDNN_FUNC_RC_F002);
  x.b.tensor.rec_scale = 1;
  x.b.desc.format = ZDNN_FORMAT_4DFEATURE;
  EXPECT_EQ(x.run(true, false), ZDNN_FUNC_RC_F001);
  x.b.desc.format = ZDNN_FORMAT_4DWEIGHTS;
  x.a.desc.type = ZDNN_BINARY_INT32;
  EXPECT_EQ(x.run(true, false), ZDNN_INVALID_TYPE);
  x.a.desc.type = ZDNN_BINARY_INT8;
  x.c.desc.dim1 = 2;
  EXPECT_EQ(x.run(true, false), ZDNN_INVALID_SHAPE);
  x.c.desc.dim1 = 3;
  set("ZDNN_TWIN_PROFILE", "z16");
  EXPECT_EQ(x.run(true, false), ZDNN_UNAVAILABLE_FUNCTION);
}

TEST_F(ZdnnTwinQuantized, BitsAreTheSameOnEveryMachine) {
  constexpr std::uint32_t m = 33, n = 70, p = 67;
  const auto digest = [](float zb, bool disable_clipping, bool dequantize) {
    Tensor a = Tensor::quantized(ZDNN_2D, FP32, {m, n}, QUANTIZED_INT8, 0.037f, 5);
    Tensor b = Tensor::quantized(ZDNN_2D, INT8, {n, p}, QUANTIZED_WEIGHTS_INT8, 0.021f, zb);
    Tensor c = Tensor::quantized(ZDNN_1D, FP32, {p}, QUANTIZED_INT8, 0.11f, -3);
    Tensor out = Tensor::quantized(ZDNN_2D, FP32, {m, p}, QUANTIZED_DLFLOAT16, 0.43f, 0);
    std::vector<std::int8_t> weights;
    for (const float x : some_numbers(n * p, 2))
      weights.push_back(static_cast<std::int8_t>(x * 64));
    for (auto& [tensor, x] : {std::pair(&a, rough_numbers(m * n, 1)), {&c, rough_numbers(p, 3)}})
      EXPECT_EQ(zdnn_transform_quantized_ztensor(*tensor, false, -128, 127, x.data()), ZDNN_OK);
    EXPECT_EQ(zdnn_transform_quantized_ztensor(b, false, -128, 127, weights.data()), ZDNN_OK);
    // From 0 up: a value that is rounded to minus zero is at the border.
    EXPECT_EQ(zdnn_quantized_matmul_op(a, b, c, MATMUL_OP_ADDITION, 0, 127, disable_clipping,
                                       dequantize, false, nullptr, out),
              ZDNN_OK);
    return digest_of({&out});
  };
  EXPECT_EQ(digest(7, true, true), 3365495130u);
  EXPECT_EQ(digest(7, false, false), 3250740330u);
  EXPECT_EQ(digest(0, true, false), 1990422812u);
  EXPECT_EQ(digest(0, false, true), 3345317912u);
}

}  // namespace
